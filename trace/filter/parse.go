package filter

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retrace-db/retrace/trace"
)

// Parse reads a filter; see the package for the language. An error names the
// place and what could stand there.
func Parse(text string) (*Filter, error) {
	p := parser{text: text}
	f := &Filter{}
	for p.blank(); p.at < len(text); p.blank() {
		w, err := p.word()
		if err != nil {
			return nil, fmt.Errorf("filter %s, character %d: %w", shortened(text), 1+utf8.RuneCountInString(text[:p.begun]), err)
		}
		if w.ofEntry != nil && f.byEntry == nil {
			f.byEntry = map[*trace.Entry]bool{}
		}
		f.words = append(f.words, *w)
	}
	if len(f.words) == 0 {
		return nil, errors.New("filter is empty: it would match everything")
	}
	return f, nil
}

// shortened quotes a filter for an error.
func shortened(text string) string {
	const most = 200
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

type parser struct {
	text  string
	at    int
	begun int // where what is being read began, for errors
}

func (p *parser) blank() {
	for p.at < len(p.text) && strings.IndexByte(blanks, p.text[p.at]) >= 0 {
		p.at++
	}
}

// word reads -key:value,value or -key>value.
func (p *parser) word() (*word, error) {
	p.begun = p.at
	w := &word{}
	if p.text[p.at] == '-' {
		w.negated = true
		p.at++
	}
	name, sign := p.name()
	w.key = keyNamed(name)
	switch {
	case sign == "" && name != "" && w.key == nil:
		return nil, fmt.Errorf("%q has no key: text:%s looks for it in the SQL; %s", name, name, keyList)
	case w.key == nil:
		return nil, fmt.Errorf("there is no key %q; %s", name, keyList)
	case sign == "" || (w.key.quantity != nil) == (sign == ":"):
		return nil, fmt.Errorf("%s is written %s", name, w.key.example)
	}
	if w.key.quantity != nil {
		return w, p.quantity(w, sign)
	}
	if err := p.values(w); err != nil {
		return nil, err
	}
	w.compile()
	return w, nil
}

// name reads up to the sign behind it.
func (p *parser) name() (name, sign string) {
	rest := p.text[p.at:]
	n := strings.IndexAny(rest, blanks+":<>=")
	if n < 0 {
		n = len(rest)
	}
	name = rest[:n]
	p.at += n
	for _, s := range signs {
		if strings.HasPrefix(rest[n:], s) {
			p.at += len(s)
			return name, s
		}
	}
	return name, ""
}

var signs = []string{":", ">=", "<=", ">", "<", "="}

func (p *parser) quantity(w *word, sign string) error {
	p.begun = p.at
	rest := p.text[p.at:]
	n := strings.IndexAny(rest, blanks)
	if n < 0 {
		n = len(rest)
	}
	than, err := w.key.quantity.read(rest[:n])
	if err != nil {
		return fmt.Errorf("%s%s%s: %w; it is written %s", w.key.name, sign, rest[:n], err, w.key.example)
	}
	p.at += n
	w.compare = comparison{sign, than}
	of, compare := w.key.quantity.of, w.compare
	w.ofEvent = func(e *trace.Event, _ *trace.State) bool {
		return e.HasReply && (e.Status == trace.OK || e.Status == trace.Error) && compare.holds(of(e))
	}
	return nil
}

// values reads the values of a word, and what the key says about each.
func (p *parser) values(w *word) error {
	for {
		p.begun = p.at
		v, err := p.value()
		if err != nil {
			return err
		}
		if v == nil {
			return fmt.Errorf("a value of %s: is missing; \"\" is the empty one", w.key.name)
		}
		if w.key.check != nil {
			if err := w.key.check(v); err != nil {
				return fmt.Errorf("%s: %w", w.key.name, err)
			}
		}
		w.values = append(w.values, v)
		if p.at == len(p.text) || p.text[p.at] != ',' {
			return nil
		}
		p.at++
	}
}

// value reads one value, nil if there is none.
func (p *parser) value() (pattern, error) {
	var v pattern
	var piece strings.Builder
	some := false
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == ',' || strings.IndexByte(blanks, c) >= 0:
			return p.ended(v, &piece, some), nil
		case c == '*':
			v = append(v, piece.String())
			piece.Reset()
		case c == '"':
			if err := p.quoted(&piece); err != nil {
				return nil, err
			}
		default:
			piece.WriteByte(c)
		}
		p.at++
		some = true
	}
	return p.ended(v, &piece, some), nil
}

func (p *parser) ended(v pattern, piece *strings.Builder, some bool) pattern {
	if !some {
		return nil
	}
	return append(v, piece.String())
}

// quoted reads up to the closing quote and stays on it.
func (p *parser) quoted(piece *strings.Builder) error {
	opened := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case c == '"':
			return nil
		case c == '\\' && p.at+1 < len(p.text) && (p.text[p.at+1] == '"' || p.text[p.at+1] == '\\'):
			p.at++
			c = p.text[p.at]
		}
		piece.WriteByte(c)
	}
	p.begun = opened
	return errors.New("a quote begins here and does not end")
}
