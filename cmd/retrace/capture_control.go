package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/retrace-db/retrace/capture"
)

const unixPrefix = "unix:"

// checkControl refuses addresses that others than this machine could reach:
// whoever can give orders can stop a recording.
func checkControl(address string) error {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if path == "" {
			return errors.New("the path of the socket is missing")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("it is neither HOST:PORT nor unix:PATH")
	}
	if !isLoopback(host) {
		return errors.New("orders are taken on loopback addresses only, such as 127.0.0.1, [::1] or localhost")
	}
	return nil
}

// isLoopback tells whether a host, as written, is this machine and nothing else.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() && ip.Zone() == ""
}

func (r *recording) openControl() (err error) {
	if r.Control == "" {
		return nil
	}
	if path, ok := strings.CutPrefix(r.Control, unixPrefix); ok {
		r.control, err = listenUnix(path)
	} else {
		r.control, err = capture.Listen(r.Control)
	}
	if err != nil {
		return fmt.Errorf("--control: %w", err)
	}
	return nil
}

// closeSides closes the listeners beside the proxy's.
func (r *recording) closeSides() (all error) {
	for _, l := range []net.Listener{r.control, r.metrics} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			all = errors.Join(all, err)
		}
	}
	return all
}

func controlURL(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// serveControl takes orders until the listener is closed.
func (r *recording) serveControl() {
	if r.control == nil {
		return
	}
	orders := http.NewServeMux()
	orders.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) { r.obey(w, true) })
	orders.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) { r.obey(w, false) })
	orders.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { r.answer(w, nil) })
	serveHTTP(r.control, guarded(orders, r.control.Addr().Network() == "unix"))
}

// serveHTTP serves few and small requests.
func serveHTTP(l net.Listener, h http.Handler) {
	s := &http.Server{
		Handler: h, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	_ = s.Serve(l) // until the listener is closed
	_ = s.Close()  // and connections with it
}

// guarded keeps web pages out: a browser on this machine reaches loopback, too.
// It sends Origin with what a page posts elsewhere, and the page's own name as
// Host where that was made to resolve to loopback.
func guarded(h http.Handler, private bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		site := q.Header.Get("Sec-Fetch-Site")
		switch {
		case len(q.Header.Values("Origin")) > 0 || site != "" && site != "none":
			http.Error(w, "refused: the request comes from a web page", http.StatusForbidden)
		case !private && !isLoopback(hostOnly(q.Host)):
			http.Error(w, "refused: ask for this server by its address, such as 127.0.0.1", http.StatusForbidden)
		default:
			h.ServeHTTP(w, q)
		}
	})
}

// hostOnly is a Host header without its port and brackets.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func (r *recording) obey(w http.ResponseWriter, on bool) {
	changed, err := r.turn(on, "--control")
	if err != nil {
		http.Error(w, "recording does not start: "+err.Error(), http.StatusBadGateway)
		return
	}
	r.answer(w, &changed)
}

// controlStatus is the JSON that the control endpoint answers.
type controlStatus struct {
	Schema     int       `json:"schema"`
	Recording  bool      `json:"recording"`
	Changed    *bool     `json:"changed"` // by this order; null where none was given
	ElapsedS   float64   `json:"elapsed_s"`
	Live       int64     `json:"live_sessions"`
	Sessions   uint64    `json:"sessions"` // recorded, at least in part
	Statements uint64    `json:"statements"`
	Bytes      uint64    `json:"bytes"`
	Gaps       uint64    `json:"gaps"`
	Missing    uint64    `json:"missing"`
	LeftOut    []leftOut `json:"left_out"`
	Trouble    *string   `json:"trouble"` // why the trace cannot be written now
}

func (r *recording) answer(w http.ResponseWriter, changed *bool) {
	got := r.recorder.Recorded()
	s := controlStatus{
		Schema: 1, Recording: got.On, Changed: changed, ElapsedS: time.Since(r.began).Seconds(), Live: r.proxy.Counts().Live,
		Sessions: got.Sessions, Statements: got.Statements, Bytes: got.Bytes, Gaps: got.Totals.Gaps, Missing: got.Missing,
		LeftOut: leftOuts(got.LeftOut),
	}
	if got.Broken {
		s.Trouble = new(got.Trouble.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	_ = printJSON(w, s)
}
