package sim

import (
	"strconv"
	"strings"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// asks tells whether a statement is about the server and not about data. Such
// statements are answered at once, and are no part of what is drawn and
// counted: clients and replays ask them on their own account.
func asks(tokens []token) bool {
	if tokens[0].text == "show" {
		return true
	}
	if tokens[0].text != "select" && tokens[0].text != "with" {
		return false
	}
	for _, t := range tokens {
		if t.kind != sqltext.Word {
			continue
		}
		if t.text == "current_setting" || t.text == "information_schema" || strings.HasPrefix(t.text, "pg_") && t.text != "pg_sleep" {
			return true
		}
	}
	return false
}

// limits is the name of the question for version and free connections, which a
// replay asks before it begins.
const limits = "limits"

// question names the setting that is asked for, "" for what has no rows.
func question(tokens []token) string {
	if tokens[0].text == "show" {
		p := &parser{rest: tokens[1:]}
		name, _ := p.table()
		return name
	}
	for _, t := range tokens {
		if t.text == "'max_connections'" {
			return limits
		}
	}
	return ""
}

// replyTo answers a question: with a setting, with the limits, or with no rows.
func (s *Server) replyTo(st *Statement) (columns []string, rows [][]value) {
	switch {
	case st.name == limits:
		free := s.o.MaxConnections - s.open()
		if s.o.MaxConnections == 0 {
			free = 1 << 20
		}
		return []string{"current_setting", "?column?"}, [][]value{{{text: version}, {text: strconv.Itoa(max(free, 0))}}}
	case st.name != "":
		return []string{st.name}, [][]value{{{text: s.setting(st.name)}}}
	}
	return []string{"?column?"}, nil
}

// version is what the server says it is.
const version = "15.0 (retrace sim)"

// settings are reported at login and by SHOW; another one is shown empty.
var settings = [][2]string{
	{"server_version", version},
	{"server_encoding", "UTF8"},
	{"client_encoding", "UTF8"},
	{"DateStyle", "ISO, MDY"},
	{"IntervalStyle", "postgres"},
	{"TimeZone", "UTC"},
	{"integer_datetimes", "on"},
	{"standard_conforming_strings", "on"},
	{"default_transaction_read_only", "off"},
	{"in_hot_standby", "off"},
}

func (s *Server) setting(name string) string {
	if name == "max_connections" {
		return strconv.Itoa(s.o.MaxConnections)
	}
	for _, of := range settings {
		if strings.EqualFold(of[0], name) {
			return of[1]
		}
	}
	return ""
}
