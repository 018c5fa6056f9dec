package aggregate

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// read reads a file of testdata. Those of pgbench 15 and sysbench 1.0 are of
// runs on PostgreSQL 15, the others were published: pgbench-9.6 and sysbench-0.5
// of Cloud SQL for PostgreSQL, ycsb-dynamodb, the two of yb-sample-apps on Aurora
// DSQL and YugabyteDB, and the table of MaibornWolff's benchmark on YugabyteDB.
func read(t *testing.T, name string) *Run {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := Read(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// said is a figure in the units of the tools' output.
func said(f *Figure) string {
	s := f.Of + " " + f.Unit
	for _, v := range []struct {
		name string
		n    *uint64
	}{{"n", f.Count}, {"errors", f.Errors}} {
		if v.n != nil {
			s += fmt.Sprintf(" %s=%d", v.name, *v.n)
		}
	}
	l := &f.Latency
	for _, v := range []struct {
		name  string
		value *float64
	}{{"per_s", f.PerS}, {"mean", l.Mean}, {"stddev", l.StdDev}, {"min", l.Min}, {"max", l.Max}} {
		if v.value != nil {
			s += fmt.Sprintf(" %s=%.1f", v.name, *v.value)
		}
	}
	for _, q := range []string{"95", "99"} {
		if v, ok := l.Percentiles[q]; ok {
			s += fmt.Sprintf(" p%s=%.0f", q, v)
		}
	}
	return s
}

func TestFiguresAreThoseOfTheOutput(t *testing.T) {
	for _, c := range []struct {
		file, tool string
		spanS      float64
		want       []string
		marks      string
	}{
		{
			"pgbench-9.6.txt", "pgbench", 600,
			[]string{"all transaction n=2157735 per_s=3591.8 mean=278149.0 stddev=503396.0"},
			"other_tool per_transaction no_percentiles",
		},
		{
			"sysbench-0.5.txt", "sysbench", 600.3231,
			[]string{"all transaction n=900895 errors=5 per_s=1500.7 mean=666190.0 min=6780.0 max=4218550.0 p95=1397020"},
			"other_tool per_transaction coarse_percentiles",
		},
		{
			"ycsb-dynamodb.txt", "YCSB", 63.733,
			[]string{
				"all operation n=100000 per_s=1569.0",
				"read operation n=49997 errors=0 per_s=784.5 mean=3515.6 min=2744.0 max=286975.0 p95=4319 p99=7011",
				"update operation n=50003 errors=0 per_s=784.6 mean=6475.6 min=3934.0 max=283391.0 p95=7843 p99=11695",
			},
			"other_tool",
		},
		{
			"maibornwolff.txt", "MaibornWolff", 0,
			[]string{"insert, workers: 1 row per_s=38569.0"},
			"other_tool per_row no_latency",
		},
	} {
		r := read(t, c.file)
		if r.Tool != c.tool || c.spanS != 0 && (r.SpanS == nil || *r.SpanS != c.spanS) {
			t.Errorf("%s: tool %s, span %v", c.file, r.Tool, r.SpanS)
		}
		var got, marks []string
		for i := range r.Figures {
			got = append(got, said(&r.Figures[i]))
		}
		for _, m := range r.Marks {
			marks = append(marks, m.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.file, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if strings.Join(marks, " ") != c.marks {
			t.Errorf("%s: marks %v, want %s", c.file, marks, c.marks)
		}
	}
}

// The averages of yb-sample-apps, put together, must agree with its closed loop:
// two threads of each kind were busy all the time.
func TestAveragesOfIntervalsAddUp(t *testing.T) {
	for file, want := range map[string][2]uint64{"yb-dsql.txt": {183_571, 20_334}, "yb-yugabyte.txt": {149_241, 13_180}} {
		r := read(t, file)
		for i := range r.Figures {
			f := &r.Figures[i]
			if *f.Count != want[i] {
				t.Errorf("%s: %d of %s, want %d", file, *f.Count, f.Of, want[i])
			}
			if busy := *f.PerS * *f.Latency.Mean / 1e6; busy < 1.95 || busy > 2.01 {
				t.Errorf("%s: %s keeps %.2f threads busy, there were 2", file, f.Of, busy)
			}
		}
	}
}

// The log of single transactions is the truth of the run that the report sums up.
func TestPgbenchLogAgreesWithItsReport(t *testing.T) {
	report, log := read(t, "pgbench-15-r.txt"), read(t, "pgbench-15.log")
	var us []float64
	b, err := os.ReadFile(filepath.Join("testdata", "pgbench-15.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		v, err := strconv.ParseFloat(strings.Fields(line)[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		us = append(us, v)
	}
	slices.Sort(us)
	l := log.Figures[0].Latency
	if *log.Figures[0].Count != uint64(len(us)) || *report.Figures[0].Count != uint64(len(us)) {
		t.Errorf("log %d, report %d, lines %d", *log.Figures[0].Count, *report.Figures[0].Count, len(us))
	}
	for q, got := range l.Percentiles {
		p, _ := strconv.ParseFloat(q, 64)
		want := us[max(1, int(p*float64(len(us))/100+0.5))-1]
		if math.Abs(got-want) > want/500 {
			t.Errorf("p%s %.0f, want %.0f", q, got, want)
		}
	}
	near(t, "mean", *l.Mean, *report.Figures[0].Latency.Mean, 0.001)
	near(t, "stddev", *l.StdDev, *report.Figures[0].Latency.StdDev, 0.001)
	near(t, "throughput", *log.Figures[0].PerS, *report.Figures[0].PerS, 0.1)
	if *l.Min != us[0] || *l.Max != us[len(us)-1] {
		t.Errorf("min %.0f max %.0f, want %.0f %.0f", *l.Min, *l.Max, us[0], us[len(us)-1])
	}
	var statements []string
	for _, f := range report.Figures[1:] {
		statements = append(statements, strings.Fields(f.Of)[0])
	}
	if got := strings.Join(statements, " "); got != "BEGIN; UPDATE SELECT UPDATE UPDATE INSERT END;" {
		t.Errorf("statements: %s", got)
	}
}

// The log of intervals ends with the last that was over: it has two of the
// report's three seconds, 966 transactions of 3,832,686 µs together.
func TestPgbenchIntervals(t *testing.T) {
	f := read(t, "pgbench-15-interval.log").Figures[0]
	if *f.Count != 966 || *f.Latency.Mean != 3832686/966.0 || *f.Latency.Max != 81867 || f.Latency.Percentiles != nil {
		t.Errorf("%s", said(&f))
	}
}

// A report that was cut off is computed from its progress lines, and says so.
func TestProgressAgreesWithTheReport(t *testing.T) {
	for file, tolerance := range map[string]float64{"pgbench-9.6.txt": 0.01, "pgbench-15-interval.txt": 0.35, "sysbench-0.5.txt": 0.01, "sysbench-1.0-rw.txt": 0.35} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "tps") && strings.Contains(line, "s") && (strings.HasPrefix(line, "progress") || strings.HasPrefix(line, "[")) {
				lines = append(lines, line)
			}
		}
		cut, err := Read(strings.NewReader(strings.Join(lines, "")))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		whole := read(t, file)
		near(t, file+" throughput", *cut.Figures[0].PerS, *whole.Figures[0].PerS, tolerance)
		if mean := cut.Figures[0].Latency.Mean; mean != nil {
			near(t, file+" mean", *mean, *whole.Figures[0].Latency.Mean, 0.05)
		}
		if !slices.Contains(cut.Marks, markPartial) || slices.Contains(whole.Marks, markPartial) || cut.Figures[0].Latency.Percentiles != nil {
			t.Errorf("%s: marks %v and %v, percentiles %v", file, cut.Marks, whole.Marks, cut.Figures[0].Latency.Percentiles)
		}
	}
}

func TestSysbenchOfOneStatementEach(t *testing.T) {
	f := read(t, "sysbench-1.0-point.txt").Figures[0]
	if _, ok := f.Latency.Percentiles["99"]; !ok || f.Unit != Statement {
		t.Errorf("unit %s, percentiles %v", f.Unit, f.Latency.Percentiles)
	}
	if f := read(t, "sysbench-1.0-rw.txt").Figures[0]; f.Unit != Transaction {
		t.Errorf("unit of read_write is %s", f.Unit)
	}
}

func TestScheduleIsMarked(t *testing.T) {
	if r := read(t, "pgbench-15-rate.txt"); !slices.Contains(r.Marks, markScheduled) {
		t.Errorf("marks %v", r.Marks)
	}
	if r := read(t, "pgbench-15-two.txt"); !slices.Contains(r.Marks, markDerived) || *r.Figures[0].Latency.Mean != 1e3*1.866 && len(r.Figures) < 8 {
		t.Errorf("marks %v, %d figures", r.Marks, len(r.Figures))
	}
}

func TestBadInputIsNamed(t *testing.T) {
	const ok = "[OVERALL], RunTime(ms), 100\n[READ], Operations, 5\n"
	for in, want := range map[string]string{
		"":            "not the output of",
		"select 1;\n": "not the output of",
		ok + ok:       "line 3: a second run begins here",
		ok + "[READ], AverageLatency(us), 1e300\n":                                             "line 3",
		"number of transactions actually processed: 0\n":                                       "no transaction",
		"progress: 1.0 s, 9 tps, lat 1 ms stddev 0\nprogress: 1.0 s, 9 tps, lat 1 ms stddev 0": "line 2: a second run",
		"Workers Min Max Avg\n":                                                                "empty",
		"Workers Min Max Avg\n1 2 x 4\n":                                                       `"x" is no number`,
		"0 1 5 0 1796094048 971270\nhello\n":                                                   "line 2: \"hello\" is no line of a pgbench log",
		"0 1 5 0 1796094048 971270\n1796094055 69 136566 1174483044 951 23923\n":               "in one file",
		"0 1 failed 0 1796094048 971270\n":                                                     "no transaction that succeeded",
		ok + strings.Repeat("x", maxLine+1):                                                    "token too long",
	} {
		_, err := Read(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", in, err, want)
		}
	}
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > want*share {
		t.Errorf("%s: %g, want %g within %g%%", what, got, want, 100*share)
	}
}

// FuzzRead goes through every parser: the seeds are outputs of each tool.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4000)])
	}
	f.Add([]byte("2020-01-01 00:00:00:000 10 sec: 100 operations; 10 current ops/sec; [READ: Count=100]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		if len(r.Figures) == 0 || len(r.Marks) == 0 {
			t.Fatalf("a run without figures or marks: %+v", r)
		}
		for i := range r.Figures {
			l := &r.Figures[i].Latency
			for _, v := range []*float64{r.SpanS, r.Figures[i].PerS, l.Mean, l.StdDev, l.Min, l.Max} {
				if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
					t.Fatalf("%s: a figure of %g", r.Figures[i].Of, *v)
				}
			}
		}
	})
}

// A latency that no number holds is not a failed transaction.
func TestPgbenchLogOfAnAbsurdLatency(t *testing.T) {
	const log = "0 1 1000 0 1700000000 1\n0 2 99999999999999999999999 0 1700000001 1\n"
	if r, err := Read(strings.NewReader(log)); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%+v, %v", r, err)
	}
}
