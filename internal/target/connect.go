package target

import (
	"context"
	"io"
	"maps"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Conn is a connection that is logged in and idle, with nothing read beyond
// the login.
type Conn struct {
	net.Conn
	PID        uint32
	Key        []byte
	Parameters map[string]string // what the server reported at login

	network, address string
	tls              bool
}

// ConnectPG logs in and hands over the bare connection. An empty database or
// user is the target's own. settings are the start parameters, exactly: those
// of the environment stay out, and only those of the URL are added, since what
// a session recorded elsewhere is replayed with must not depend on who replays it.
func (t *Target) ConnectPG(ctx context.Context, database, user string, settings map[string]string) (*Conn, error) {
	config, err := t.configFor(database, user)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams = t.parameters(config.RuntimeParams, settings)
	c := &Conn{}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c.network, c.address = network, address
		return dial(ctx, network, address)
	}
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(&messageReader{r: r}, w)
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, t.MapError(err)
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, t.MapError(err)
	}
	c.Conn, c.PID, c.Key = hijacked.Conn, hijacked.PID, hijacked.SecretKey
	c.Parameters, c.tls = hijacked.ParameterStatuses, hijacked.TLSConfig != nil
	return c, nil
}

// Admin is a connection of the tool's own, under a name of its own. An empty
// database is the target's own.
func (t *Target) Admin(ctx context.Context, database, name string) (*pgconn.PgConn, error) {
	config, err := t.configFor(database, "")
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = name
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, t.MapError(err)
	}
	return conn, nil
}

// configFor is a configuration of the caller's own for a database and a user. It
// is parsed anew for each, because .pgpass may hold another password for it.
func (t *Target) configFor(database, user string) (*pgconn.Config, error) {
	if database == "" {
		database = t.config.Database
	}
	if user == "" {
		user = t.config.User
	}
	if database == t.config.Database && user == t.config.User {
		return t.config.Copy(), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{database, user}
	if config, ok := t.configs[key]; ok {
		return config.Copy(), nil
	}
	raw := t.raw
	if user != t.config.User {
		var err error
		if raw, err = t.urlOf(user); err != nil {
			return nil, err
		}
	}
	config, err := pgconn.ParseConfig(withParameter(raw, "dbname", database))
	if err != nil {
		return nil, parseError(t.raw, err)
	}
	config.Database = database
	if len(t.configs) < maxConfigs {
		t.configs[key] = config
	}
	return config.Copy(), nil
}

// urlOf is the target's URL for another user, without the password: that is the
// URL's own user's.
func (t *Target) urlOf(user string) (string, error) {
	u, err := url.Parse(t.raw)
	if err != nil {
		return "", errUnencoded
	}
	u.User = url.User(user)
	query := u.Query()
	query.Del("password")
	query.Del("user")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// parameters are the start parameters of a session: what was recorded, and what
// the URL or its service file asks for.
func (t *Target) parameters(configured, recorded map[string]string) map[string]string {
	all := maps.Clone(recorded)
	if all == nil {
		all = map[string]string{}
	}
	for _, own := range []string{"user", "database", "replication"} {
		delete(all, own)
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "_pq_.") })
	for name, value := range configured {
		if t.query.Has(name) || !t.fromEnvironment(name, value) {
			all[name] = value
		}
	}
	return all
}

var environmentOf = map[string]string{"application_name": "PGAPPNAME", "options": "PGOPTIONS", "timezone": "PGTZ"}

func (t *Target) fromEnvironment(name, value string) bool {
	variable, ok := environmentOf[name]
	return ok && t.getenv(variable) == value
}

// messageReader gives out one message at a time, so that the login reads
// nothing of what comes after it.
type messageReader struct {
	r      io.Reader
	header [5]byte
	have   int // header bytes read
	given  int // header bytes given out
	left   int // body bytes not read yet
}

func (m *messageReader) Read(p []byte) (int, error) {
	if m.left > 0 {
		n, err := m.r.Read(p[:min(len(p), m.left)])
		m.left -= n
		return n, err
	}
	for m.have < len(m.header) {
		n, err := m.r.Read(m.header[m.have:])
		m.have += n
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.header[m.given:])
	if m.given += n; m.given == len(m.header) {
		length := int(int32(uint32(m.header[1])<<24 | uint32(m.header[2])<<16 | uint32(m.header[3])<<8 | uint32(m.header[4])))
		m.left = max(length-4, 0) // the frontend refuses what is impossible
		m.have, m.given = 0, 0
	}
	return n, nil
}

// alternatives keeps those ways to connect that are encrypted, or that are not.
func alternatives(config *pgconn.Config, encrypted bool) {
	all := []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}
	all = append(all, config.Fallbacks...)
	var kept []*pgconn.FallbackConfig
	for _, f := range all {
		if (f.TLSConfig != nil) == encrypted {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		return
	}
	config.Host, config.Port, config.TLSConfig = kept[0].Host, kept[0].Port, kept[0].TLSConfig
	config.Fallbacks = kept[1:]
}
