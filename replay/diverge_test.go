package replay

import (
	"fmt"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// Texts without end take bounded room, and every statement is counted.
func TestDivergencesAreBounded(t *testing.T) {
	var total divergences
	const stripes, texts = 3, 2 * maxTexts
	for s := range uint64(stripes) {
		var d divergences
		for n := range texts {
			f := &flight{
				op: trace.OpQuery, ordinal: uint64(n), start: int64(1000 - n), entry: &trace.Entry{Text: fmt.Sprintf("select %d\xff%01000d", n%maxTexts, n)},
				diverged: trace.DivergedRows, was: trace.OK, wasRows: 1,
			}
			d.note(s, f)
			d.note(s, &flight{op: trace.OpQuery, entry: f.entry})
			d.note(s, &flight{op: trace.OpCopy, entry: f.entry, diverged: trace.DivergedRows})
		}
		total.merge(&d)
	}
	all, rest := total.worst()
	sum := rest
	for _, d := range all {
		sum += d.Statements
		if len(d.SQL) > maxText+10 {
			t.Errorf("a text of %d bytes", len(d.SQL))
		}
	}
	if len(all) != maxDivergences || sum != stripes*texts {
		t.Errorf("%d texts, %d statements of %d", len(all), sum, stripes*texts)
	}
	// Of each the earliest recorded one is named.
	if all[0].First.Ordinal < maxTexts || all[0].Rows != all[0].Statements {
		t.Errorf("%+v", all[0])
	}
}
