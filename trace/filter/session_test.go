package filter

import (
	"testing"

	"github.com/retrace-db/retrace/trace"
)

func TestOfSession(t *testing.T) {
	s := &trace.State{Database: "shop", User: "app"}
	for text, want := range map[string][2]bool{
		"db:shop":              {false, true},
		"db:shop user:app":     {false, true},
		"db:shop session:7":    {false, true},
		"db:shop session:8":    {true, false},
		"db:other":             {true, false},
		"-db:shop":             {true, false},
		"-db:other":            {false, true},
		"db:shop op:select":    {false, false},
		"op:select":            {false, false},
		"op:select user:other": {true, false},
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if none, all := f.OfSession(7, s); none != want[0] || all != want[1] {
			t.Errorf("%s: none %v, all %v", text, none, all)
		}
	}
	if none, all := (*Filter)(nil).OfSession(7, nil); none || !all {
		t.Error("the nil filter matches everything")
	}
}
