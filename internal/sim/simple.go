package sim

import "github.com/jackc/pgx/v5/pgproto3"

// query runs the statements of a Query message up to the first that fails.
func (s *session) query(m *pgproto3.Query) error {
	delete(s.statements, "")
	delete(s.portals, "")
	all := parse(m.String)
	err := s.statement(m.String, all, func() (string, error) {
		for _, st := range all {
			if code, err := s.one(st); code != "" || err != nil {
				return code, err
			}
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	return s.sync()
}

func (s *session) one(st *Statement) (code string, err error) {
	p := &portal{prepared: s.server.prepare(st, nil)}
	if len(p.types) > 0 {
		return "42P02", nil // there are no parameters here
	}
	if p.result, code = s.run(p.prepared, nil); code != "" {
		return code, nil
	}
	if len(p.columns) > 0 {
		s.backend.Send(rowDescription(p.columns, nil))
	}
	return "", s.deliver(p, 0)
}
