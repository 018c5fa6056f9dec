package sim

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Quantiles from the distributions' own formulas.
func TestDistributionsDrawWhatTheySay(t *testing.T) {
	const z95, z99 = 1.6448536, 2.3263479
	ms := float64(time.Millisecond)
	for text, want := range map[string][3]float64{ // p50, p95, p99
		"2ms":               {2 * ms, 2 * ms, 2 * ms},
		"const(2ms)":        {2 * ms, 2 * ms, 2 * ms},
		"uniform(1ms,3ms)":  {2 * ms, 2.9 * ms, 2.98 * ms},
		"exp(2ms)":          {2 * ms * math.Log(2), 2 * ms * math.Log(20), 2 * ms * math.Log(100)},
		"normal(5ms,1ms)":   {5 * ms, 5*ms + z95*ms, 5*ms + z99*ms},
		"lognormal(2ms,.5)": {2 * ms, 2 * ms * math.Exp(.5*z95), 2 * ms * math.Exp(.5*z99)},
		"pareto(1ms,2)":     {ms * math.Sqrt(2), ms * math.Sqrt(20), ms * 10},
		"2ms+3%:50ms":       {2 * ms, 2 * ms, 50 * ms},
		"90%:exp(2ms)+10%:uniform(1s,2s)": {
			2 * ms * -math.Log(1-.5/.9), 1.5e3 * ms, 1.9e3 * ms,
		},
	} {
		d, err := ParseDistribution(text)
		if err != nil {
			t.Fatal(err)
		}
		const n = 200_000
		dice, all := newDice(), make([]float64, n)
		for i := range all {
			all[i] = float64(d.Draw(dice.roll(1, 0, uint64(i))))
		}
		slices.Sort(all)
		for i, q := range []float64{.5, .95, .99} {
			if got := all[int(q*n)]; math.Abs(got-want[i]) > .03*want[i] {
				t.Errorf("%s: the %g quantile is %.0f ns, want %.0f", text, q, got, want[i])
			}
		}
	}
}

func TestDistributionsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", "2", "-2ms", "uniform(1ms)", "uniform(3ms,1ms)", "exp()", "normal(1ms,2ms", "weibull(1ms,2)", "lognormal(2ms,0)",
		"lognormal(2ms,NaN)", "pareto(1ms,-1)", "pareto(1ms,Inf)", "2ms+50ms", "2ms+101%:50ms", "20%:1ms+20%:2ms", "1ms+100%:2ms",
		"1%:", "0%:1ms+2ms", "48h", "1ms+x%:2ms", "50%:1ms",
	} {
		if d, err := ParseDistribution(text); err == nil {
			t.Errorf("%q is taken for %s", text, d)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, text := range []string{"2ms", `text:"a:\"b":lognormal(2ms,0.5)+1%:50ms`, "text:update:40001:2%", "2s@10s/30s", "90%:1ms+10%:exp(3s)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var l, again Latency
		if l.UnmarshalText([]byte(text)) == nil {
			if err := again.UnmarshalText([]byte(l.String())); err != nil || again.String() != l.String() {
				t.Errorf("%q is written %q, which reads %q, %v", text, l, again, err)
			}
			if d := l.D.Draw(newDice().roll(1, 2, 3)); d < 0 || d > longest {
				t.Errorf("%q draws %s", text, d)
			}
		}
		var e Fault
		if e.UnmarshalText([]byte(text)) == nil && (!(e.Share > 0) || e.Share > 1) {
			t.Errorf("%q: share %g", text, e.Share)
		}
		var z Freeze
		if z.UnmarshalText([]byte(text)) == nil {
			if end := z.end(0, time.Second); end < time.Second {
				t.Errorf("%q: a second of work is done after %s", text, end)
			}
		}
	})
}

func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"const(1ms)": "const(1ms)", "text:UPDATE:2ms": `text:"update":const(2ms)`, `text:"a: b":exp(1s)`: `text:"a: b":exp(1s)`,
		"text:2ms": "", "text::2ms": "", `text:"x":`: "", `text:"x"2ms`: "", `text:"x`: "",
	} {
		var l Latency
		err := l.UnmarshalText([]byte(text))
		if want == "" && err == nil || want != "" && (err != nil || l.String() != want) {
			t.Errorf("%s: %v, %v, want %q", text, l.D, err, want)
		}
	}
	for text, want := range map[string]string{
		"40001:2%": "40001:2%", "text:insert:23505:0.1%": `text:"insert":23505:0.1%`,
		"40001": "", "4001:2%": "", "4000a:2%": "", "00000:2%": "", "40001:2": "", "40001:0%": "", "40001:200%": "",
	} {
		var f Fault
		err := f.UnmarshalText([]byte(text))
		if want == "" && err == nil || want != "" && (err != nil || f.String() != want) {
			t.Errorf("%s: %v, %v, want %q", text, f, err, want)
		}
	}
}

func TestSharesExcludeEachOther(t *testing.T) {
	r := &faultRule{faults: faults(t, "40001:10%", "57014:5%")}
	for u, want := range map[float64]string{0: "40001", 0.0999: "40001", 0.1001: "57014", 0.1499: "57014", 0.1501: "", 0.99: ""} {
		if got := r.draw(u); got != want {
			t.Errorf("%g draws %q, want %q", u, got, want)
		}
	}
}
