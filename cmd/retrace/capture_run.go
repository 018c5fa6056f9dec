package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/capture"
	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// recording is one run of capture.
type recording struct {
	*captureCmd
	env    Env
	target source
	clock  *clock.Timers
	talk   *talk
	tls    *tls.Config // nil: not offered to applications

	proxy    *capture.Proxy
	recorder *capture.Recorder
	control  net.Listener // nil without --control
	metrics  net.Listener // nil without --metrics
	restore  restore
	began    time.Time
	rate     rate
	turning  sync.Mutex // one order after the other
}

func (r *recording) run(ctx context.Context, listener net.Listener, out traceOut) error {
	address := listener.Addr().String()
	trouble := make(chan error, 16)
	r.recorder = capture.NewRecorder(capture.RecorderOptions{
		Out: out, Rotate: r.rotation(out), Header: r.header(address), Checksums: r.Check, Now: r.clock.Now, Paused: r.Paused, Sample: float64(r.Sample) / 100, Only: r.Only.Filter, Trouble: trouble,
	})
	until, cancel := r.until(ctx)
	defer cancel()
	hurry, stop := r.hurry()
	defer stop()
	r.proxy = capture.New(listener, capture.Options{
		Target: r.target.String(), Dial: r.target.Dial, TLS: r.tls, Recorder: r.recorder, Log: slog.New(r.talk),
		MaxConns: r.MaxConnections, Hurry: hurry, Now: r.clock.Now,
	})
	r.began = time.Now()
	r.rate.at = r.began
	r.greet(address)
	progress := r.env.watch("capture", r.Quiet, r.step)
	r.talk.redirect(progress)
	var beside sync.WaitGroup
	beside.Go(func() { r.probe(until) })
	over := make(chan struct{})
	beside.Go(func() { r.obeySignals(over) })
	beside.Go(func() { r.sayTrouble(trouble) })
	beside.Go(r.serveControl)
	beside.Go(r.serveMetrics)
	err := r.proxy.Serve(until)
	close(over)
	err = errors.Join(err, r.closeSides())
	unwritten := r.recorder.Close()
	close(trouble)
	beside.Wait()
	progress.Stop()
	err = errors.Join(err, out.done(unwritten == nil))
	return errors.Join(err, r.report(unwritten))
}

// rotation is when to go on in another file of those that are written.
func (r *recording) rotation(out traceOut) capture.Rotate {
	files, ok := out.file.(*trace.Rotation)
	if !ok {
		return capture.Rotate{}
	}
	return capture.Rotate{Bytes: r.Rotate.bytes, Every: r.Rotate.every, Next: files.Next}
}

func (r *recording) header(listen string) trace.Header {
	h := trace.Header{
		Engine: "postgres", MadeBy: trace.ByCapture, Tool: "retrace " + toolVersion(), Timing: trace.TimingOriginal,
		Started: time.Unix(0, r.clock.Now()).UTC().Format(time.RFC3339Nano),
		Source:  &trace.Source{Target: r.target.String(), Addresses: r.target.addresses, Listen: reachable(listen)},
	}
	if r.Sample < 100 {
		h.Sample = float64(r.Sample) / 100
	}
	h.Restore, h.Only = r.restore.first, r.Only.String()
	return h
}

// reachable is where a listener can be found: a replay must not be pointed at
// it. A wildcard stands for all addresses of the machine.
func reachable(listen string) []string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return []string{listen}
	}
	all := []string{listen}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			all = append(all, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return all
}

// until is the end of the recording: a signal, or the time given.
func (r *recording) until(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Duration > 0 {
		return context.WithTimeout(ctx, r.Duration)
	}
	return context.WithCancel(ctx)
}

// hurry is closed by a signal that comes when the recording is ending already:
// who sends it does not want to wait for sessions to become idle.
func (r *recording) hurry() (hurry <-chan struct{}, stop func()) {
	signals, closed := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var over atomic.Bool
	if r.Duration > 0 {
		time.AfterFunc(r.Duration, func() { over.Store(true) })
	}
	go func() {
		for range signals {
			if over.Swap(true) {
				close(closed)
				return
			}
		}
	}()
	return closed, func() { signal.Stop(signals); close(signals) }
}

// greet says what is going on and what to do.
func (r *recording) greet(address string) {
	if ip := net.ParseIP(hostOf(address)); ip != nil && !ip.IsLoopback() {
		_, _ = fmt.Fprintf(r.env.Err, "warning: %s can be reached from other machines; to whoever connects there the database sees this machine\n", address)
	}
	if r.metrics != nil && !isLoopback(hostOf(r.metrics.Addr().String())) {
		_, _ = fmt.Fprintf(r.env.Err, "warning: the counters at %s can be read from other machines\n", r.metrics.Addr())
	}
	if r.target.ClientCertificate() {
		_, _ = fmt.Fprintf(r.env.Err, "warning: the server sees the certificate given as sslcert, whoever connects to %s\n", address)
	}
	if r.Quiet {
		return
	}
	into := r.Write
	if into == "-" {
		into = "stdout"
	}
	recording := "recording into"
	if r.Paused {
		recording = "paused, to record into"
	}
	_, _ = fmt.Fprintf(r.env.Err, "capture: listening on %s, passing on to %s, %s %s\n"+
		"capture: point your application at %s instead of the database; %s\n",
		address, escape(r.target.String()), recording, escape(into), address, r.ending())
	if r.control != nil {
		_, _ = fmt.Fprintf(r.env.Err, "capture: orders are taken at %s\n", escape(controlURL(r.control)))
	}
	if r.metrics != nil {
		_, _ = fmt.Fprintf(r.env.Err, "capture: counters are at http://%s/metrics\n", r.metrics.Addr())
	}
}

func (r *recording) ending() string {
	if r.Duration > 0 {
		return fmt.Sprintf("the recording ends in %s, or with Ctrl-C", r.Duration)
	}
	return "Ctrl-C ends the recording"
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// probe says early that the target is not there. The recording goes on: it may
// come up before the first application does.
func (r *recording) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := r.target.Dial(ctx, nil)
	if err == nil {
		_ = c.Close()
	} else if ctx.Err() == nil {
		slog.New(r.talk).Warn("the target is not there yet", "error", err)
	}
}
