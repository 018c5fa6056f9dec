package pg

import "github.com/retrace-db/retrace/internal/wire/sqltext"

// maxNames bounds what is remembered of a session that prepares for ever and
// closes nothing. Statements beyond it are not resolved.
const maxNames = 1 << 18

// statement is what a name stands for: the event whose Parse made it.
type statement struct {
	ordinal uint64
	effect  *effect // what executing it does to the session; nil for almost all
}

// portal is a statement bound.
type portal struct {
	statement
	bound    uint64 // ordinal of the event that bound it
	executed bool
}

var noStatement = statement{ordinal: NoPrepare}

var noPortal = portal{statement: noStatement}

// names is a session's prepared statements and portals. A conversation has
// two: what the server has (applied as its replies come) and what it will have
// if everything sent succeeds (applied as requests are read).
type names struct {
	unnamed  statement
	named    map[string]statement
	nameless portal // the unnamed portal
	portals  map[string]portal
}

func newNames() names {
	return names{
		unnamed: noStatement, named: map[string]statement{},
		nameless: noPortal, portals: map[string]portal{},
	}
}

func (n *names) statement(name []byte) statement {
	if len(name) == 0 {
		return n.unnamed
	}
	if s, ok := n.named[string(name)]; ok {
		return s
	}
	return noStatement
}

func (n *names) prepare(name []byte, s statement) {
	if len(name) == 0 {
		n.unnamed = s
	} else if len(n.named) < maxNames {
		n.named[string(name)] = s
	}
}

// drop removes a statement and reports whether there was one.
func (n *names) drop(name []byte) bool {
	if len(name) == 0 {
		had := n.unnamed.ordinal != NoPrepare
		n.unnamed = noStatement
		return had
	}
	_, had := n.named[string(name)]
	if had {
		delete(n.named, string(name))
	}
	return had
}

func (n *names) portal(name []byte) portal {
	if len(name) == 0 {
		return n.nameless
	}
	if p, ok := n.portals[string(name)]; ok {
		return p
	}
	return noPortal
}

func (n *names) bind(name []byte, p portal) {
	if len(name) == 0 {
		n.nameless = p
	} else if len(n.portals) < maxNames {
		n.portals[string(name)] = p
	}
}

func (n *names) unbind(name []byte) {
	if len(name) == 0 {
		n.nameless = noPortal
	} else {
		delete(n.portals, string(name))
	}
}

// copyPortals makes n's portals those of other.
func (n *names) copyPortals(other *names) {
	n.nameless = other.nameless
	clear(n.portals)
	for name, p := range other.portals {
		n.portals[name] = p
	}
}

// idle forgets the portals that the end of a transaction has closed: those
// bound by events up to the one that ended it.
func (n *names) idle(ordinal uint64) {
	if n.nameless.bound <= ordinal {
		n.nameless = noPortal
	}
	if len(n.portals) == 0 {
		return
	}
	for name, p := range n.portals {
		if p.bound <= ordinal {
			delete(n.portals, name)
		}
	}
}

// effect is what a statement will have done to the session once the server
// has said so in its command tag.
type effect struct {
	kind sqltext.Effect
	name string  // of PREPARE and DEALLOCATE
	all  bool    // DEALLOCATE ALL
	text []byte  // of PREPARE
	set  *change // of SET, RESET and set_config; nil if it does nothing that lasts
	save string  // of SAVEPOINT, RELEASE and ROLLBACK TO
	at   int     // which of its text's statements it is
}

// effectsOf finds them in a text; nil for almost every text.
func effectsOf(sql []byte) []effect {
	found := sqltext.Effects(sql)
	if len(found) == 0 {
		return nil
	}
	list := make([]effect, 0, len(found))
	for _, st := range found {
		e := effect{kind: st.Effect, name: sqltext.Name(st.Name), all: st.Name == nil, at: st.Index}
		switch e.kind {
		case sqltext.Prepare:
			e.text = append(e.text, st.Text...)
		case sqltext.Discard:
			e.all = sqltext.DiscardsAll(st.Text)
		case sqltext.Set, sqltext.SetConfig, sqltext.Reset:
			e.set = changeOf(st.Text)
		case sqltext.Savepoint, sqltext.Release, sqltext.Rollback:
			e.save, _ = sqltext.SavepointName(st.Text)
		}
		list = append(list, e)
	}
	return list
}
