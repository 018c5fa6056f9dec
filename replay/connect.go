package replay

import (
	"context"
	"errors"
	"net"

	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// connector opens the connections of a replay.
type connector interface {
	// connect logs in; shoot sends a cancel request for what runs there.
	connect(ctx context.Context, database, user string, settings map[string]string) (c net.Conn, shoot func(context.Context) error, err error)
}

// serverConnector connects to a real server.
type serverConnector struct{ t *target.Target }

func (c serverConnector) connect(ctx context.Context, database, user string, settings map[string]string) (net.Conn, func(context.Context) error, error) {
	if named := c.t.Database(); named != "" {
		database = named
	}
	conn, err := c.t.ConnectPG(ctx, database, user, settings)
	if err != nil {
		return nil, nil, err
	}
	conn.Parameters = nil // ten thousand sessions need no copies
	return conn.Conn, func(ctx context.Context) error { return c.t.Cancel(ctx, conn) }, nil
}

// SQLSTATEs for connections that failed without a word from the server.
const (
	codeUnreachable = "08001"
	codeFailure     = "08006"
)

func codeOf(err error) string {
	var e *target.Error
	switch {
	case !errors.As(err, &e):
		return codeFailure
	case e.SQLState != "":
		return e.SQLState
	case e.Class == target.Unreachable:
		return codeUnreachable
	}
	return codeFailure
}

// connect replays the login.
func (s *session) connect(r *record) {
	s.stage(r)
	defer s.unstage()
	due := s.p.pace.due(s, r)
	if r.flags&flagSkip != 0 { // a replication session: nothing of it is sent
		s.dead, s.status = r.end.String(), r.end.unsendable()
	}
	if !s.awaitDue(due) {
		s.leave(due)
		return
	}
	f := s.board(&s.batch[0], due)
	f.sent = s.p.clock.Now()
	s.sent = f.sent
	err := s.login(r.ordinal + 1)
	now := s.p.clock.Now()
	f.done, f.took, f.after = true, now-f.sent, 'I'
	switch {
	case err == nil:
		f.status = trace.OK
	case s.p.phase() != running:
		f.after = 0
		f.status, f.reason = trace.Lost, interrupted.String()
	default:
		f.after = 0
		f.status, f.reason = trace.Error, codeOf(err)
		s.p.refused(err)
	}
	s.free, s.heard = now, now
	s.settle(false)
}

// login opens the session's connection. Its next event has the ordinal given.
func (s *session) login(ordinal uint64) error {
	var database, user string // as the target's own
	var settings map[string]string
	if s.state != nil {
		user = s.p.users[s.state.User]
		database, settings = s.state.Database, s.p.selection.settings(s.state.Settings)
	}
	release, err := s.p.mayLogin()
	if err != nil {
		s.dead, s.status = s.p.phase().String(), trace.Unsent
		return err
	}
	conn, shoot, err := s.p.connector.connect(s.p.stopped, database, user, settings)
	release()
	if err != nil {
		s.dead, s.status = reasonUnconnect, trace.Unsent
		if s.p.phase() != running {
			s.dead = s.p.phase().String()
		}
		return err
	}
	s.conn, s.connected, s.shoot = conn, true, shoot
	s.line.(*threadLine).use(conn)
	s.in = make([]byte, minRead)
	s.talk = pg.NewConversation(listener{s}, pg.Options{LoggedIn: true, Ordinal: ordinal, Checksum: s.p.check})
	return nil
}

// ensure connects a session whose login is not in the trace, and brings it to the
// state it had.
func (s *session) ensure() {
	if s.talk != nil || s.dead != "" {
		return
	}
	if why := s.omission.session; why != endNone {
		s.dead, s.status = why.String(), trace.Filtered
		return
	}
	ordinal := uint64(0)
	if s.state != nil {
		ordinal = s.state.Ordinal
	}
	if err := s.login(ordinal); err != nil {
		if s.p.phase() == running {
			s.p.refused(err)
		}
		return
	}
	if s.state != nil {
		s.own(s.p.selection.messages(s.state, false))
		for i := range s.state.Pending { // nobody knows whether it succeeded: until somebody uses it
			s.prepared.passed(s.state.Pending[i].Message)
		}
	}
	s.free = s.p.clock.Now()
	s.heard = s.free
}
