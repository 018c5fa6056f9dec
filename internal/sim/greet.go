package sim

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// greet lets a client in: anybody, without a password.
func (s *session) greet() error {
	for range 3 { // TLS, GSS, and then one of the others
		m, err := s.backend.ReceiveStartupMessage()
		if err != nil {
			s.refuse(err)
			return err
		}
		switch m := m.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := s.conn.Write([]byte{'N'}); err != nil {
				return err
			}
		case *pgproto3.CancelRequest:
			s.server.cancel(m.ProcessID, m.SecretKey)
			return errOver
		case *pgproto3.StartupMessage:
			return s.welcome(m)
		}
	}
	return errors.New("asked for encryption again and again")
}

func (s *session) welcome(m *pgproto3.StartupMessage) error {
	in := s.server.login(s)
	s.server.truth.connected(in)
	if !in {
		return s.fatal("53300", "sorry, too many clients already")
	}
	var unknown []string
	for name := range m.Parameters {
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); unknown != nil {
		s.backend.Send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: m.ProtocolVersion, UnrecognizedOptions: unknown})
	}
	s.backend.Send(&pgproto3.AuthenticationOk{})
	for _, of := range settings {
		s.backend.Send(&pgproto3.ParameterStatus{Name: of[0], Value: of[1]})
	}
	s.backend.Send(&pgproto3.ParameterStatus{Name: "application_name", Value: m.Parameters["application_name"]})
	s.backend.Send(&pgproto3.ParameterStatus{Name: "session_authorization", Value: m.Parameters["user"]})
	s.backend.Send(&pgproto3.ParameterStatus{Name: "is_superuser", Value: "off"})
	s.backend.Send(&pgproto3.BackendKeyData{ProcessID: s.pid, SecretKey: s.key})
	s.backend.Send(&pgproto3.ReadyForQuery{TxStatus: s.state})
	return s.flush()
}
