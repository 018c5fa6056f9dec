package trace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sent is what one session does in a test of Diff.
type sent struct {
	user   string
	events []string // shape NUL values
}

// traced writes sessions, under ids and in an interleaving of its own.
func traced(t tester, dir, id string, base uint64, order []int, sessions []sent) string {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: strings.Repeat(id, 16), Engine: "postgres"}, WriterOptions{BlockBytes: 300})
	must(t, err)
	at := make([]int, len(sessions))
	for step, s := range order {
		if at[s] == 0 {
			state := State{Session: base + uint64(s), User: sessions[s].user, Database: "d"}
			if state.User == "preflight" {
				state.Settings = map[string]string{"application_name": Preflight}
			}
			must(t, w.State(&state))
		}
		e := Event{Session: base + uint64(s), Ordinal: uint64(at[s]), Start: int64(step) * 1e6, HasReply: true, Reply: Reply{Took: int64(base)}}
		op, text := OpEnd, ""
		if at[s] < len(sessions[s].events) {
			op, text = OpQuery, sessions[s].events[at[s]]
		}
		at[s]++
		shape, values, ok := strings.Cut(text, "\x00")
		form := append([]byte{tokenLiteral, byte(len(shape))}, shape...)
		switch {
		case ok && values == "redacted":
			form, e.Sizes = append(form, tokenRaw), []uint64{SizeRedacted}
		case ok:
			form, e.Sizes, e.Values = append(form, tokenRaw), []uint64{SizeOf(len(values))}, []byte(values)
		}
		e.RequestEnd = !strings.HasSuffix(shape, "+")
		if strings.HasPrefix(shape, "cancel") {
			op = OpCancel
		}
		e.Shape, err = w.Intern(op, 0, form, func() (string, []uint32) { return shape, nil })
		must(t, err)
		must(t, w.Event(&e))
	}
	must(t, w.Close())
	path := filepath.Join(dir, id)
	must(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

// sequence lets each session run to its end in turn.
func sequence(sessions []sent) []int {
	var order []int
	for s := range sessions {
		for range len(sessions[s].events) + 1 {
			order = append(order, s)
		}
	}
	return order
}

func TestDiff(t *testing.T) {
	base := []sent{{"u", []string{"a\x001", "b\x002"}}, {"u", []string{"a\x001"}}, {"v", nil}}
	change := func(f func(s []sent) []sent) []sent {
		var c []sent
		for _, s := range base {
			c = append(c, sent{s.user, append([]string(nil), s.events...)})
		}
		return f(c)
	}
	for _, c := range []struct {
		name string
		b    []sent
		want string // in the first difference; "" if there is none
	}{
		{"same", base, ""},
		{"another order of sessions", change(func(s []sent) []sent { s[0], s[2] = s[2], s[0]; return s }), ""},
		{"a value", change(func(s []sent) []sent { s[0].events[1] = "b\x003"; return s }), `values of query "b": "2" against "3"`},
		{"a shape", change(func(s []sent) []sent { s[0].events[1] = "c\x002"; return s }), `query "b" against query "c"`},
		{"a request end", change(func(s []sent) []sent { s[0].events[1] = "b+\x002"; return s }), `"b" against query "b+"`},
		{"one event less", change(func(s []sent) []sent { s[0].events = s[0].events[:1]; return s }), `query "b" against end`},
		{"a user", change(func(s []sent) []sent { s[2].user = "w"; return s }), "logged in as v@d and as w@d"},
		{"a session more", change(func(s []sent) []sent { return append(s, sent{"u", []string{"x"}}) }), "a session of 2 events (u@d) is in the second trace only"},
		{"a session twice", change(func(s []sent) []sent { return append(s, s[0]) }), "is in the second trace only"},
		{"a session less", base[:2], "a session of 1 events (v@d) is in the first trace only"},
		{"a cancel more", change(func(s []sent) []sent { return append(s, sent{"", []string{"cancel\x00some id"}}) }), ""},
		{"a preflight more", change(func(s []sent) []sent { return append(s, sent{"preflight", nil}) }), ""},
		{"a redacted event more", change(func(s []sent) []sent { s[0].events = append(s[0].events, "alter user\x00redacted"); return s }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			order := sequence(c.b)
			if c.name == "a cancel more" {
				order = order[:len(order)-1] // such a session has this one event
			}
			dir := t.TempDir()
			a, b := traced(t, dir, "a1", 1, sequence(base), base), traced(t, dir, "b2", 1000, order, c.b)
			d, err := Diff([]string{a}, []string{b})
			must(t, err)
			if d.Equal != (c.want == "") || d.Equal != (d.FirstDifference == nil) || d.Complete != [2]bool{true, true} {
				t.Fatalf("%+v %+v", d, d.FirstDifference)
			}
			if !d.Equal && !strings.Contains(d.FirstDifference.What, c.want) {
				t.Errorf("first difference %+v, want %q", d.FirstDifference, c.want)
			}
			if d.Sessions[0] != 3 || d.Events[0] != 6 {
				t.Errorf("%+v", d)
			}
			if exempt := strings.HasPrefix(c.name, "a cancel") || strings.HasPrefix(c.name, "a preflight") || strings.HasPrefix(c.name, "a redacted"); (d.Exempt[1] == 1) != exempt {
				t.Errorf("%d events exempt", d.Exempt[1])
			}
		})
	}
}

// The same sessions are equal in any interleaving; with one event changed they
// are not, and the difference is where it was made.
func TestDiffProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var sessions []sent
		for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
			s := sent{user: fmt.Sprint("u", i%2)}
			for range rapid.IntRange(0, 4).Draw(t, "events") {
				s.events = append(s.events, rapid.SampledFrom([]string{"a\x001", "a\x002", "b", "c+\x003"}).Draw(t, "event"))
			}
			sessions = append(sessions, s)
		}
		order := sequence(sessions)
		a := traced(t, dir, "a1", 1, order, sessions)
		b := traced(t, dir, "b2", 1<<40, rapid.Permutation(order).Draw(t, "order"), sessions)
		d, err := Diff([]string{a}, []string{b})
		if err != nil || !d.Equal {
			t.Fatalf("%+v %v", d, err)
		}
		s := rapid.IntRange(0, len(sessions)-1).Draw(t, "changed session")
		if len(sessions[s].events) == 0 {
			return
		}
		e := rapid.IntRange(0, len(sessions[s].events)-1).Draw(t, "changed event")
		sessions[s].events[e] = "changed\x004"
		c := traced(t, dir, "c3", 7, order, sessions)
		d, err = Diff([]string{a}, []string{c})
		if err != nil || d.Equal || d.FirstDifference == nil || d.FirstDifference.Sessions[1] != 7+uint64(s) {
			t.Fatalf("%+v %+v %v", d, d.FirstDifference, err)
		}
	})
}

func TestDiffRefuses(t *testing.T) {
	good := putFile(t, "good", plain(t, Header{}, WriterOptions{}, 1))
	run := putFile(t, "run", plain(t, Header{Run: &Run{Source: "f00d"}}, WriterOptions{NoValues: true}, 1))
	if _, err := Diff([]string{good}, []string{run}); err == nil || !strings.Contains(err.Error(), "is a run") || !strings.Contains(err.Error(), "f00d") {
		t.Errorf("a run: %v", err)
	}
	if _, err := Diff([]string{good}, []string{os.DevNull}); err == nil || !strings.Contains(err.Error(), "name files") {
		t.Errorf("a pipe: %v", err)
	}
}

// Sessions are looked at in parts where they are too many, and of those without
// a partner the earliest are kept.
func TestDiffInParts(t *testing.T) {
	dir := t.TempDir()
	var a, b []sent
	for i := range 40 {
		s := sent{"u", []string{fmt.Sprintf("a\x00%d", i)}}
		a = append(a, s)
		if i%4 != 1 {
			b = append(b, s)
		}
	}
	d := differ{paths: [2][]string{{traced(t, dir, "a1", 1, sequence(a), a)}, {traced(t, dir, "b2", 1, sequence(b), b)}}}
	var alone [2][]stream
	for part := range uint64(3) {
		must(t, d.unpaired(part, 3, &alone))
	}
	if len(alone[0]) != 10 || len(alone[1]) != 0 {
		t.Errorf("%d and %d sessions without a partner", len(alone[0]), len(alone[1]))
	}
	var list []stream
	for i := range int64(3 * maxUnpaired) {
		list = keepEarliest(list, &stream{start: (i * 7919) % (3 * maxUnpaired)})
	}
	for _, s := range list {
		if len(list) != maxUnpaired || s.start >= maxUnpaired {
			t.Fatalf("%d kept, one that starts at %d", len(list), s.start)
		}
	}
}
