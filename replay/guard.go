package replay

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// Guard refuses what Run would refuse of a target, without asking it.
func Guard(ctx context.Context, o Options, in *trace.Reader) error {
	return guard(ctx, &o, in.Headers())
}

// guard refuses to replay a run, which has no requests, and to replay against
// the very server that was recorded, or against the recorder in front of it.
func guard(ctx context.Context, o *Options, headers []*trace.Header) error {
	for _, h := range headers {
		switch {
		case h.IsRun():
			return &UsageError{fmt.Sprintf("this is what a replay of trace %s measured, and holds no requests: replay that trace", h.Run.Source), ""}
		case h.Engine != "" && !strings.HasPrefix(h.Engine, "postgres"):
			return fmt.Errorf("the trace was recorded from %s, the target is postgres", h.Engine)
		}
	}
	if o.AllowCapturedTarget || o.Target == nil {
		return nil
	}
	addresses, err := o.Target.Addresses(ctx)
	if err != nil {
		return err
	}
	for _, h := range headers {
		if h.Source == nil {
			continue
		}
		if err := o.compare(addresses, h.Source.Addresses, "the server that was recorded"); err != nil {
			return err
		}
		if err := o.compare(addresses, h.Source.Listen, "where the recorder listened"); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) compare(addresses, recorded []string, what string) error {
	for _, r := range recorded {
		for _, a := range addresses {
			if samePlace(a, r) {
				return &UsageError{
					fmt.Sprintf("%s is %s (%s): its data would be changed a second time, which --allow-captured-target allows", o.Target, what, r),
					"--allow-captured-target",
				}
			}
		}
	}
	return nil
}

// samePlace tells whether two addresses may be one server: the same host and
// port, two names of this machine with the same port, a socket and a port of
// this machine with the same number, or a wildcard and an address it covers.
func samePlace(a, b string) bool {
	if a == b {
		return true
	}
	p, q := placeOf(a), placeOf(b)
	switch {
	case p.port != q.port:
		return false
	case p.socket != "" && q.socket != "":
		return p.socket == q.socket
	case p.local() && q.local():
		return true
	}
	return p.ip != nil && q.ip != nil && p.ip.Equal(q.ip)
}

// place is an address taken apart.
type place struct {
	socket string // path of a Unix socket
	ip     net.IP
	port   string
}

func placeOf(address string) place {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return place{socket: filepath.Clean(path), port: strings.TrimPrefix(filepath.Ext(path), ".")}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return place{port: address}
	}
	host, _, _ = strings.Cut(host, "%") // a zone
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return place{ip: net.ParseIP(host), port: port}
}

// local tells whether the place is this machine, as far as can be seen from here.
func (p place) local() bool {
	switch {
	case p.socket != "":
		return true
	case p.ip == nil:
		return false
	case p.ip.IsLoopback(), p.ip.IsUnspecified():
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(p.ip) {
			return true
		}
	}
	return false
}
