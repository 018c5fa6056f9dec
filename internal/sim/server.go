package sim

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
)

// Options say how the server behaves.
type Options struct {
	Latency        []Latency // the first that fits holds; without one, no time at all
	Faults         []Fault
	Freeze         Freeze  // none if it lasts 0
	Drop           float64 // share of statements in whose answers the connection breaks
	Rows           int     // of what is not understood, and whether unwritten keys are there
	MaxConnections int     // 0: any number
	Seed           uint64
	Clock          clock.Clock // nil means the most precise one there is
}

// Server is a simulated server.
type Server struct {
	o        Options
	clock    clock.Clock
	schedule *schedule
	store    *store
	truth    *recorder
	began    atomic.Int64 // when the first statement came

	mu       sync.Mutex
	sessions map[uint32]*session
	last     uint32 // connection number
	in       int    // of the sessions, those that are logged in
	ended    sync.WaitGroup
}

// New makes a server that serves nobody yet.
func New(o Options) *Server {
	s := &Server{
		o: o, clock: o.Clock, store: newStore(o.Rows > 0),
		schedule: newSchedule(o.Seed, o.Latency, o.Faults, o.Drop), sessions: map[uint32]*session{},
	}
	s.truth = newRecorder(len(s.schedule.latencies))
	return s
}

// Serve serves who connects until ctx ends, which breaks all connections.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.clock == nil {
		precise, err := clock.New()
		if err != nil {
			return errors.Join(err, l.Close())
		}
		defer func() { _ = precise.Close() }() // nobody waits any more
		s.clock = precise
	}
	s.truth.begin(s.clock.Now())
	defer s.ended.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = l.Close() // Accept tells
		s.hangUp()
	})()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			var passing net.Error
			if errors.As(err, &passing) && passing.Timeout() || isCrowded(err) {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			return err
		}
		s.admit(ctx, conn)
	}
}

// admit gives a connection its session.
func (s *Server) admit(ctx context.Context, conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // those that are there have been hung up on
		_ = conn.Close()
		return
	}
	s.last++
	se := newSession(s, conn, s.last)
	s.sessions[se.pid] = se
	s.ended.Go(func() {
		defer s.leave(se)
		se.serve(ctx)
	})
}

func (s *Server) leave(se *session) {
	_ = se.conn.Close()
	s.mu.Lock()
	delete(s.sessions, se.pid)
	if se.in {
		s.in--
	}
	s.mu.Unlock()
}

func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, se := range s.sessions {
		_ = se.conn.Close()
	}
}

// login counts a session in, unless there are too many.
func (s *Server) login(se *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.MaxConnections > 0 && s.in >= s.o.MaxConnections {
		return false
	}
	s.in++
	se.in = true
	return true
}

func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

// cancel ends what a session is doing, if the key is its own.
func (s *Server) cancel(pid uint32, key []byte) {
	s.mu.Lock()
	se := s.sessions[pid]
	s.mu.Unlock()
	if se != nil && string(se.key) == string(key) {
		s.truth.cancelled()
		se.interrupt()
	}
}

// thawed is when work that begins at start is done.
func (s *Server) thawed(start int64, work time.Duration) int64 {
	began := s.began.Load()
	if s.o.Freeze.For == 0 || began == 0 {
		return start + int64(work)
	}
	return began + int64(s.o.Freeze.end(time.Duration(start-began), work))
}

// Truth tells what has been served so far.
func (s *Server) Truth() Truth {
	t := s.truth.truth()
	t.Seed, t.Tables = s.o.Seed, s.store.sizes()
	if s.clock != nil {
		t.ElapsedS = float64(s.clock.Now()-s.truth.began) / 1e9
	}
	for i, r := range s.schedule.latencies {
		t.Latencies[i].Latency = r.String()
		t.Latencies[i].Match = r.Match()
	}
	return t
}

func newKey() []byte {
	key := make([]byte, 4)
	if _, err := rand.Read(key); err != nil { // it never does
		binary.BigEndian.PutUint32(key, 1)
	}
	return key
}
