package fingerprint

import (
	"strings"
)

// fold normalises SQL so that statements that differ only in their values
// become one text:
//
//   - numbers, strings and parameters, with their sign, become ?
//   - comments go, blanks become one rule, unquoted names lower case;
//     quoted names stay as they are: "T" is not t
//   - IN lists and ARRAY[] of literals become (...) and [...], whatever their length
//   - rows of VALUES that are alike become one; NULL, DEFAULT and casts inside are literals
//   - TRUE, FALSE and NULL elsewhere stay: they are part of the question
//
// $1 and $2 become the same ?, so texts that differ only in their order are one.
func fold(sql string) string {
	f := folder{scan: newScanner(sql)}
	f.frames = append(f.frames, frame{open: -1})
	for len(f.out) < maxTokens {
		t := f.scan.next(f.operandBefore(len(f.out)))
		if t.kind == end {
			return readable(render(f.finished()))
		}
		f.add(t)
	}
	return readable(render(f.out)) + " …"
}

// maxTokens bounds what one text can cost. A longer one is known by its first
// tokens; lists and rows of literals are folded before they count.
const maxTokens = 1 << 16

type folder struct {
	scan   *scanner
	out    []token
	frames []frame // open brackets, the outermost is the text itself
}

type frame struct {
	open     int  // index in out of the bracket
	list     bool // IN (…) or ARRAY[…]: how many elements does not matter
	row      bool // a row of VALUES
	elem     int  // index in out where the current element begins
	varying  bool // an element was not a literal
	one      bool // a list has shown one literal already
	rows     map[string]bool
	afterRow bool // the last thing in here was a row of VALUES, and rows holds what it said
}

func (f *folder) top() *frame { return &f.frames[len(f.frames)-1] }

func (f *folder) push(t token) { f.out = append(f.out, t) }

func (f *folder) add(t token) {
	switch {
	case t.kind == literal:
		f.literal(t)
	case t.text == "(" || t.text == "[":
		f.open(t)
	case t.text == ")" || t.text == "]":
		f.close(t)
	case t.text == ",":
		f.comma(t)
	case t.text == ";":
		f.top().afterRow = false
		if len(f.out) > 0 && f.out[len(f.out)-1].text != ";" {
			f.push(t)
		}
	default:
		f.top().afterRow = f.top().afterRow && t.kind != word
		f.push(t)
	}
}

// finished drops what ends a text without saying anything.
func (f *folder) finished() []token {
	out := f.out
	for len(out) > 0 && out[len(out)-1].text == ";" {
		out = out[:len(out)-1]
	}
	return out
}

// literal folds the sign into the literal, and the pieces of a string that the
// standard lets one write on several lines into one.
func (f *folder) literal(t token) {
	for f.signBefore() {
		f.out = f.out[:len(f.out)-1]
	}
	if n := len(f.out); n > 0 && f.out[n-1].kind == literal {
		return
	}
	f.push(t)
}

func (f *folder) signBefore() bool {
	n := len(f.out) - 1
	if n < 0 || f.out[n].kind != operator || f.out[n].text != "-" && f.out[n].text != "+" {
		return false
	}
	return !f.operandBefore(n)
}

// operandBefore tells whether the token before index n can be the left side of
// an operator. A - after anything else is a sign.
func (f *folder) operandBefore(n int) bool { return n > 0 && f.out[n-1].operand() }

// operand tells whether an operator can follow.
func (t token) operand() bool {
	switch t.kind {
	case literal, quoted, group:
		return true
	case word:
		return !beforeOperand[t.text]
	case punct:
		return t.text == ")" || t.text == "]"
	default:
		return false
	}
}

func (f *folder) previous() string {
	if n := len(f.out); n > 0 && f.out[n-1].kind == word {
		return f.out[n-1].text
	}
	return ""
}

func (f *folder) open(t token) {
	parent := f.top()
	prev := f.previous()
	n := frame{open: len(f.out), elem: len(f.out) + 1}
	if t.text == "(" {
		n.list = prev == "in"
		n.row = prev == "values" || f.nextRow(parent)
		if prev == "values" {
			parent.rows = map[string]bool{}
		}
	} else {
		n.list = prev == "array" || parent.list && len(f.out) == parent.elem
	}
	f.push(t)
	f.frames = append(f.frames, n)
}

// nextRow: after "VALUES (…)," a bracket is a further row.
func (f *folder) nextRow(parent *frame) bool {
	return parent.afterRow && f.out[len(f.out)-1].text == ","
}

func (f *folder) comma(t token) {
	f.element()
	f.push(t)
	f.top().elem = len(f.out)
}

// element looks at the element that ends here.
func (f *folder) element() {
	e := f.top()
	if e.open < 0 {
		return
	}
	constant := f.constant(e.elem, e.row || e.list)
	if !constant {
		e.varying = true
		return
	}
	if e.row || e.list {
		f.out = append(f.out[:e.elem], token{kind: literal, text: "?"})
	}
	if e.list && e.one { // the length of a list of literals does not matter
		f.out = f.out[:e.elem-1] // with the comma before it
	}
	e.one = true
}

func (f *folder) close(t token) {
	if len(f.frames) == 1 { // no bracket is open
		f.push(t)
		return
	}
	e := f.top()
	empty := len(f.out) == e.open+1
	if !empty {
		f.element()
	}
	open, row, list, constant := e.open, e.row, e.list, !e.varying && !empty
	f.frames = f.frames[:len(f.frames)-1]
	bracket := f.out[open].text
	switch {
	case constant && list:
		f.out = append(f.out[:open], token{kind: group, text: bracket + "..." + t.text})
	case constant:
		f.out = append(f.out[:open], token{kind: group, text: bracket + render(f.out[open+1:]) + t.text})
	default:
		f.push(t)
	}
	if row {
		f.rowEnded(open)
	}
}

// rowEnded drops a row of VALUES that says what an earlier one said.
func (f *folder) rowEnded(open int) {
	parent := f.top()
	text := render(f.out[open:])
	if parent.rows[text] && f.out[open-1].text == "," {
		f.out = f.out[:open-1]
		parent.elem = min(parent.elem, len(f.out))
	}
	if parent.rows != nil {
		parent.rows[text] = true
	}
	parent.afterRow = true
}

// constant tells whether the tokens from index i are one literal, with its
// casts. NULL and the like count as literals only inside lists.
func (f *folder) constant(i int, inList bool) bool {
	e := f.out[i:]
	if len(e) > 1 && e[0].kind == word && (e[1].kind == literal && typed[e[0].text] || e[1].kind == group && (e[0].text == "array" || e[0].text == "row")) {
		e = e[1:] // date '…', ARRAY[…]
	}
	if len(e) == 0 {
		return false
	}
	if e[0].kind != literal && e[0].kind != group && !(inList && e[0].kind == word && constants[e[0].text]) {
		return false
	}
	if len(e) > 1 && (!inList || e[1].text != "::") {
		return false
	}
	for _, t := range e[1:] {
		if t.text != "::" && t.text != "." && t.text != "[" && t.text != "]" && t.kind != word && t.kind != quoted && t.kind != group {
			return false
		}
	}
	return true
}

var (
	constants = set("null default true false")
	typed     = set("date time timestamp timestamptz timetz interval")

	// Words after which a + or - is a sign, and ? or : a parameter.
	beforeOperand = set(`all and any as asc between by case check collate cross default desc distinct do
		else elseif escape except execute exists fetch filter for from full group having ilike in inner intersect
		into is isnull join left like limit natural not notnull offset on only or order outer over partition
		perform return returning right rows select set similar some table then to union until using values when
		where while window with`)

	// Words that keep a blank before a bracket: they call nothing.
	beforeBracket = set(`all and any as between by case check cross distinct else except exists from full having
		ilike in inner intersect is join left like limit not offset on or over outer returning right select set
		some then union update using values when where with delete insert key references primary unique
		constraint partition filter lateral materialized within group`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// render writes tokens with one rule for blanks.
func render(tokens []token) string {
	n := 0
	for _, t := range tokens {
		n += len(t.text) + 1
	}
	var b strings.Builder
	b.Grow(n)
	for i, t := range tokens {
		if i > 0 && blank(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

func blank(before, t token) bool {
	switch t.text {
	case ",", ")", "]", ";", ".", "::", ":":
		return false
	}
	switch before.text {
	case "(", "[", ".", "::", ":":
		return false
	}
	switch t.text[0] {
	case '[':
		return false
	case '(':
		return before.kind != word && before.kind != quoted || beforeBracket[before.text]
	}
	return !(t.kind == quoted && before.kind == quoted && t.glued) // "a""b" is one name
}
