package capture

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
)

// messages shares the bytes of prepared statements: a pool of connections
// prepares the same ones in each, and names them alike more often than not.
type messages struct {
	known map[string]*message
}

type message struct {
	bytes []byte
	users int
}

func (m *messages) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if k := m.known[string(b)]; k != nil {
		k.users++
		return k.bytes
	}
	k := &message{bytes: append([]byte(nil), b...), users: 1}
	if m.known == nil {
		m.known = map[string]*message{}
	}
	m.known[string(k.bytes)] = k
	return k.bytes
}

func (m *messages) release(b []byte) {
	if k := m.known[string(b)]; k != nil && len(b) > 0 {
		if k.users--; k.users == 0 {
			delete(m.known, string(b))
		}
	}
}

// prepared notes that the server accepted a statement.
func (e *encoder) prepared(l *life, r *row) {
	name, text := r.data[:r.name], r.data[r.name:]
	of := e.refOf(l, r.ordinal)
	if of.generation == 0 && len(text) > 0 { // its event was not recorded
		of.secret = e.secret(text)
	}
	if of.secret {
		text = nil
	}
	if len(name) == 0 {
		s := &l.unnamed
		if cap(s.message) > keepUnnamed && len(text) <= keepUnnamed {
			s.message = nil
		}
		s.ordinal, s.ref, s.live, s.message = r.ordinal, of, true, append(s.message[:0], text...)
		return
	}
	e.forget(l, string(name))
	if l.named == nil {
		l.named, l.byNumber = map[string]*statement{}, map[uint64]*statement{}
	}
	s := &statement{ordinal: r.ordinal, message: e.messages.keep(text), ref: of, live: true}
	l.named[string(name)] = s
	l.byNumber[r.ordinal] = s
}

// keepUnnamed is how large a buffer for the unnamed statement may stay when the
// next one is smaller.
const keepUnnamed = 8 << 10

// deallocated notes that the server dropped one statement, or all with a name.
func (e *encoder) deallocated(l *life, r *row) {
	switch {
	case r.flags&flagAll != 0:
		for name := range l.named {
			e.forget(l, name)
		}
	case len(r.data) == 0:
		l.unnamed = statement{}
	default:
		e.forget(l, string(r.data))
	}
}

func (e *encoder) forget(l *life, name string) {
	s := l.named[name]
	if s == nil {
		return
	}
	e.messages.release(s.message)
	delete(l.named, name)
	if l.byNumber[s.ordinal] == s {
		delete(l.byNumber, s.ordinal)
	}
}

// refOf is the dictionary entry of an event that prepared something; its
// generation is 0 where there is none.
func (e *encoder) refOf(l *life, ordinal uint64) ref {
	if e.last.life == l && e.last.ordinal == ordinal {
		return e.last.ref
	}
	if s := l.pending.find(ordinal); s != nil {
		return s.ref
	}
	return ref{}
}

// resolve finds the dictionary entry of what an event executes. After a change
// of segment it is made again from the message that prepared it.
func (e *encoder) resolve(l *life, own, ordinal uint64) (ref, error) {
	if ordinal == pg.NoPrepare || ordinal == own {
		return ref{}, nil
	}
	if s := l.pending.find(ordinal); s != nil && s.ref.generation == e.generation() {
		return s.ref, nil
	}
	s := l.find(ordinal)
	if s == nil {
		return ref{}, nil
	}
	if s.ref.generation != e.generation() && len(s.message) > 0 {
		if err := e.reintern(s); err != nil {
			return ref{}, err
		}
	}
	if s.ref.generation != e.generation() {
		return ref{secret: s.ref.secret}, nil
	}
	return s.ref, nil
}

func (e *encoder) reintern(s *statement) error {
	op := pg.OpPrepare
	if s.message[0] == 'Q' {
		op = pg.OpQuery
	}
	shape, _, _ := e.split.Split(s.message)
	id, err := e.intern(op, ref{}, shape, s.message)
	if err == nil {
		s.ref.id, s.ref.generation = id, e.generation()
	}
	return err
}

// secret tells whether a message's SQL may hold one.
func (e *encoder) secret(message []byte) bool {
	e.split.Split(message)
	return e.split.Secret()
}
