package stat

import "math"

// Sums are the sums of a run by block: Value over Weight is its mean.
type Sums struct{ Value, Weight []float64 }

// PairedMean estimates the ratio of two sums whose blocks hold the same
// statements, so that what differs between blocks alone cancels.
func PairedMean(base, run []float64, confidence float64) Estimate {
	log, variance, blocks := ratio(run, base)
	return around(log, variance, blocks-1, blocks, confidence)
}

// Mean estimates the ratio of the means of two runs that share nothing.
func Mean(base, run Sums, confidence float64) Estimate {
	logA, varianceA, blocksA := ratio(base.Value, base.Weight)
	logB, varianceB, blocksB := ratio(run.Value, run.Weight)
	return around(logB-logA, varianceA+varianceB, blocksA+blocksB-2, min(blocksA, blocksB), confidence)
}

// ratio is the logarithm of Σover ÷ Σunder and its variance by blocks.
func ratio(over, under []float64) (log, variance float64, blocks int) {
	sumOver, sumUnder := 0.0, 0.0
	for i := range over {
		sumOver += over[i]
		sumUnder += under[i]
		if over[i] != 0 || under[i] != 0 {
			blocks++
		}
	}
	if sumOver <= 0 || sumUnder <= 0 || blocks < 2 {
		return 0, math.Inf(1), 0
	}
	for i := range over {
		d := over[i]/sumOver - under[i]/sumUnder
		variance += d * d
	}
	return math.Log(sumOver / sumUnder), variance * float64(blocks) / float64(blocks-1), blocks
}

func around(log, variance float64, freedom, blocks int, confidence float64) Estimate {
	e := Estimate{Log: log, Lo: math.Inf(-1), Hi: math.Inf(1), P: 1, Blocks: max(blocks, 0)}
	if blocks < 2 || math.IsInf(variance, 1) {
		return e
	}
	spread := math.Sqrt(variance)
	half := critical(confidence, freedom, blocks) * spread
	if math.IsNaN(half) { // no spread, too few blocks
		return e
	}
	e.Lo, e.Hi = log-half, log+half
	t := math.Inf(1)
	if log == 0 {
		t = 0
	} else if spread > 0 {
		t = log / spread
	}
	e.P = pValue(t, freedom, blocks)
	return e
}
