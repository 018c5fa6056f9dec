package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Class says what to do about a failed connection.
type Class byte

const (
	Other       Class = iota
	Unreachable       // no such name, nobody listens, no route
	Timeout
	TLS
	Auth     // wrong password, no such user, not allowed from here
	Database // no such database
	Full     // no connection slot left
	Starting // starting up, shutting down, recovering
	Interrupted
)

// Error is a failed connection, in words that name the target without its password.
type Error struct {
	Class    Class
	SQLState string // where the server said it

	target string
	reason string
	advice string
	err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cannot connect to %s: %s", e.target, e.reason)
	if e.SQLState != "" {
		s += " (" + e.SQLState + ")"
	}
	if e.advice != "" {
		s += "; " + e.advice
	}
	return s
}

// Unwrap gives the cause. It may name more than Error does: print Error.
func (e *Error) Unwrap() error { return e.err }

// MapError says why a connection could not be had.
func (t *Target) MapError(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	e := &Error{target: t.String(), err: err}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		e.fromServer(server)
	} else {
		e.fromNetwork(err)
	}
	return e
}

func (e *Error) fromServer(server *pgconn.PgError) {
	e.SQLState, e.reason = server.Code, server.Message
	switch {
	case server.Code == "28P01":
		e.Class, e.advice = Auth, "give the password in PGPASSWORD or ~/.pgpass"
	case strings.HasPrefix(server.Code, "28"):
		e.Class, e.advice = Auth, "see the server's pg_hba.conf"
	case server.Code == "3D000":
		e.Class, e.advice = Database, "create it, or name another in the URL"
	case server.Code == "53300":
		e.Class, e.advice = Full, "raise the server's max_connections"
	case strings.HasPrefix(server.Code, "57P"):
		e.Class, e.advice = Starting, "try again later"
	}
}

func (e *Error) fromNetwork(err error) {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		op          *net.OpError
	)
	switch {
	case errors.Is(err, context.Canceled):
		e.Class, e.reason = Interrupted, "interrupted"
	case errors.As(err, &dns):
		e.Class, e.reason = Unreachable, fmt.Sprintf("the name %s does not resolve", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Class, e.reason, e.advice = Unreachable, "connection refused", "is a server listening there?"
	case errors.Is(err, syscall.ENOENT):
		e.Class, e.reason, e.advice = Unreachable, "no such socket", "is a server running, with its socket in that folder?"
	case errors.Is(err, syscall.EMFILE):
		e.reason, e.advice = "too many open files", "raise ulimit -n"
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		e.Class, e.reason = Timeout, "no answer in time"
	case errors.As(err, &certificate), errors.As(err, &authority):
		e.Class, e.reason = TLS, "the server's certificate is not trusted: "+last(err).Error()
		e.advice = "name its CA in the URL as sslrootcert=FILE, or give sslmode=require, which takes any certificate"
	case errors.As(err, &record), strings.Contains(err.Error(), "server refused TLS connection"):
		e.Class, e.reason, e.advice = TLS, "the server does not speak TLS", "switch it on there, or give sslmode=disable or prefer in the URL to connect without"
	case errors.As(err, &op):
		e.Class, e.reason = Unreachable, op.Err.Error()
	default:
		e.reason = last(err).Error()
	}
}

// last is the innermost cause; of several attempts that of the last.
func last(err error) error {
	for {
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			all := joined.Unwrap()
			err = all[len(all)-1]
			continue
		}
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
