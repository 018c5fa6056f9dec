package replay

import (
	"strings"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// knowledge is what the reader knows of an entry's SQL.
type knowledge struct {
	access     sqltext.Access
	danger     string // see sqltext.Danger
	code       bool   // the text may hold code in its literals, which an entry has not
	structural bool   // other statements rest on it
	prefatory  bool   // opens or sets up a transaction, and sees no data
	undoes     bool   // rolls back
	foreign    bool   // declares types the server's user made
}

func know(e *trace.Entry) *knowledge {
	sql := e.SQL()
	k := &knowledge{
		access: sqltext.AccessOf([]byte(sql)), danger: sqltext.Danger([]byte(sql)),
		structural: filter.Structural(sql), foreign: declaresForeign(e),
	}
	first, rest := keyword(sql)
	switch first {
	case "BEGIN", "START", "SET", "SAVEPOINT":
		k.prefatory = !multiple(sql)
	case "ROLLBACK", "ABORT":
		second, _ := keyword(rest)
		k.undoes = second != "TO" && second != "PREPARED" && !multiple(sql)
	}
	k.code = first == "DO" || first == "CREATE" || multiple(sql)
	return k
}

// peril names the danger of a statement that was sent as these messages.
func (k *knowledge) peril(messages []byte) string {
	if k.danger == "" && k.code {
		return sqltext.Danger(sqlOf(messages))
	}
	return k.danger
}

// know is what is known of an entry.
func (src *source) know(e *trace.Entry) *knowledge {
	k, ok := src.known[e]
	if !ok {
		if len(src.known) >= maxEpoch {
			clear(src.known)
		}
		k = know(e)
		src.known[e] = k
	}
	return k
}

// multiple tells whether a text holds more than one statement.
func multiple(sql string) bool {
	return strings.Contains(strings.TrimRight(sql, "; \t\r\n\f\v"), ";")
}
