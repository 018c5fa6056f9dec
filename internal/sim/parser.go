package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// parser goes through the tokens of one statement.
type parser struct {
	rest   []token
	params []uint32 // types, filled where a cast tells
}

func (p *parser) take() token {
	if len(p.rest) == 0 {
		return token{}
	}
	t := p.rest[0]
	p.rest = p.rest[1:]
	return t
}

// word takes the next token if it is this word or character.
func (p *parser) word(w string) bool {
	if len(p.rest) == 0 || p.rest[0].text != w || p.rest[0].kind == sqltext.Quoted || p.rest[0].kind == sqltext.String {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// words takes all of them or none.
func (p *parser) words(all ...string) bool {
	before := p.rest
	for _, w := range all {
		if !p.word(w) {
			p.rest = before
			return false
		}
	}
	return true
}

// any takes the next token if it is one of these.
func (p *parser) any(options ...string) {
	for _, o := range options {
		if p.word(o) {
			return
		}
	}
}

func (p *parser) has(w string) bool {
	return slices.ContainsFunc(p.rest, func(t token) bool { return t.kind == sqltext.Word && t.text == w })
}

// column takes a plain name.
func (p *parser) column() (string, bool) {
	if len(p.rest) == 0 || p.rest[0].kind != sqltext.Word && p.rest[0].kind != sqltext.Quoted {
		return "", false
	}
	return p.take().text, true
}

// table takes a name that may have a schema before it.
func (p *parser) table() (string, bool) {
	name, ok := p.column()
	for ok && p.word(".") {
		var more string
		more, ok = p.column()
		name += "." + more
	}
	return name, ok
}

// columns takes (name, …).
func (p *parser) columns() ([]string, bool) {
	if !p.word("(") {
		return nil, false
	}
	var all []string
	for {
		name, ok := p.column()
		if !ok {
			return nil, false
		}
		all = append(all, name)
		if p.word(")") {
			return all, true
		}
		if !p.word(",") {
			return nil, false
		}
	}
}

// operand takes a value and its cast.
func (p *parser) operand() (operand, bool) {
	o, ok := constantOf(p.take())
	if ok && p.words(":", ":") {
		name, named := p.column()
		o.oid, ok = types[name], named && types[name] != 0
	}
	if ok && o.param > 0 && o.oid != 0 {
		p.params[o.param-1] = o.oid
	}
	return o, ok
}

var types = map[string]uint32{
	"int2": pgtype.Int2OID, "smallint": pgtype.Int2OID, "int": pgtype.Int4OID, "int4": pgtype.Int4OID, "integer": pgtype.Int4OID,
	"int8": pgtype.Int8OID, "bigint": pgtype.Int8OID, "text": pgtype.TextOID, "varchar": pgtype.VarcharOID,
}

func constantOf(t token) (operand, bool) {
	switch t.kind {
	case sqltext.Param:
		n, err := strconv.Atoi(t.text[1:])
		return operand{param: n}, err == nil && n >= 1 && n <= maxParams
	case sqltext.Number:
		n, err := strconv.ParseInt(t.text, 10, 64)
		switch {
		case err != nil:
			return operand{value: value{text: t.text}, oid: pgtype.TextOID}, true
		case n >= math.MinInt32 && n <= math.MaxInt32:
			return operand{value: value{text: strconv.FormatInt(n, 10)}, oid: pgtype.Int4OID}, true
		}
		return operand{value: value{text: strconv.FormatInt(n, 10)}, oid: pgtype.Int8OID}, true
	case sqltext.String:
		if inside, ok := strings.CutPrefix(t.text, "'"); ok && strings.HasSuffix(inside, "'") {
			return operand{value: value{text: strings.ReplaceAll(inside[:len(inside)-1], "''", "'")}, oid: pgtype.TextOID}, true
		}
	case sqltext.Word:
		return operand{value: value{null: true}, oid: pgtype.TextOID}, t.text == "null"
	}
	return operand{}, false
}

// literals takes a list of values that is all there is.
func (p *parser) literals() []operand {
	var all []operand
	for {
		o, ok := p.operand()
		if !ok {
			return nil
		}
		all = append(all, o)
		if len(p.rest) == 0 {
			return all
		}
		if !p.word(",") {
			return nil
		}
	}
}
