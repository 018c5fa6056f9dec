package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// match names the statements a rule is for: those whose text holds it, in any
// case of letters. The empty one is for all.
type match string

func (m match) holds(lower string) bool { return strings.Contains(lower, string(m)) }

// prefix is the match as it is written before a rule.
func (m match) prefix() string {
	if m == "" {
		return ""
	}
	return "text:" + strconv.Quote(string(m)) + ":"
}

// cutMatch reads text:"update": or text:update: off the front of a rule.
func cutMatch(rule string) (match, string, error) {
	rest, ok := strings.CutPrefix(rule, "text:")
	if !ok {
		return "", rule, nil
	}
	var text string
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		if text, err = strconv.Unquote(quoted); err != nil {
			return "", "", fmt.Errorf("%q: %w", rule, err)
		}
		rest = rest[len(quoted):]
	} else {
		end := strings.IndexByte(rest, ':')
		if end < 0 {
			end = len(rest)
		}
		text, rest = rest[:end], rest[end:]
	}
	rest, ok = strings.CutPrefix(rest, ":")
	if !ok || text == "" {
		return "", "", fmt.Errorf(`%q: write text:"update": and then the rule`, rule)
	}
	return match(strings.ToLower(text)), rest, nil
}

// Latency says how long some statements take.
type Latency struct {
	match match
	D     Distribution
}

// UnmarshalText reads [text:"WORDS":]DISTRIBUTION.
func (l *Latency) UnmarshalText(b []byte) error {
	m, rest, err := cutMatch(string(b))
	if err != nil {
		return err
	}
	l.match = m
	l.D, err = ParseDistribution(rest)
	return err
}

// Match is what the texts of the rule's statements hold, "" for all.
func (l Latency) Match() string { return string(l.match) }

func (l Latency) String() string { return l.match.prefix() + l.D.String() }

// Fault says which share of some statements fails, and how.
type Fault struct {
	match match
	Code  string // SQLSTATE
	Share float64
}

// UnmarshalText reads [text:"WORDS":]SQLSTATE:SHARE%.
func (f *Fault) UnmarshalText(b []byte) error {
	m, rest, err := cutMatch(string(b))
	if err != nil {
		return err
	}
	code, share, _ := strings.Cut(rest, ":")
	if !isSQLState(code) {
		return fmt.Errorf("%q: %q is not a SQLSTATE such as 40001", b, code)
	}
	f.match, f.Code = m, code
	if f.Share, err = parseShare(share); err != nil {
		return fmt.Errorf("%q: %w", b, err)
	}
	return nil
}

// Match is what the texts of the rule's statements hold, "" for all.
func (f Fault) Match() string { return string(f.match) }

func (f Fault) String() string {
	return fmt.Sprintf("%s%s:%g%%", f.match.prefix(), f.Code, f.Share*100)
}

// isSQLState tells whether a code is one an error can have.
func isSQLState(code string) bool {
	if len(code) != 5 || strings.HasPrefix(code, "00") {
		return false
	}
	for _, c := range []byte(code) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
