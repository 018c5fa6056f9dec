package sim

import (
	"strconv"
	"strings"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// kind of a statement, by what is done about it.
type kind byte

const (
	other kind = iota // answered by its tag, and rows if it reads
	empty
	begin
	commit
	rollback
	rollbackTo
	savepoint
	release
	deallocate
	discard
	refused // what is not to be had: COPY
	keyed   // reads or writes by a key
	literal // a SELECT of nothing but literals and parameters
	asked   // about the server itself
)

// Statement is one SQL statement as far as it is understood. That is
//
//	SELECT column, … FROM table WHERE key = value [FOR …] [LIMIT …]
//	INSERT INTO table (key, column, …) VALUES (value, …)
//	    [ON CONFLICT [(key)] DO NOTHING | DO UPDATE SET column = excluded.column, …]
//	UPDATE table SET column = value | column = column ± value, … WHERE key = value
//	DELETE FROM table WHERE key = value
//	SELECT value, …
//
// where a value is a number, a '…' string, or a parameter, with or without a
// cast; the statements of transactions; DEALLOCATE and DISCARD; and questions
// about the server: SHOW, current_setting, pg_… and information_schema tables.
// COPY is refused. Any other statement succeeds: with Options.Rows rows of one
// column if it reads or returns, with Options.Rows rows affected if it writes.
type Statement struct {
	text    string
	kind    kind
	tag     string // of a CommandComplete, without a count
	rows    bool   // returns rows
	counted bool   // its tag has a count
	name    string // of a savepoint, a prepared statement, a setting; "" is all
	access  *access
	values  []operand // of a literal SELECT
	params  []uint32  // types as far as the text tells, 0 where not
}

// operand is a value in a statement.
type operand struct {
	param int // from 1; 0 for a literal
	value value
	oid   uint32 // by its cast or its kind
}

// value is what is stored: text, or NULL.
type value struct {
	text string
	null bool
}

// parse understands the statements of a text.
func parse(sql string) []*Statement {
	var all []*Statement
	for _, tokens := range split(sql) {
		all = append(all, understand(tokens))
	}
	if len(all) == 0 {
		return []*Statement{{kind: empty, text: sql}}
	}
	if len(all) == 1 {
		all[0].text = sql
	}
	return all
}

// token is a word in lower case, or a piece of the text as it is.
type token struct {
	kind sqltext.Kind
	text string
}

// split cuts a text into statements, empty ones left out.
func split(sql string) [][]token {
	src := []byte(sql)
	var s sqltext.Scanner
	s.Reset(src)
	var all [][]token
	var open []token
	for {
		t := s.Next()
		switch t.Kind {
		case sqltext.Comment:
			continue
		case sqltext.EOF, sqltext.End:
			if len(open) > 0 {
				all = append(all, open)
			}
			if t.Kind == sqltext.EOF {
				return all
			}
			open = nil
			continue
		}
		piece := src[t.Start:t.End]
		text := string(piece)
		if t.Kind == sqltext.Word || t.Kind == sqltext.Quoted && piece[0] == '"' {
			text = sqltext.Name(piece)
		}
		open = append(open, token{t.Kind, text})
	}
}

func understand(tokens []token) *Statement {
	s := &Statement{params: make([]uint32, params(tokens))}
	p := &parser{rest: tokens, params: s.params}
	if asks(tokens) {
		s.kind, s.tag, s.rows, s.counted = asked, "SELECT", true, true
		s.name = question(tokens)
		return s
	}
	first := p.take()
	if !s.control(first.text, p) {
		s.data(first.text, p)
	}
	return s
}

// maxParams is the protocol's own bound.
const maxParams = 65535

func params(tokens []token) int {
	most := 0
	for _, t := range tokens {
		if t.kind == sqltext.Param {
			if n, err := strconv.Atoi(t.text[1:]); err == nil && n <= maxParams {
				most = max(most, n)
			}
		}
	}
	return most
}

// control understands what begins and ends things.
func (s *Statement) control(first string, p *parser) bool {
	s.tag = strings.ToUpper(first)
	switch first {
	case "begin", "start":
		s.kind, s.tag = begin, "BEGIN"
		if first == "start" {
			s.tag = "START TRANSACTION"
		}
	case "commit", "end":
		s.kind, s.tag = commit, "COMMIT"
	case "rollback", "abort":
		s.kind, s.tag = rollback, "ROLLBACK"
		p.any("work", "transaction")
		if p.word("to") {
			p.any("savepoint")
			s.kind, s.name = rollbackTo, p.take().text
		}
	case "savepoint":
		s.kind, s.name = savepoint, p.take().text
	case "release":
		p.any("savepoint")
		s.kind, s.name = release, p.take().text
	case "deallocate":
		p.any("prepare")
		s.kind, s.name = deallocate, p.take().text
		if s.name == "all" {
			s.name, s.tag = "", "DEALLOCATE ALL"
		}
	case "discard":
		s.kind, s.tag = discard, "DISCARD "+strings.ToUpper(p.take().text)
	case "copy":
		s.kind = refused
	default:
		return false
	}
	return true
}

// data understands what reads and writes.
func (s *Statement) data(first string, p *parser) {
	switch first {
	case "select", "insert", "update", "delete":
		s.tag, s.rows, s.counted = strings.ToUpper(first), first == "select", true
		again := *p
		if first == "select" {
			if s.values = p.literals(); s.values != nil {
				s.kind = literal
				return
			}
			*p = again
		}
		if s.access = p.access(first); s.access != nil {
			s.kind = keyed
		} else {
			clear(s.params)
			s.rows = s.rows || again.has("returning")
		}
		if first == "insert" {
			s.tag = "INSERT 0"
		}
	case "merge":
		s.counted = true
	case "values", "table", "with", "fetch", "execute":
		s.rows, s.counted = true, true
		if s.tag != "FETCH" {
			s.tag = "SELECT"
		}
	case "explain":
		s.rows = true
	case "create", "alter", "drop":
		s.tag += " " + strings.ToUpper(p.take().text)
	}
}
