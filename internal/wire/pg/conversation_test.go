package pg

import (
	"slices"
	"strings"
	"testing"
)

func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// Each script must give the same calls however its bytes are cut.
func check(t *testing.T, o Options, text, want string, quiet bool) {
	t.Helper()
	steps := script(t, text)
	longest := 0
	for _, s := range steps {
		longest = max(longest, len(s.bytes))
	}
	expected := strings.Join(lines(want), "\n")
	for cut := 0; cut < longest; cut++ {
		l := &log{quiet: quiet, times: strings.Contains(want, "@")}
		if err := play(t, l, o, steps, cut, "client_gone"); err != nil {
			l.add("fault %v", err)
		}
		if got := strings.Join(l.lines, "\n"); got != expected {
			t.Fatalf("cut at %d:\n got:\n%s\nwant:\n%s", cut, got, expected)
		}
	}
	l := &log{quiet: quiet, times: strings.Contains(want, "@")}
	if err := bytewise(l, o, steps, "client_gone"); err != nil {
		l.add("fault %v", err)
	}
	if got := strings.Join(l.lines, "\n"); got != expected {
		t.Fatalf("byte by byte:\n got:\n%s\nwant:\n%s", got, expected)
	}
}

// conversation is a script and the calls it must lead to.
type conversation struct{ name, script, want string }

var conversations = slices.Concat(partition, pipelines, copies, endings)

func TestConversations(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			check(t, Options{LoggedIn: true, Ordinal: 1}, c.script, c.want, !strings.Contains(c.want, "setting "))
		})
	}
}
