package truth

import (
	"strings"

	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
)

// Workload is some statements, each with a latency of its own.
type Workload []Statement

// Statement is one of them.
type Statement struct {
	Name    string // the table, by which its text is recognised
	SQL     string // as in a script of pgbench, with :k for the key
	Latency string
}

// Mixed has latencies of several shapes.
var Mixed = Workload{
	{"account", "select balance from account where id = :k", "lognormal(10ms,0.5)"},
	{"product", "select price from product where id = :k", "8ms+3%:60ms"},
	{"visitor", "update visitor set visits = visits + 1 where id = :k", "4ms+20%:exp(30ms)"},
	{"note", "insert into note (id, stars) values (:k, 5) on conflict (id) do update set stars = excluded.stars", "uniform(5ms,25ms)"},
}

// Narrow has latencies that vary little, so that a change of a fifth stands out.
var Narrow = Workload{
	{"account", Mixed[0].SQL, "lognormal(6ms,0.2)"},
	{"product", Mixed[1].SQL, "lognormal(4ms,0.2)"},
	{"visitor", Mixed[2].SQL, "lognormal(8ms,0.2)"},
	{"note", Mixed[3].SQL, "lognormal(5ms,0.2)"},
}

// With is the workload with another latency for one of its statements.
func (w Workload) With(name, latency string) Workload {
	changed := append(Workload{}, w...)
	for i := range changed {
		if changed[i].Name == name {
			changed[i].Latency = latency
		}
	}
	return changed
}

// Options make a server that takes the workload's times.
func (w Workload) Options(seed uint64, faults ...string) (sim.Options, error) {
	o := sim.Options{Rows: 1, Seed: seed}
	for _, s := range w {
		var l sim.Latency
		if err := l.UnmarshalText([]byte("text:" + s.Name + ":" + s.Latency)); err != nil {
			return o, err
		}
		o.Latency = append(o.Latency, l)
	}
	for _, text := range faults {
		var f sim.Fault
		if err := f.UnmarshalText([]byte(text)); err != nil {
			return o, err
		}
		o.Faults = append(o.Faults, f)
	}
	return o, nil
}

func (w Workload) script() string {
	all := []string{`\set k random(1, 1000)`}
	for _, s := range w {
		all = append(all, s.SQL+";")
	}
	return strings.Join(all, "\n") + "\n"
}

// In finds what a report says of a statement: of each run, and the verdict.
func (s Statement) In(report program.Analyzed) (runs []program.Side, verdict string) {
	for _, f := range report.Fingerprints {
		if strings.Contains(f.SQL, s.Name) {
			return f.Runs, f.Verdict
		}
	}
	return make([]program.Side, len(report.Runs)), ""
}

// Of finds the truth about a statement.
func (s Statement) Of(t sim.Truth) sim.RuleTruth {
	for _, r := range t.Latencies {
		if r.Match == s.Name {
			return r
		}
	}
	return sim.RuleTruth{}
}
