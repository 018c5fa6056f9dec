package replay

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/trace"
)

// preflightTime bounds the questions asked of the target before the clock starts.
const preflightTime = 30 * time.Second

// server is what the target said about itself.
type server struct {
	version   string
	slots     int // connections that can be had, -1 if that is not known
	databases []string
}

// preflight finds out before anything is sent whether the target can be had at
// all, and says what will not work there.
func (p *player) preflight(ctx context.Context, o *Options, h *trace.Header) (server, error) {
	if o.Target == nil {
		return server{slots: -1}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	wanted := p.source.databases()
	o.compareUsers(p.source.users())
	db := o.Target.Database()
	if db == "" && len(wanted) > 0 {
		db = wanted[0]
	}
	found, err := o.limits(ctx, db, h)
	if err != nil {
		return found, err
	}
	if err := o.checkDatabases(wanted, found.databases); err != nil {
		return found, err
	}
	return found, p.checkSlots(o, found)
}

func (o *Options) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

const limitsQuery = `select current_setting('server_version'),
	current_setting('max_connections')::int
	- case when (select rolsuper from pg_roles where rolname = current_user) then 0
	  else current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true), '0')::int end
	- (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid())`

// ask reads the server's limits.
func ask(ctx context.Context, conn *pgconn.PgConn) (server, error) {
	s := server{slots: -1}
	limits := conn.ExecParams(ctx, limitsQuery, nil, nil, nil, nil).Read()
	if limits.Err != nil {
		return s, limits.Err
	}
	if len(limits.Rows) == 1 && len(limits.Rows[0]) == 2 {
		s.version = string(limits.Rows[0][0])
		if n, err := strconv.Atoi(string(limits.Rows[0][1])); err == nil {
			s.slots = max(n, 0)
		}
	}
	names := conn.ExecParams(ctx, "select datname from pg_database", nil, nil, nil, nil).Read()
	for _, row := range names.Rows {
		s.databases = append(s.databases, string(row[0]))
	}
	return s, names.Err
}

// compareUsers says which recorded users others log in for.
func (o *Options) compareUsers(sessions map[string]uint64) {
	others := uint64(0)
	var names []string
	for _, user := range sortedKeys(sessions) {
		if _, mapped := o.UserMap[user]; user != "" && !mapped && user != o.Target.User() {
			others, names = others+sessions[user], append(names, user)
		}
	}
	if others == 0 {
		return
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	o.warn("%d sessions were of other users (%s): all log in as %s (--user-map RECORDED=USER)", others, strings.Join(names, ", "), o.Target.User())
}

func (o *Options) compareVersions(h *trace.Header, version string) {
	recorded, found := major(h.EngineVersion), major(version)
	if recorded != "" && found != "" && recorded != found {
		o.warn("the trace was recorded from PostgreSQL %s, %s is PostgreSQL %s", h.EngineVersion, o.Target, version)
	}
}

// major is the first number of a version, the first two of those before 10.
func major(version string) string {
	version = strings.TrimLeftFunc(version, notDigit)
	first, rest := number(version)
	if n, err := strconv.Atoi(first); err == nil && n < 10 {
		second, _ := number(strings.TrimPrefix(rest, "."))
		return first + "." + second
	}
	return first
}

// number cuts the digits off that a version begins with.
func number(version string) (digits, rest string) {
	if i := strings.IndexFunc(version, notDigit); i >= 0 {
		return version[:i], version[i:]
	}
	return version, ""
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// checkDatabases looks for the recorded databases, as far as they are known
// already, unless the URL names the one that all sessions use.
func (o *Options) checkDatabases(wanted, found []string) error {
	if o.Target.Database() != "" || len(found) == 0 {
		return nil
	}
	var missing []string
	for _, name := range wanted {
		if !slices.Contains(found, name) {
			missing = append(missing, strconv.Quote(name))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no database %s, which the trace uses: create it there, or name another one in the URL", o.Target, strings.Join(missing, ", "))
}

// users are those of the sessions known so far.
func (src *source) users() map[string]uint64 {
	all := map[string]uint64{}
	for id, s := range src.states {
		if src.selection.session(id, s) == endNone {
			all[s.User]++
		}
	}
	return all
}

// databases are those of the sessions known so far.
func (src *source) databases() []string {
	var all []string
	for _, s := range src.states {
		if src.selection.session(s.Session, s) != endNone {
			continue
		}
		if s.Database != "" && !slices.Contains(all, s.Database) {
			all = append(all, s.Database)
		}
	}
	slices.Sort(all)
	return all
}

// checkSlots compares the connections that can be had with those the trace
// needs at once.
func (p *player) checkSlots(o *Options, found server) error {
	files, err := openFiles()
	if err != nil {
		files = -1
	}
	if o.Known == nil || o.Again == nil {
		return nil
	}
	most := int(min(o.Known.Sessions, 1<<30))
	if fits(most, found.slots) && fits(most, files) {
		return nil
	}
	if most, err = peak(o.Again); err != nil {
		return err
	}
	return o.checkRoom(most, found.slots, files)
}

// checkRoom compares the sessions open at once with the connections and files
// that can be had.
func (o *Options) checkRoom(most, slots, files int) error {
	if !fits(most, slots) {
		return fmt.Errorf("the trace has %d sessions open at once, %s has %d connections left for %s: raise its max_connections", most, o.Target, slots, o.Target.User())
	}
	if !fits(most, files) {
		return fmt.Errorf("the trace has %d sessions open at once, this process may open %d more files: raise ulimit -n", most, files)
	}
	return nil
}

// fits tells whether n is no more than room, of which -1 is any amount.
func fits(n, room int) bool { return room < 0 || n <= room }

// limits connects once, and asks the server for its version and limits.
func (o *Options) limits(ctx context.Context, db string, h *trace.Header) (server, error) {
	conn, err := o.Target.Admin(ctx, db, trace.Preflight)
	if err != nil {
		return server{}, err
	}
	defer func() { _ = conn.Close(ctx) }()
	found, err := ask(ctx, conn)
	if err != nil {
		o.warn("%s does not tell its limits (%s): they are not checked", o.Target, err)
	}
	if found.version == "" {
		found.version = conn.ParameterStatus("server_version")
	}
	o.compareVersions(h, found.version)
	return found, nil
}
