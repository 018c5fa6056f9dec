package sim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"
)

const abortedMessage = "current transaction is aborted, commands ignored until end of transaction block"

// ends tells whether a statement may end a failed transaction.
func (s *Statement) ends() bool {
	return s.kind == commit || s.kind == rollback || s.kind == rollbackTo
}

// statement lets a statement, in the meaning of Truth, take its time and meet
// its fate. answer does what it says, and returns the code of what is wrong.
func (s *session) statement(text string, all []*Statement, answer func() (code string, err error)) error {
	if !slices.ContainsFunc(all, func(st *Statement) bool { return st.kind != asked }) {
		s.server.truth.asked()
		return s.answered(all, answer)
	}
	done := served{rule: -1, start: max(s.arrived, s.free)}
	done.due = done.start
	if s.state != 'E' || all[0].ends() {
		f := s.server.fateOf(s.dice, text, all[0], done.start)
		done.rule, done.code = f.rule, f.code
		done.due = s.server.thawed(done.start, f.work)
		if code, err := s.work(done.due); err != nil {
			s.server.truth.unanswered(1)
			return err
		} else if code != "" {
			done.code = code
		}
		s.cut = f.drop
	}
	if done.code == "" {
		var err error
		if done.code, err = answer(); err != nil {
			s.server.truth.unanswered(1)
			return err
		}
	} else if all[0].kind == commit { // a COMMIT that fails is the end of it, too
		s.takeBack(0)
		s.keep()
		s.state = 'I'
	}
	if done.code != "" {
		s.fail(done.code, messages[done.code])
		s.skipping = true // up to Sync, which a Query brings itself
	}
	s.pending = append(s.pending, done)
	return nil
}

// answered is statement for what is not counted.
func (s *session) answered(all []*Statement, answer func() (string, error)) error {
	code, err := codeAborted, error(nil)
	if s.state != 'E' {
		code, err = answer()
	}
	if code != "" {
		s.fail(code, messages[code])
		s.skipping = true
	}
	return err
}

// fateOf draws what happens to a statement. A ROLLBACK never fails.
func (s *Server) fateOf(d *dice, text string, first *Statement, start int64) fate {
	s.began.CompareAndSwap(0, start)
	return s.schedule.draw(d, text, first.kind != rollback && first.kind != rollbackTo)
}

// work waits until a statement is due. What has been answered before it leaves
// first, so that each answer has a time of its own.
func (s *session) work(due int64) (code string, err error) {
	if due <= s.server.clock.Now() {
		return "", nil
	}
	if len(s.pending) > 0 {
		if err := s.flush(); err != nil {
			return "", err
		}
	}
	if s.wait(due) == nil {
		return "", nil
	}
	if s.base.Err() != nil {
		return "", errOver
	}
	return codeCancel, nil
}

// fail answers with an error.
func (s *session) fail(code, message string) {
	if message == "" {
		message = "retrace sim was told to fail this statement"
	}
	s.backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: message})
	s.abort()
}

var messages = map[string]string{
	codeAborted: abortedMessage,
	codeCancel:  "canceling statement due to user request",
	"0A000":     "retrace sim does not do this",
	"22P02":     "invalid input syntax for type bigint",
	"23505":     "duplicate key value violates unique constraint",
	"25P01":     "this can only be used in transaction blocks",
	"26000":     "prepared statement does not exist",
	"3B001":     "savepoint does not exist",
	"42P02":     "there is no parameter $1",
	"53100":     fmt.Sprintf("retrace sim remembers %d keys and no more", maxKeys),
}

// run does what a statement says.
func (s *session) run(p *prepared, args []value) (result, string) {
	if s.state == 'E' && !p.ends() {
		return result{}, codeAborted
	}
	r := result{tag: p.tag}
	switch p.kind {
	case begin:
		s.state = 'T'
	case commit, rollback:
		r.tag = s.end(p.kind)
	case rollbackTo, savepoint, release:
		return r, s.savepoint(p.kind, p.name)
	case deallocate:
		return r, s.deallocate(p.name)
	case discard:
		if p.tag == "DISCARD ALL" {
			clear(s.statements)
		}
	case refused:
		return r, "0A000"
	case keyed:
		return s.access(p, args)
	case literal:
		return p.literals(r, args)
	case asked:
		_, r.rows = s.server.replyTo(p.Statement)
	default:
		r.fixed = s.server.o.Rows
	}
	return r, ""
}

func (p *prepared) literals(r result, args []value) (result, string) {
	row := make([]value, len(p.values))
	for i, o := range p.values {
		row[i] = o.of(args)
		if _, err := strconv.ParseInt(row[i].text, 10, 64); err != nil && !row[i].null && sizes[p.columns[i].oid] > 0 {
			return r, "22P02"
		}
	}
	r.rows = [][]value{row}
	return r, ""
}

func (s *session) deallocate(name string) string {
	if name == "" {
		clear(s.statements)
		return ""
	}
	if s.statements[name] == nil {
		return "26000"
	}
	delete(s.statements, name)
	return ""
}

// access reads or writes a row.
func (s *session) access(p *prepared, args []value) (result, string) {
	a, r := p.Statement.access, result{tag: p.tag}
	key := a.key.of(args)
	if key.null {
		return r, ""
	}
	if a.verb == "select" {
		if !slices.Equal(p.columns, s.server.columns(p.Statement, p.types)) {
			return r, "0A000" // as the server does when a column's type changes
		}
		if row, ok := s.server.store.read(a.table, a.keyName, key.text, a.columns); ok {
			r.rows = [][]value{row}
		}
		return r, ""
	}
	values := make([]value, len(a.changes))
	for i, o := range a.changes {
		values[i] = o.of(args)
	}
	n, back, err := s.server.store.write(a, key.text, values)
	if err != nil {
		return r, err.Error()
	}
	if back != nil {
		s.written = append(s.written, back)
	}
	r.fixed = n
	return r, ""
}
