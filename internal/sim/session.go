package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// session is one connection.
type session struct {
	server  *Server
	conn    net.Conn
	backend *pgproto3.Backend
	dice    *dice
	pid     uint32
	key     []byte
	in      bool // logged in; of the server's lock

	arrived int64 // when bytes came last
	free    int64 // when the last answer was gone
	pending []served
	cut     bool // the connection breaks in the middle of what is written next

	statements map[string]*prepared
	portals    map[string]*portal
	transaction
	skipping bool   // after an error, up to Sync
	failed   string // the error that began it, until a statement has been counted for it

	mu      sync.Mutex // of what follows: cancel requests come from outside
	base    context.Context
	working context.Context // of waits, until one is cancelled
	stop    context.CancelFunc
	waiting bool
}

const (
	loginTime   = time.Minute
	maxBody     = 16 << 20 // of a message
	rowsAtOnce  = 1000
	codeCancel  = "57014"
	codeAborted = "25P02"
)

var (
	errOver = errors.New("the session is over")
	errCut  = errors.New("the connection was to break here")
)

func newSession(s *Server, conn net.Conn, pid uint32) *session {
	se := &session{
		server: s, conn: conn, dice: newDice(), pid: pid, key: newKey(),
		statements: map[string]*prepared{}, portals: map[string]*portal{}, transaction: transaction{state: 'I'},
	}
	se.backend = pgproto3.NewBackend(stamped{se}, cutting{se})
	se.backend.SetMaxBodyLen(maxBody)
	return se
}

// stamped notes when bytes came.
type stamped struct{ s *session }

func (r stamped) Read(b []byte) (int, error) {
	n, err := r.s.conn.Read(b)
	r.s.arrived = r.s.server.clock.Now()
	return n, err
}

// cutting breaks off where it is to.
type cutting struct{ s *session }

func (w cutting) Write(b []byte) (int, error) {
	if !w.s.cut {
		return w.s.conn.Write(b)
	}
	n, err := w.s.conn.Write(b[:len(b)/2])
	return n, errors.Join(err, errCut)
}

// serve talks until somebody goes.
func (s *session) serve(ctx context.Context) {
	s.base = ctx
	defer func() {
		s.server.truth.unanswered(len(s.pending))
		if s.stop != nil {
			s.stop()
		}
		s.takeBack(0)
	}()
	_ = s.conn.SetDeadline(time.Now().Add(loginTime)) // it fails for a closed connection only
	if s.greet() != nil {
		return
	}
	_ = s.conn.SetDeadline(time.Time{})
	for {
		m, err := s.backend.Receive()
		if err != nil {
			s.refuse(err)
			return
		}
		if s.take(m) != nil {
			return
		}
	}
}

// refuse says why the talk is over, if that is not for the peer having gone.
func (s *session) refuse(err error) {
	var network net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network) {
		return
	}
	_ = s.fatal("08P01", err.Error())
}

func (s *session) fatal(code, message string) error {
	s.backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
	return errors.Join(s.backend.Flush(), errOver)
}

// take does what a message asks.
func (s *session) take(m pgproto3.FrontendMessage) error {
	if s.skipping {
		return s.skip(m)
	}
	switch m := m.(type) {
	case *pgproto3.Query:
		return s.query(m)
	case *pgproto3.Parse:
		s.parse(m)
	case *pgproto3.Bind:
		s.bind(m)
	case *pgproto3.Describe:
		s.describe(m)
	case *pgproto3.Execute:
		return s.execute(m)
	case *pgproto3.Close:
		s.close(m)
	case *pgproto3.Sync:
		return s.sync()
	case *pgproto3.Flush:
		return s.flush()
	case *pgproto3.FunctionCall:
		s.fail("0A000", "function calls are not simulated")
		return s.sync()
	case *pgproto3.Terminate:
		return errOver
	}
	return nil // COPY data when there is no COPY is ignored, as the server does
}

// skip discards what stands between an error and Sync.
func (s *session) skip(m pgproto3.FrontendMessage) error {
	switch m.(type) {
	case *pgproto3.Sync:
		return s.sync()
	case *pgproto3.Terminate:
		return errOver
	case *pgproto3.Execute:
		if s.failed == "" {
			s.server.truth.skipped()
			break
		}
		// What failed was this statement's Parse or Bind.
		start := max(s.arrived, s.free)
		s.pending = append(s.pending, served{rule: -1, start: start, due: start, code: s.failed})
		s.failed = ""
	}
	return nil
}

// sync ends a pipeline, and the transaction if it was the pipeline's own.
func (s *session) sync() error {
	s.skipping, s.failed = false, ""
	if s.state == 'I' {
		s.keep()
		clear(s.portals)
	}
	s.backend.Send(&pgproto3.ReadyForQuery{TxStatus: s.state})
	return s.flush()
}

// flush sends what there is, and records the statements it answers.
func (s *session) flush() error {
	if len(s.pending) == 0 { // the others have waited out their freezes
		thaw := s.server.thawed(s.server.clock.Now(), 0)
		for s.wait(thaw) != nil {
			if s.base.Err() != nil {
				return errOver
			}
		}
	}
	s.server.truth.leaving.Add(1)
	defer s.server.truth.leaving.Add(-1)
	if err := s.backend.Flush(); err != nil {
		return err
	}
	s.free = s.server.clock.Now()
	if len(s.pending) > 0 {
		s.server.truth.left(s.pending, s.free)
		s.pending = s.pending[:0]
	}
	return nil
}

// wait lets time pass, until a cancel request or the end.
func (s *session) wait(until int64) error {
	if until <= s.server.clock.Now() {
		return nil
	}
	s.mu.Lock()
	if s.working == nil {
		s.working, s.stop = context.WithCancel(s.base)
	}
	ctx := s.working
	s.waiting = true
	s.mu.Unlock()
	err := s.server.clock.Wait(ctx, until)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		s.working = nil
	}
	s.waiting = false
	return err
}

// interrupt ends a wait; who does not wait is not harmed.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		s.stop()
	}
}
