package replay

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// recorder is a proxy that records, as small as it can be: the trace is what
// matters here, not how it is made.
type recorder struct {
	t        testing.TB
	listener net.Listener
	to       string

	mu     sync.Mutex
	buf    bytes.Buffer
	w      *trace.Writer
	split  pg.Splitter
	last   uint64
	byKey  map[uint32]*recorded
	open   sync.WaitGroup
	closed bool
}

func tap(t testing.TB, to string) *recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, listener: l, to: to, byKey: map[uint32]*recorded{}}
	r.w, err = trace.NewWriter(&r.buf, trace.Header{Engine: "postgres", EngineVersion: "15.1", MadeBy: trace.ByCapture}, trace.WriterOptions{Checksums: true})
	if err != nil {
		t.Fatal(err)
	}
	r.open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.open.Go(func() { r.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); r.open.Wait() })
	return r
}

func (r *recorder) addr() string { return r.listener.Addr().String() }

// trace ends the recording, once every session has ended.
func (r *recorder) trace() []byte {
	r.t.Helper()
	r.listener.Close()
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		if err := r.w.Close(); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.buf.Bytes()
}

// serve is one connection.
func (r *recorder) serve(client net.Conn) {
	defer client.Close()
	packet, code, err := pg.ReadStartup(client)
	for err == nil && (code == pg.CodeSSL || code == pg.CodeGSS) {
		_, _ = client.Write([]byte("N"))
		packet, code, err = pg.ReadStartup(client)
	}
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer server.Close()
	if code == pg.CodeCancel {
		r.cancel(packet)
		_, _ = server.Write(packet)
		_, _ = io.Copy(client, server)
		return
	}
	s := r.session()
	s.client(packet)
	_, _ = server.Write(packet)
	done := make(chan struct{})
	go func() {
		s.pump(server, client, s.client)
		_ = server.(*net.TCPConn).CloseWrite()
		close(done)
	}()
	s.pump(client, server, s.server)
	_ = client.Close()
	<-done
	s.end()
}

type recorded struct {
	r      *recorder
	id     uint64
	talk   *pg.Conversation
	shapes map[uint64]uint32 // entries of events that prepared something
	starts map[uint64]int64  // of events not answered yet
}

func (r *recorder) session() *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	s := &recorded{r: r, id: 5000 + r.last, shapes: map[uint64]uint32{}, starts: map[uint64]int64{}}
	s.talk = pg.NewConversation(s, pg.Options{Checksum: true})
	return s
}

func (s *recorded) pump(to, from net.Conn, see func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			// Before the bytes go on, so that a request is never seen after its reply.
			see(buf[:n])
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (s *recorded) client(b []byte) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if err := s.talk.Client(b, time.Now().UnixNano()); err != nil {
		s.r.t.Errorf("session %d, client: %v", s.id, err)
	}
}

func (s *recorded) server(b []byte) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if err := s.talk.Server(b, time.Now().UnixNano()); err != nil {
		s.r.t.Errorf("session %d, server: %v", s.id, err)
	}
	if pid, key := s.talk.Key(); key != nil {
		s.r.byKey[pid] = s
	}
}

func (s *recorded) end() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.talk.Close(time.Now().UnixNano(), "client_gone")
	s.r.w.EndSession(s.id)
}

func (s *recorded) check(err error) {
	if err != nil {
		s.r.t.Errorf("session %d: %v", s.id, err)
	}
}

func (s *recorded) Started(b pg.Startup) {
	s.check(s.r.w.State(&trace.State{
		Session: s.id, Start: time.Now().UnixNano(), Database: b.Database, User: b.User, Settings: b.Settings, Transaction: "idle",
	}))
}

func (s *recorded) Request(q *pg.Request) {
	var shape, values []byte
	var sizes []uint64
	if len(q.Bytes) > 0 {
		shape, sizes, values = s.r.split.Split(q.Bytes)
	}
	prepare := uint32(0)
	if id, ok := s.shapes[q.Prepare]; ok && q.Prepare != q.Ordinal {
		prepare = id + 1
	}
	id, err := s.r.w.Intern(trace.Op(q.Op), prepare, shape, func() (string, []uint32) { return pg.Describe(q.Bytes) })
	s.check(err)
	if q.Parses {
		s.shapes[q.Ordinal] = id
	}
	s.starts[q.Ordinal] = q.Start
	s.check(s.r.w.Event(&trace.Event{
		Session: s.id, Ordinal: q.Ordinal, Start: q.Start, Shape: id, Sizes: sizes, Values: values,
		RequestEnd: q.RequestEnd, OverLimit: q.OverLimit,
	}))
}

func (s *recorded) Reply(p *pg.Reply) {
	status := map[pg.Outcome]trace.Status{pg.OK: trace.OK, pg.Failed: trace.Error, pg.Skipped: trace.Skipped, pg.Lost: trace.Lost}[p.Outcome]
	start := s.starts[p.Ordinal]
	delete(s.starts, p.Ordinal)
	s.check(s.r.w.Reply(s.id, p.Ordinal, &trace.Reply{
		Took: max(p.Done-start, 0), Tail: p.Done - p.First, Rows: p.Rows, Results: p.Results, Bytes: p.Bytes,
		Status: status, Reason: p.Reason, State: p.State, Checksum: p.Checksum,
	}, 0))
}

func (s *recorded) Prepared([]byte, uint64, []byte) {}
func (s *recorded) Deallocated([]byte)              {}
func (s *recorded) Sets(_, _ [][]byte)              {}
func (s *recorded) Setting(string, string)          {}

// cancel records a cancel request; r.mu is not held.
func (r *recorder) cancel(packet []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, _, err := pg.ParseCancel(packet)
	s := r.byKey[pid]
	if err != nil || s == nil {
		r.t.Errorf("a cancel request for nobody: %v", err)
		return
	}
	r.last++
	values := binary.LittleEndian.AppendUint64(nil, s.id)
	values = binary.LittleEndian.AppendUint64(values, s.talk.LastOrdinal())
	id, err := r.w.Intern(trace.OpCancel, 0, []byte{2, 2}, func() (string, []uint32) { return "cancel", nil })
	s.check(err)
	s.check(r.w.Event(&trace.Event{
		Session: 5000 + r.last, Start: time.Now().UnixNano(), Shape: id, Sizes: []uint64{10, 10}, Values: values, RequestEnd: true, HasReply: true,
	}))
}
