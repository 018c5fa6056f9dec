package sim

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// prepared is a statement with what Describe tells of it.
type prepared struct {
	*Statement
	types   []uint32 // of parameters
	columns []column
}

// portal is a prepared statement with its values.
type portal struct {
	*prepared
	args    []value
	formats []int16
	begun   bool
	result
}

func (s *session) parse(m *pgproto3.Parse) {
	all := parse(m.Query)
	switch {
	case len(all) > 1:
		s.stumble("42601", "cannot insert multiple commands into a prepared statement")
		return
	case s.state == 'E' && !all[0].ends():
		s.stumble(codeAborted, abortedMessage)
		return
	case m.Name != "" && s.statements[m.Name] != nil:
		s.stumble("42P05", fmt.Sprintf("prepared statement %q already exists", m.Name))
		return
	}
	s.statements[m.Name] = s.server.prepare(all[0], m.ParameterOIDs)
	s.backend.Send(&pgproto3.ParseComplete{})
}

// prepare settles the types of a statement.
func (s *Server) prepare(st *Statement, declared []uint32) *prepared {
	p := &prepared{Statement: st, types: make([]uint32, max(len(st.params), len(declared)))}
	copy(p.types, st.params)
	s.infer(st, p.types)
	for i, oid := range declared {
		if oid != 0 {
			p.types[i] = oid
		}
	}
	for i := range p.types {
		if p.types[i] == 0 {
			p.types[i] = pgtype.Int8OID
			if st.kind == literal {
				p.types[i] = pgtype.TextOID
			}
		}
	}
	p.columns = s.columns(st, p.types)
	return p
}

// infer takes the types of parameters from the columns they meet.
func (s *Server) infer(st *Statement, types []uint32) {
	if st.access == nil {
		return
	}
	a := st.access
	meet := func(o operand, name string) {
		if o.param > 0 && types[o.param-1] == 0 && s.store.isText(a.table, name) {
			types[o.param-1] = pgtype.TextOID
		}
	}
	meet(a.key, a.keyName)
	for i, o := range a.changes {
		meet(o, a.columns[i])
	}
}

func (s *session) bind(m *pgproto3.Bind) {
	p, ok := s.statements[m.PreparedStatement]
	switch {
	case !ok:
		s.stumble("26000", fmt.Sprintf("prepared statement %q does not exist", m.PreparedStatement))
		return
	case s.state == 'E' && !p.ends():
		s.stumble(codeAborted, abortedMessage)
		return
	case len(m.Parameters) != len(p.types):
		s.stumble("08P01", fmt.Sprintf("bind message supplies %d parameters, but prepared statement %q requires %d", len(m.Parameters), m.PreparedStatement, len(p.types)))
		return
	case m.DestinationPortal != "" && s.portals[m.DestinationPortal] != nil:
		s.stumble("42P03", fmt.Sprintf("cursor %q already exists", m.DestinationPortal))
		return
	}
	o := &portal{prepared: p, formats: append([]int16(nil), m.ResultFormatCodes...)}
	for i, b := range m.Parameters {
		o.args = append(o.args, decode(b, p.types[i], format(m.ParameterFormatCodes, i)))
	}
	s.portals[m.DestinationPortal] = o
	s.backend.Send(&pgproto3.BindComplete{})
}

// format of the i-th of several values: none means text, one is for all.
func format(codes []int16, i int) int16 {
	switch {
	case len(codes) == 1:
		return codes[0]
	case i < len(codes):
		return codes[i]
	}
	return pgproto3.TextFormat
}

func (s *session) describe(m *pgproto3.Describe) {
	var p *prepared
	var formats []int16
	if m.ObjectType == 'S' {
		if p = s.statements[m.Name]; p == nil {
			s.stumble("26000", fmt.Sprintf("prepared statement %q does not exist", m.Name))
			return
		}
		s.backend.Send(&pgproto3.ParameterDescription{ParameterOIDs: p.types})
	} else {
		o := s.portals[m.Name]
		if o == nil {
			s.stumble("34000", fmt.Sprintf("portal %q does not exist", m.Name))
			return
		}
		p, formats = o.prepared, o.formats
	}
	if len(p.columns) == 0 {
		s.backend.Send(&pgproto3.NoData{})
		return
	}
	s.backend.Send(rowDescription(p.columns, formats))
}

func (s *session) close(m *pgproto3.Close) {
	if m.ObjectType == 'S' {
		delete(s.statements, m.Name)
	} else {
		delete(s.portals, m.Name)
	}
	s.backend.Send(&pgproto3.CloseComplete{})
}

// execute runs a portal, or fetches more of it.
func (s *session) execute(m *pgproto3.Execute) error {
	p := s.portals[m.Portal]
	if p == nil {
		s.stumble("34000", fmt.Sprintf("portal %q does not exist", m.Portal))
		return s.skip(m) // which counts it
	}
	if p.begun {
		return s.deliver(p, int(m.MaxRows))
	}
	p.begun = true
	return s.statement(p.text, []*Statement{p.Statement}, func() (string, error) {
		var code string
		if p.result, code = s.run(p.prepared, p.args); code != "" {
			return code, nil
		}
		return "", s.deliver(p, int(m.MaxRows))
	})
}

// stumble is an error in the extended protocol outside of a statement's work.
func (s *session) stumble(code, message string) {
	s.fail(code, message)
	s.skipping, s.failed = true, code
}
