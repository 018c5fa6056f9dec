package analyze

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// What a page may hold, so that a mail takes it and a browser opens it at once:
// the fingerprints that matter most come with all there is to say of them, the
// others with their figures, and what does not fit is left out and counted.
const (
	dataBudget = 1_750_000 // bytes of all data; the rest of a page is small
	forDetails = 200_000   // of these that details have, however many fingerprints there are
	shortText  = 40        // bytes of SQL of a fingerprint without details
	longText   = 4000
)

// pageData is what the script draws. Its keys are the script's, not API.
type pageData struct {
	Runs         []string          `json:"runs"`
	Files        []string          `json:"files"`
	Verdicts     []Verdict         `json:"verdicts"`
	Percentiles  []float64         `json:"percentiles"`
	Curves       [][]float64       `json:"curves"`
	Series       []drawn           `json:"series"`
	Fingerprints []json.RawMessage `json:"fingerprints"`
}

// data is JSON that may stand in a script element: encoding/json writes <, >, &
// and the line separators as escapes, and replaces what is no UTF-8.
func (h HTML) data(r *Report) (out []byte, leftOut int, err error) {
	p := h.words(r)
	d := pageData{
		Runs: append([]string{}, p.labels...), Files: []string{}, Verdicts: verdictOrder, Percentiles: drawnPercentiles,
		Curves: [][]float64{}, Series: drawSeries(r.Runs), Fingerprints: []json.RawMessage{},
	}
	for i := range r.Runs {
		d.Files = append(d.Files, h.Escape(h.Files[r.Runs[i].Label]))
		d.Curves = append(d.Curves, r.Total.Runs[i].curve)
	}
	if out, err = json.Marshal(d); err != nil {
		return nil, 0, err
	}
	if d.Fingerprints, err = p.fit(r.Fingerprints, dataBudget-len(out)); err != nil {
		return nil, 0, err
	}
	out, err = json.Marshal(d)
	return out, len(r.Fingerprints) - len(d.Fingerprints), err
}

// fit takes as many fingerprints as the budget allows, the first ones with details.
func (p *page) fit(all []Fingerprint, budget int) ([]json.RawMessage, error) {
	short, size := []json.RawMessage{}, 0
	for i := range all {
		b, err := json.Marshal(p.row(&all[i], shortText))
		if err != nil {
			return nil, err
		}
		if size += len(b) + 1; size > budget-forDetails {
			size -= len(b) + 1
			break
		}
		short = append(short, b)
	}
	for i := range short { // what is left of the budget goes to details
		long, err := json.Marshal(append(p.row(&all[i], longText), p.detail(&all[i])))
		if err != nil {
			return nil, err
		}
		if size += len(long) - len(short[i]); size > budget {
			break
		}
		short[i] = long
	}
	return short, nil
}

// row is a fingerprint's line in the table; see the constants of the script.
func (p *page) row(f *Fingerprint, text int) []any {
	runs := make([][]any, 0, len(f.Runs))
	for i := range f.Runs {
		r := &f.Runs[i]
		run := []any{r.Count, r.Failed(), rounded(r.SharePct), nil, nil, nil, nil}
		if s := r.Service; s != nil {
			run[3], run[4], run[5], run[6] = round(s.Mean), round(s.P50), round(s.P99), round(s.Max)
		}
		if c := r.Change; c != nil {
			run = append(run, verdictNumber(c.Verdict), rounded(c.Pct), rounded(c.TimeUS))
		}
		runs = append(runs, run)
	}
	return []any{f.ID, f.Op, cutEscaped(p.Escape(f.SQL), text), runs}
}

func verdictNumber(v Verdict) int {
	for i := range verdictOrder {
		if verdictOrder[i] == v {
			return i
		}
	}
	return -1
}

type detail struct {
	Says   []string            `json:"says"` // what the text report says of its change
	Curves [][]float64         `json:"curves"`
	Errors []map[string]uint64 `json:"errors"`
	Other  [][]string          `json:"other"`
	Worst  [][][3]any          `json:"worst"` // sessions and ordinals as text: a script's numbers are too short
}

func (p *page) detail(f *Fingerprint) *detail {
	p.changes(f.Runs)
	d := &detail{Says: p.taken(), Curves: [][]float64{}, Errors: []map[string]uint64{}, Other: [][]string{}, Worst: [][][3]any{}}
	for i := range f.Runs {
		r := &f.Runs[i]
		errors := map[string]uint64{}
		for code, n := range r.Errors {
			errors[p.Escape(code)] += n
		}
		worst := [][3]any{}
		for _, e := range r.Worst {
			worst = append(worst, [3]any{strconv.FormatUint(e.Session, 10), strconv.FormatUint(e.Ordinal, 10), e.ServiceUS})
		}
		d.Curves, d.Errors, d.Worst = append(d.Curves, r.curve), append(d.Errors, errors), append(d.Worst, worst)
		d.Other = append(d.Other, p.others(r))
	}
	return d
}

func (p *page) others(r *Figures) []string {
	parts := []string{}
	for _, class := range keys(r.Other) {
		parts = append(parts, class+" "+p.counts(r.Other[class]))
	}
	if d := r.Diverged; d != nil && d.Statements > 0 {
		parts = append(parts, number(d.Statements)+" diverged")
	}
	return parts
}

// round keeps four digits: what a picture shows, in few bytes.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return short
}

func rounded(v *float64) any {
	if v == nil {
		return nil
	}
	return round(*v)
}

// cutEscaped shortens a text to what takes so many bytes in JSON.
func cutEscaped(s string, limit int) string {
	size := 0
	for i, r := range s {
		switch {
		case r == '<' || r == '>' || r == '&' || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r < 0x20:
			size += 6
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
		if size > limit {
			return s[:i] + " …"
		}
	}
	return s
}
