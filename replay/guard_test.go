package replay

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
)

func TestSamePlace(t *testing.T) {
	own := "192.0.2.1" // nobody's, unless an address of this machine is found
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				own = n.IP.String()
			}
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.1:5432", "10.0.0.1:5432", true},
		{"10.0.0.1:5432", "10.0.0.1:5433", false},
		{"10.0.0.1:5432", "10.0.0.2:5432", false},
		{"127.0.0.1:5432", "127.0.0.1:5432", true},
		{"127.0.0.1:5432", "[::1]:5432", true},
		{"127.0.0.1:5432", "localhost:5432", true},
		{"127.0.0.1:5432", "127.0.0.2:5432", true},
		{"127.0.0.1:5432", "[::1]:5433", false},
		{"127.0.0.1:5432", "0.0.0.0:5432", true},
		{"127.0.0.1:5432", "[::]:5432", true},
		{"127.0.0.1:5432", ":5432", true},
		{"10.0.0.1:5432", "0.0.0.0:5432", false}, // somebody else's machine
		{"unix:/run/postgresql/.s.PGSQL.5432", "127.0.0.1:5432", true},
		{"unix:/run/postgresql/.s.PGSQL.5432", "[::1]:5433", false},
		{"unix:/run/postgresql/.s.PGSQL.5432", "unix:/run/postgresql/../postgresql/.s.PGSQL.5432", true},
		{"unix:/run/postgresql/.s.PGSQL.5432", "unix:/tmp/.s.PGSQL.5432", false},
		{"unix:/run/postgresql/.s.PGSQL.5432", "10.0.0.1:5432", false},
		{"[fe80::1%eth0]:5432", "[fe80::1]:5432", true},
		{"[::ffff:10.0.0.1]:5432", "10.0.0.1:5432", true},
		{"nonsense", "127.0.0.1:5432", false},
		{"", "", true},
		{own + ":5432", "127.0.0.1:5432", own != "192.0.2.1"},
	} {
		if got := samePlace(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.same)
		}
		if got := samePlace(c.b, c.a); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.b, c.a, got, c.same)
		}
	}
}

func TestGuard(t *testing.T) {
	to, err := target.Parse("postgres://app@127.0.0.1:6000", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		h     trace.Header
		allow bool
		usage bool
		fails bool
	}{
		"elsewhere":     {h: trace.Header{Source: &trace.Source{Addresses: []string{"10.1.1.1:6000"}, Listen: []string{"127.0.0.1:6001"}}}},
		"the server":    {h: trace.Header{Source: &trace.Source{Addresses: []string{"[::1]:6000"}}}, usage: true},
		"the recorder":  {h: trace.Header{Source: &trace.Source{Listen: []string{"0.0.0.0:6000"}}}, usage: true},
		"allowed":       {h: trace.Header{Source: &trace.Source{Addresses: []string{"127.0.0.1:6000"}}}, allow: true},
		"a run":         {h: trace.Header{Run: &trace.Run{Source: "x"}}, usage: true},
		"a run allowed": {h: trace.Header{Run: &trace.Run{Source: "x"}}, allow: true, usage: true},
		"mysql":         {h: trace.Header{Engine: "mysql"}, fails: true},
		"unknown":       {},
	} {
		o := Options{Target: to, AllowCapturedTarget: c.allow}
		err := guard(t.Context(), &o, []*trace.Header{{}, &c.h})
		var usage *UsageError
		if errors.As(err, &usage) != c.usage || (err != nil) != (c.usage || c.fails) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
