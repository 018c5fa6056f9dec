package sqltext

import "strings"

// Danger names what in a text could harm more than the data it was recorded
// with: other databases, the server, its files, other servers. It is empty for
// nearly every text.
func Danger(src []byte) string { return danger(src, 0) }

// maxCode bounds how deep code within code is looked into.
const maxCode = 3

// danger looks where statements begin; in code, in which they stand anywhere, at
// every word.
func danger(src []byte, depth int) string {
	a := access{src: src}
	a.Reset(src)
	code := depth > 0
	d := perils{code: code}
	for {
		t, w := a.next()
		switch t.Kind {
		case EOF:
			return ""
		case End:
			d = perils{code: code}
			continue
		case String:
			if d.holdsCode() && depth < maxCode {
				if what := danger(unquoted(src[t.Start:t.End]), depth+1); what != "" {
					return what
				}
			}
			w = "''"
		case Quoted:
			w = Name(src[t.Start:t.End])
		}
		if what := d.take(t.Kind, w); what != "" {
			return what
		}
	}
}

// perils is what was seen of a statement.
type perils struct {
	code        bool
	n           int
	first, last string
}

func (d *perils) holdsCode() bool { return d.first == "do" || d.first == "create" }

func (d *perils) take(kind Kind, w string) (what string) {
	switch {
	case w == "(" && perilous(d.last):
		return d.last + "()"
	case kind != Word && w != "''":
	case (d.n == 1 || d.code) && d.last == "alter" && w == "system",
		(d.n == 1 || d.code) && d.last == "drop" && dropped[w],
		(d.n == 1 || d.code) && w == "subscription" && (d.last == "create" || d.last == "alter"):
		return strings.ToUpper(d.last + " " + w)
	case d.first != "copy" && !d.code || d.last != "from" && d.last != "to":
	case w == "program":
		return "COPY PROGRAM"
	case w == "''" && d.first == "copy":
		return "COPY FILE"
	}
	if d.n == 0 {
		d.first = w
	}
	d.n++
	d.last = w
	return ""
}

var dropped = words("database tablespace role user group owned subscription")

// perilous tells whether a built-in function reaches beyond the database.
func perilous(name string) bool {
	if reaching[name] {
		return true
	}
	for _, prefix := range reachingPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

var reaching = words(
	`pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_promote pg_switch_wal
	pg_wal_replay_pause pg_wal_replay_resume pg_read_file pg_read_binary_file pg_stat_file lo_import lo_export
	pg_drop_replication_slot pg_start_backup pg_stop_backup pg_backup_start pg_backup_stop`,
)

var reachingPrefixes = []string{"pg_ls_", "pg_file_", "dblink"}

// unquoted is the content of a string as far as words in it matter.
func unquoted(b []byte) []byte {
	if b[0] == '$' {
		n := 1
		for n < len(b) && b[n] != '$' {
			n++
		}
		return b[min(n+1, len(b)):]
	}
	n := 0
	for n < len(b) && b[n] != '\'' {
		n++
	}
	return b[min(n+1, len(b)):]
}
