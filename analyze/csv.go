package analyze

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// CSV writes a row for each fingerprint and run, those of all statements first.
// Numbers are as in JSON, empty where that has null.
func CSV(w io.Writer, r *Report, escape func(string) string) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"fingerprint", "sql", "run", "count", "ok", "errors", "rows", "share_pct",
		"service_mean_us", "service_p50_us", "service_p95_us", "service_p99_us", "service_p999_us", "service_max_us", "response_p50_us", "response_p99_us",
		"verdict", "metric", "change_pct", "change_low_pct", "change_high_pct", "pairs", "time_us", "why", "per_s",
	})
	rows := func(id, sql string, runs []Figures) {
		for i := range runs {
			perS := ""
			if id == "total" {
				perS = decimal(r.Runs[i].StatementsPerS)
			}
			// errors of Write come again from Error
			row := append([]string{id, cell(escape(sql)), cell(escape(r.Runs[i].Label))}, csvFigures(&runs[i], escape)...)
			_ = out.Write(append(row, perS))
		}
	}
	rows("total", "", r.Total.Runs)
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		rows(f.ID, f.SQL, f.Runs)
	}
	csvAggregates(out, r, escape)
	out.Flush()
	return out.Error()
}

func csvFigures(f *Figures, escape func(string) string) []string {
	row := []string{
		strconv.FormatUint(f.Count, 10), strconv.FormatUint(f.OK, 10), strconv.FormatUint(f.Failed(), 10), strconv.FormatUint(f.Rows, 10), decimal(f.SharePct),
	}
	if l := f.Service; l != nil {
		row = append(row, decimal(&l.Mean), decimal(&l.P50), decimal(&l.P95), decimal(&l.P99), decimal(&l.P999), decimal(&l.Max))
	} else {
		row = append(row, "", "", "", "", "", "")
	}
	if l := f.Response; l != nil {
		row = append(row, decimal(&l.P50), decimal(&l.P99))
	} else {
		row = append(row, "", "")
	}
	c := f.Change
	if c == nil {
		return append(row, "", "", "", "", "", "", "", "")
	}
	low, high, pairs := "", "", ""
	if c.CI != nil {
		low, high = decimal(&c.CI[0]), decimal(&c.CI[1])
	}
	if c.Pairs != nil {
		pairs = strconv.FormatUint(*c.Pairs, 10)
	}
	return append(row, string(c.Verdict), c.Metric, decimal(c.Pct), low, high, pairs, decimal(c.TimeUS), cell(escape(value(c.Why))))
}

func decimal(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(s string) string {
	if s != "" && strings.ContainsAny(s[:1], "=+-@\t\r") {
		return "'" + s
	}
	return s
}
