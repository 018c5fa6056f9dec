package fingerprint

import (
	"slices"
	"strings"
)

// Tables are the tables that a text names where a statement reads, writes,
// defines or locks one: after FROM, JOIN, INTO, UPDATE, TABLE and their like,
// in the order of the text, each once. Names are as written, without quotes and
// blanks, unquoted ones in lower case: "public.orders". Names that WITH defines
// are none, functions are none, and views cannot be told from tables.
func Tables(sql string) []string {
	f := finder{frames: []clause{{}}, ctes: map[string]bool{}}
	for t := range tokens(sql) {
		f.take(t)
	}
	f.named()
	return f.tables
}

// finder walks the tokens of a text.
type finder struct {
	frames []clause // open brackets; the outermost is the text itself
	name   []string // the parts of the name being read
	dotted bool     // the last token was a dot in it
	quoted bool     // the last token was quoted
	before [2]string
	ctes   map[string]bool
	tables []string
}

// clause is where in a statement a bracket's content stands.
type clause struct {
	verb    string // first word of the statement
	with    bool   // between WITH and what it is for: names are defined here
	want    want
	list    bool // a comma brings another table
	listed  want
	notFrom bool // the bracket of extract(… from …) and its like
	using   bool // USING brings tables: delete, merge
}

// want says whether a table is expected next.
type want byte

const (
	nothing want = iota
	table        // a name
	source       // a name, a function or a bracket: FROM and JOIN
)

func (f *finder) top() *clause { return &f.frames[len(f.frames)-1] }

func (f *finder) take(t token) {
	c := f.top()
	if len(f.name) > 0 && f.continues(t) {
		return
	}
	if len(f.name) > 0 {
		if t.text == "(" && c.want == source { // a function
			f.name = f.name[:0]
			c.want = nothing
		} else {
			f.named()
		}
	}
	switch {
	case t.text == "(" && t.kind == punct:
		f.open()
	case t.text == ")" && t.kind == punct:
		if len(f.frames) > 1 {
			f.frames = f.frames[:len(f.frames)-1]
		}
		f.closed(f.top())
	case t.text == ";" && t.kind == punct:
		f.frames = append(f.frames[:0], clause{})
		clear(f.ctes)
	case t.text == "," && t.kind == punct:
		if c.want = nothing; c.list {
			c.want = c.listed
		}
	case t.kind == quoted && c.want != nothing:
		f.name, f.quoted = append(f.name, unquoted(t.text)), true
	case t.kind == word:
		f.word(c, t.text)
	case t.kind == quoted && c.with && c.verb == "with":
		f.ctes[unquoted(t.text)] = true
	default:
		c.want = nothing
	}
	f.before[0], f.before[1] = f.before[1], t.text
}

// continues takes a dot and what follows it.
func (f *finder) continues(t token) bool {
	switch {
	case t.kind == quoted && t.glued && f.quoted: // "a""b" is one name
		f.name[len(f.name)-1] += `"` + unquoted(t.text)
	case f.dotted && (t.kind == word || t.kind == quoted):
		f.name = append(f.name, unquoted(t.text))
		f.dotted = false
	case t.text == "." && !f.dotted:
		f.dotted = true
	default:
		return false
	}
	f.quoted = t.kind == quoted
	return true
}

// named ends the name being read.
func (f *finder) named() {
	if len(f.name) == 0 {
		return
	}
	name := strings.Join(f.name, ".")
	if (len(f.name) > 1 || !f.ctes[name]) && !slices.Contains(f.tables, name) {
		f.tables = append(f.tables, name)
	}
	f.name, f.dotted = f.name[:0], false
	f.top().want = nothing
}

func (f *finder) open() {
	c := f.top()
	inner := clause{}
	if c.want == source { // from (a join b …), or a subquery
		inner = clause{verb: c.verb, want: source}
	}
	inner.notFrom = takesFrom[f.before[1]]
	c.want = nothing
	f.frames = append(f.frames, inner)
}

// closed: after the options of VACUUM (…) its table is still to come.
func (f *finder) closed(c *clause) {
	if c.want = nothing; c.verb == "vacuum" || c.verb == "analyze" {
		c.want = table
	}
}

// takesFrom are the functions whose arguments are written with FROM.
var takesFrom = set("extract substring trim overlay position")

// word takes a keyword, or a name where one is wanted.
func (f *finder) word(c *clause, w string) {
	if c.want != nothing {
		switch {
		case passed[w]:
			return
		case w == "select" || w == "values" || w == "with":
			c.want, c.verb = nothing, "" // a subquery
		case !reserved[w]:
			f.name, f.quoted = append(f.name, w), false
			return
		default:
			c.want = nothing
		}
	}
	if c.with && c.verb == "with" && !mainVerbs[w] {
		if w != "recursive" && w != "as" && w != "not" && w != "materialized" {
			f.ctes[w] = true
		}
		return
	}
	if c.verb == "" || (c.verb == "explain" || c.verb == "prepare") && mainVerbs[w] || c.with && mainVerbs[w] {
		f.begin(c, w)
		return
	}
	f.within(c, w)
}

// begin takes the first word of a statement.
func (f *finder) begin(c *clause, w string) {
	*c = clause{verb: w, with: w == "with", notFrom: c.notFrom, using: w == "delete" || w == "merge"}
	outermost := len(f.frames) == 1
	switch w {
	case "update", "table":
		c.expect(table, false)
	case "copy", "cluster": // names, inside of brackets
		if outermost {
			c.expect(table, false)
		}
	case "truncate", "lock", "vacuum", "analyze":
		if outermost {
			c.expect(table, true)
		}
	}
}

func (c *clause) expect(w want, list bool) { c.want, c.list, c.listed = w, list, w }

// within takes a word inside of a statement.
func (f *finder) within(c *clause, w string) {
	p, pp := f.before[1], f.before[0]
	switch w {
	case "from":
		if !c.notFrom && c.verb != "copy" && c.verb != "revoke" && !(p == "distinct" && (pp == "is" || pp == "not")) {
			c.expect(source, true)
		}
	case "join":
		c.want = source
	case "using":
		if c.using {
			c.expect(source, true)
		}
	case "into", "references":
		c.expect(table, false)
	case "table", "view":
		c.expect(table, c.verb == "drop" || c.verb == "grant" || c.verb == "revoke")
	case "on":
		if c.verb == "create" || c.verb == "grant" || c.verb == "revoke" {
			c.expect(table, c.verb != "create")
		}
	default:
		if endsList[w] {
			c.list = false
		}
	}
}

func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return strings.TrimPrefix(s, `"`)
}

var (
	mainVerbs = set("select insert update delete merge values table copy create")
	// passed are words that may stand between a keyword and its table.
	passed = set(`only table if not exists concurrently lateral temp temporary unlogged local global verbose
		full freeze analyze recursive materialized`)
	// reserved words are never a table's name.
	reserved = set(`set where group order having limit offset union intersect except window returning on of
		stdin stdout skip nowait all rows when then as select values default and or from join inner left right
		full cross natural using for to with do nothing schema sequence database function procedure language
		tablespace foreign large domain type sequences tables functions column insert update delete`)
	endsList = set("where group order having limit offset fetch for union intersect except window set returning values when")
)
