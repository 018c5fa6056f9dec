package replay

import "github.com/retrace-db/retrace/trace"

// maxHeld bounds the bytes of Parse messages that are held for a session.
const maxHeld = 1 << 20

// prepared knows which of a session's statements the target does not have
// though the recorded server had them. Both maps are empty as long as all goes
// as recorded.
type prepared struct {
	refused map[string]bool   // the target refused them
	held    map[string][]byte // they were skipped, or discarded after an error: their Parse
	bytes   int               // of those

	partial bool // statements may have been prepared of which nothing is known
	known   map[string]bool
}

func (p *prepared) complete() bool { return len(p.refused) == 0 && len(p.held) == 0 && !p.partial }

// maxKnown bounds the names that are kept of a session of which not all are known.
const maxKnown = 1 << 16

// learn notes that a statement is prepared in the trace.
func (p *prepared) learn(name []byte) {
	if !p.partial {
		return
	}
	if p.known == nil {
		p.known = map[string]bool{}
	}
	if p.known[string(name)] = true; len(p.known) > maxKnown {
		p.partial, p.known = false, nil
	}
}

// refuse takes a statement as refused until the target has accepted it.
func (p *prepared) refuse(name []byte) {
	if p.refused == nil {
		p.refused = map[string]bool{}
	}
	p.drop(name)
	p.refused[string(name)] = true
	p.learn(name)
}

// accepted notes that the target has a statement.
func (p *prepared) accepted(name []byte) {
	if p.complete() {
		return
	}
	delete(p.refused, string(name))
	p.drop(name)
}

func (p *prepared) drop(name []byte) {
	p.bytes -= len(p.held[string(name)])
	delete(p.held, string(name))
}

// failed notes a Parse that the target did not accept although the recorded
// server had.
func (p *prepared) failed(f *flight) {
	if f.replied && f.was != trace.OK {
		return
	}
	_, body, _, _ := nextMessage(f.parse)
	name, _ := word(body)
	if f.status == trace.Skipped {
		p.hold(name, f.parse)
		return
	}
	p.refuse(name)
}

// hold keeps a Parse for when its statement is wanted.
func (p *prepared) hold(name, message []byte) {
	p.drop(name)
	if len(name) == 0 || p.bytes+len(message) > maxHeld {
		return
	}
	if p.held == nil {
		p.held = map[string][]byte{}
	}
	p.held[string(name)] = append([]byte(nil), message...)
	p.bytes += len(message)
}

// passed notes the Parse messages of an event that was skipped.
func (p *prepared) passed(b []byte) {
	for {
		kind, body, rest, ok := nextMessage(b)
		if !ok {
			return
		}
		if kind == 'P' {
			name, _ := word(body)
			p.learn(name)
			p.hold(name, b[:len(b)-len(rest)])
		}
		b = rest
	}
}

// wants tells which missing statements the messages of an event use, and whether
// one of which nothing is known.
func (p *prepared) wants(b []byte) (refused, unknown bool, held [][]byte) {
	for {
		kind, body, rest, ok := nextMessage(b)
		if !ok {
			return refused, unknown, held
		}
		b = rest
		var name []byte
		switch kind {
		case 'P':
			name, _ = word(body)
			delete(p.refused, string(name)) // what comes of it is seen when it comes
			p.drop(name)
			p.learn(name)
			continue
		case 'B':
			_, name = word(body)
			name, _ = word(name)
		case 'D', 'C':
			if len(body) == 0 || body[0] != 'S' {
				continue
			}
			name, _ = word(body[1:])
		default:
			continue
		}
		if kind == 'C' {
			delete(p.refused, string(name))
			p.drop(name)
			continue
		}
		refused = refused || p.refused[string(name)]
		unknown = unknown || p.partial && !p.known[string(name)]
		if message := p.held[string(name)]; message != nil {
			held = append(held, message)
			p.drop(name)
		}
	}
}
