package replay

import (
	"slices"
	"testing"
)

// Mapped users log in by their own names, all others as the target's.
func TestUserMap(t *testing.T) {
	tp := newTape(t) // whose user is app
	s := tp.session(0, nil)
	s.query(at(0), ms, "select 1")
	s.end(at(1))
	for _, c := range []struct {
		users map[string]string
		want  string
	}{{nil, ""}, {map[string]string{"app": "app_test"}, "app_test"}, {map[string]string{"other": "x"}, ""}} {
		f := &fake{}
		play(t, tp, f, func(o *Options) { o.UserMap = c.users })
		if !slices.Equal(f.users, []string{c.want}) {
			t.Errorf("%v: logged in as %q", c.users, f.users)
		}
	}
}
