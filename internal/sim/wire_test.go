package sim

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

var (
	bindUnnamed = &pgproto3.Bind{}
	execute3    = &pgproto3.Execute{MaxRows: 3}
	syncMessage = &pgproto3.Sync{}
)

// shortName is what a message from the server is, in a few letters.
func shortName(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.CommandComplete:
		return "C"
	case *pgproto3.DataRow:
		return "D"
	case *pgproto3.PortalSuspended:
		return "s"
	case *pgproto3.EmptyQueryResponse:
		return "I"
	case *pgproto3.RowDescription:
		return "T"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.ParameterDescription:
		return "t"
	case *pgproto3.ReadyForQuery:
		return "Z"
	case *pgproto3.ErrorResponse:
		return "E" + m.Code
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}
