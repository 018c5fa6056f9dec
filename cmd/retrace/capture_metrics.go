package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/retrace-db/retrace/capture"
)

func (r *recording) openMetrics() (err error) {
	if r.Metrics == "" {
		return nil
	}
	if r.metrics, err = capture.Listen(r.Metrics); err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	return nil
}

// serveMetrics shows the counters until the listener is closed. Where only this
// machine can ask, no web page that it shows may either.
func (r *recording) serveMetrics() {
	if r.metrics == nil {
		return
	}
	show := http.NewServeMux()
	show.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(r.exposition())
	})
	serveHTTP(r.metrics, guarded(show, !isLoopback(hostOf(r.metrics.Addr().String()))))
}

// exposition is what Prometheus reads. Nothing is counted for it that is not
// counted anyway.
func (r *recording) exposition() []byte {
	got, counts := r.recorder.Recorded(), r.proxy.Counts()
	var m exposition
	m.gauge("retrace_build_info", "The version that runs.", []series{{toolVersion(), 1}}, "version")
	m.gauge("retrace_capture_recording", "1 while recording is switched on.", yes(got.On))
	m.gauge("retrace_capture_unwritable", "1 while the trace cannot be written, because the disk is full as like as not.", yes(got.Broken))
	m.gauge("retrace_capture_connections", "Connections of clients, sessions or not.", one(counts.Conns))
	m.gauge("retrace_capture_sessions", "Sessions that are open.", one(counts.Live))
	m.counter("retrace_capture_sessions_total", "Sessions passed on, recorded or not.", one(counts.Sessions))
	m.counter("retrace_capture_cancels_total", "Cancel requests passed on.", one(counts.Cancels))
	m.counter("retrace_capture_refused_total", "Connections that could not become sessions.", one(counts.Refused))
	m.counter("retrace_capture_target_failures_total", "Sessions for which the target could not be reached.", one(counts.Failed))
	m.counter("retrace_capture_bytes_total", "Bytes passed on.", []series{{"client", float64(counts.Up)}, {"server", float64(counts.Down)}}, "from")
	m.counter("retrace_capture_recorded_sessions_total", "Sessions in the trace.", one(got.Sessions))
	m.counter("retrace_capture_recorded_events_total", "Events in the trace.", one(got.Events))
	m.counter("retrace_capture_recorded_requests_total", "Requests in the trace.", one(got.Requests))
	m.counter("retrace_capture_recorded_statements_total", "Statements in the trace.", one(got.Statements))
	m.counter("retrace_capture_trace_bytes_total", "Bytes written to the trace.", one(got.Bytes))
	m.counter("retrace_capture_gaps_total", "Gaps in the trace: losses.", one(got.Totals.Gaps))
	m.counter("retrace_capture_dropped_events_total", "Events that were lost to the trace.", dropped(got), "reason")
	events, sessions := leftOutSeries(got)
	m.counter("retrace_capture_left_out_events_total", "Events left out on purpose, of sessions that ended or joined.", events, "reason")
	m.counter("retrace_capture_left_out_sessions_total", "Sessions of which nothing was recorded, on purpose.", sessions, "reason")
	m.counter("retrace_capture_faults_total", "Sessions whose protocol could not be understood.", one(got.Faults))
	m.counter("retrace_capture_write_errors_total", "Times that the trace could not be written any more.", one(got.Failed))
	m.gauge("retrace_capture_queue_bytes", "What waits for the encoder.", one(got.Queued))
	m.gauge("retrace_capture_queue_limit_bytes", "What may wait for the encoder; events are dropped near it.", one(got.Room))
	m.gauge("retrace_capture_encoder_lag_seconds", "Time since the encoder last had nothing left to do.", one(r.lag(got)))
	return m.b.Bytes()
}

func (r *recording) lag(got capture.Recorded) float64 {
	if got.Queued == 0 {
		return 0
	}
	return time.Duration(max(r.clock.Now()-got.Drained, 0)).Seconds()
}

// series are values of one metric, each with the value of its label.
type series struct {
	label string
	value float64
}

func one[N int64 | uint64 | float64](v N) []series { return []series{{"", float64(v)}} }

func yes(is bool) []series {
	if is {
		return one(1.0)
	}
	return one(0.0)
}

func dropped(got capture.Recorded) (all []series) {
	for i, reason := range capture.DropReasons {
		all = append(all, series{reason, float64(got.Dropped[i])})
	}
	return all
}

func leftOutSeries(got capture.Recorded) (events, sessions []series) {
	for _, l := range got.LeftOut {
		events = append(events, series{l.Why, float64(l.Events)})
		sessions = append(sessions, series{l.Why, float64(l.Sessions)})
	}
	return events, sessions
}

// exposition is Prometheus's text format, version 0.0.4.
type exposition struct{ b bytes.Buffer }

func (m *exposition) counter(name, help string, all []series, label ...string) {
	m.add(name, "counter", help, all, label)
}

func (m *exposition) gauge(name, help string, all []series, label ...string) {
	m.add(name, "gauge", help, all, label)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// add writes a metric whose series differ in at most one label.
func (m *exposition) add(name, kind, help string, all []series, label []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(&m.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	for _, s := range all {
		m.b.WriteString(name)
		if len(label) > 0 {
			fmt.Fprintf(&m.b, `{%s="%s"}`, label[0], labelEscapes.Replace(s.label))
		}
		m.b.WriteString(" " + strconv.FormatFloat(s.value, 'f', -1, 64) + "\n")
	}
}
