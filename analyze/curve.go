package analyze

// drawnPercentiles are the points of a curve. Those beyond what a run has
// samples for are not drawn.
var drawnPercentiles = []float64{0, 10, 25, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 99.995, 99.999}

// curve is the distribution's percentiles in microseconds, to four digits.
func (d *distribution) curve() []float64 {
	if d.count == 0 {
		return []float64{}
	}
	at := d.hist.ValueAtPercentilesSlice(drawnPercentiles)
	at[0] = d.min
	curve := make([]float64, 0, len(at))
	for i, ns := range at {
		if i > 0 && float64(d.count)*(1-drawnPercentiles[i]/100) < 0.999 {
			break
		}
		curve = append(curve, round(micros(min(max(ns, d.min), d.max))))
	}
	return curve
}
