package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/trace"
)

// Outlook is what a target has in store for a replay: the second half of a dry
// run. The target is asked, and sent nothing that writes: statements are parsed
// there, which PostgreSQL does without running them.
type Outlook struct {
	Target   string   `json:"target"`
	Version  string   `json:"version"`
	Slots    *int     `json:"slots"`    // connections that can be had; null where the server does not tell
	Looked   uint64   `json:"looked"`   // statements whose text the target has parsed
	Lacking  uint64   `json:"lacking"`  // of looked: those that name what is not there
	Lacks    []Lack   `json:"lacks"`    // what that is, by how many statements name it
	Problems []string `json:"problems"` // what a replay would fail with
	Warnings []string `json:"warnings"`
}

// Lack is something that statements name and the target does not have.
type Lack struct {
	Database   string `json:"database"`
	Code       string `json:"code"`
	What       string `json:"what"` // in the target's words
	Statements uint64 `json:"statements"`
}

const (
	// parseTime bounds the parsing in each database.
	parseTime = 30 * time.Second
	maxLacks  = 100
)

// On looks at a target. An error is a mistake of the caller; what is wrong with
// the target is among the problems.
func (s *Survey) On(ctx context.Context, o Options, headers []*trace.Header) (*Outlook, error) {
	out := &Outlook{Target: o.Target.String(), Lacks: []Lack{}, Problems: []string{}, Warnings: []string{}}
	o.Warn = func(text string) { out.Warnings = append(out.Warnings, text) }
	if err := guard(ctx, &o, headers); err != nil {
		if usage := (*UsageError)(nil); errors.As(err, &usage) {
			return nil, err
		}
		return out.problem(err), nil
	}
	databases := s.databases(&o)
	found, err := s.ask(ctx, &o, databases)
	if err != nil {
		return out.problem(err), nil
	}
	out.Version = found.version
	if found.slots >= 0 {
		out.Slots = &found.slots
	}
	if err := o.checkDatabases(databases, found.databases); err != nil {
		out.problem(err)
	}
	files, err := openFiles()
	if err != nil {
		files = -1
	}
	if err := o.checkRoom(s.PeakSessions, found.slots, files); err != nil {
		out.problem(err)
	}
	s.warn(&o)
	for _, db := range databases {
		if len(found.databases) == 0 || slices.Contains(found.databases, db) {
			s.parse(ctx, &o, db, out)
		}
	}
	out.sort()
	return out, nil
}

func (out *Outlook) problem(err error) *Outlook {
	out.Problems = append(out.Problems, err.Error())
	return out
}

// ask connects once and reads the server's limits.
func (s *Survey) ask(ctx context.Context, o *Options, databases []string) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	db := ""
	if len(databases) > 0 {
		db = databases[0]
	}
	return o.limits(ctx, db, &trace.Header{EngineVersion: s.version})
}

// warn says what will be otherwise than it was recorded.
func (s *Survey) warn(o *Options) {
	o.compareUsers(s.Users)
	if o.Check && !s.Checksums {
		o.warn("--check will compare no result: the trace has no checksums of results (they come with capture --check)")
	}
}

// lacking are the SQLSTATEs of names that stand for nothing. Other errors say
// little here: literals have been taken out of the texts.
var lacking = map[string]bool{
	"42P01": true, // table
	"42703": true, // column
	"42883": true, // function
	"42704": true, // type and others
	"3F000": true, // schema
}

// parse has the target parse every statement that runs in a database.
func (s *Survey) parse(ctx context.Context, o *Options, db string, out *Outlook) {
	ctx, cancel := context.WithTimeout(ctx, parseTime)
	defer cancel()
	conn, err := o.Target.Admin(ctx, db, trace.Preflight)
	if err != nil {
		out.problem(err)
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	lacks := map[Lack]uint64{}
	texts, left := s.textsOf(db, o.Target.Database() != ""), s.dropped
	for _, t := range texts {
		if conn.IsClosed() {
			left += s.probes[t].statements
			continue
		}
		_, err := conn.Prepare(ctx, "", t.sql, portable(s.probes[t].types))
		if conn.IsClosed() {
			left += s.probes[t].statements
			continue
		}
		out.Looked += s.probes[t].statements
		var refused *pgconn.PgError
		if errors.As(err, &refused) && lacking[refused.Code] {
			out.Lacking += s.probes[t].statements
			lacks[Lack{Database: db, Code: refused.Code, What: refused.Message}] += s.probes[t].statements
		}
	}
	if left > 0 {
		o.warn("the texts of %d statements were not looked at: too many, or the target took too long", left)
	}
	for l, n := range lacks {
		l.Statements = n
		out.Lacks = append(out.Lacks, l)
	}
}

// textsOf lists the texts that run in a database, the most frequent first.
func (s *Survey) textsOf(db string, all bool) []probe {
	var texts []probe
	for t := range s.probes {
		if all || t.database == db {
			texts = append(texts, t)
		}
	}
	slices.SortFunc(texts, func(a, b probe) int {
		return cmp.Or(cmp.Compare(s.probes[b].statements, s.probes[a].statements), cmp.Compare(a.sql, b.sql))
	})
	return texts
}

func (out *Outlook) sort() {
	slices.SortFunc(out.Lacks, func(a, b Lack) int {
		return cmp.Or(cmp.Compare(b.Statements, a.Statements), cmp.Compare(a.Database, b.Database), cmp.Compare(a.What, b.What))
	})
	if n := len(out.Lacks); n > maxLacks {
		out.Lacks = out.Lacks[:maxLacks]
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more things are not there", n-maxLacks))
	}
}

// LackingPct is the share of statements that name what is not there.
func (out *Outlook) LackingPct() float64 {
	if out.Looked == 0 {
		return 0
	}
	return 100 * float64(out.Lacking) / float64(out.Looked)
}

func sortedKeys(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }
