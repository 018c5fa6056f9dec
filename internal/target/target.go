// Package target turns a URL and the environment, read as the database's own
// clients read them, into connections. It keeps passwords out of everything
// that can be printed, and says in plain words why a server cannot be had.
package target

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Target is a server to connect to.
type Target struct {
	raw      string // as given, password and all: never printed
	query    url.Values
	getenv   func(string) string
	config   *pgconn.Config
	database string // named by the URL

	mu      sync.Mutex
	configs map[[2]string]*pgconn.Config // by database and user
}

// maxConfigs bounds the configurations kept, one per database and user named in a
// trace.
const maxConfigs = 256

// Parse reads a URL. What it leaves out comes from the environment, .pgpass and
// service files, as libpq reads them. Its errors never hold the password.
func Parse(raw string, getenv func(string) string) (*Target, error) {
	if err := checkScheme(raw); err != nil {
		return nil, err
	}
	config, err := pgconn.ParseConfig(raw)
	if err != nil {
		return nil, parseError(raw, err)
	}
	if strings.Contains(config.Database, "@") {
		// The @ was meant to end the password: what stands before it is one.
		return nil, errUnencoded
	}
	t := &Target{raw: raw, getenv: getenv, config: config, configs: map[[2]string]*pgconn.Config{}}
	_, query, _ := strings.Cut(raw, "?")
	if t.query, err = url.ParseQuery(query); err != nil {
		return nil, errUnencoded
	}
	if t.namesDatabase() {
		t.database = config.Database
	}
	if err := t.checkDirect(); err != nil {
		return nil, err
	}
	return t, nil
}

var errUnencoded = errors.New("the target URL cannot be parsed: write reserved characters such as @ : / ? # % in user, password and database percent-encoded")

func checkScheme(raw string) error {
	scheme, _, found := strings.Cut(raw, "://")
	switch {
	case !found:
		return errors.New("the target is not a URL: give it as postgres://USER@HOST:PORT/DATABASE")
	case scheme == "postgres" || scheme == "postgresql":
		return nil
	default:
		return fmt.Errorf("the target's scheme %q is not known: give it as postgres://USER@HOST:PORT/DATABASE", scheme)
	}
}

// parseError keeps the reason of err where that cannot hold a part of the password.
func parseError(raw string, err error) error {
	u, urlErr := url.Parse(raw)
	var parse *pgconn.ParseConfigError
	if urlErr != nil || !errors.As(err, &parse) {
		return errUnencoded
	}
	reason := err.Error()
	if i := strings.Index(reason, "`: "); i >= 0 {
		reason = reason[i+len("`: "):]
	}
	secrets := append(u.Query()["password"], u.Query()["sslpassword"]...)
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(reason, secret) {
			return errUnencoded
		}
	}
	return fmt.Errorf("the target URL cannot be used: %s", reason)
}

// namesDatabase tells whether the database is the URL's own choice (in its
// path, a parameter or the service it names) and not the environment's.
func (t *Target) namesDatabase() bool {
	rest := t.raw[strings.Index(t.raw, "://")+3:]
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	if path != "" || t.query.Get("dbname") != "" || t.query.Get("database") != "" {
		return true
	}
	return t.query.Get("service") != "" && t.config.Database != t.getenv("PGDATABASE")
}

// Scheme names the protocol.
func (t *Target) Scheme() string { return "postgres" }

// Database is the one the URL names, or "" when it leaves the choice.
func (t *Target) Database() string { return t.database }

// DefaultDatabase is the one the environment names, or the user's own.
func (t *Target) DefaultDatabase() string {
	if t.config.Database != "" {
		return t.config.Database
	}
	return t.config.User
}

// User is who connections log in as.
func (t *Target) User() string { return t.config.User }

// String is the target as a URL without password and parameters.
func (t *Target) String() string {
	var hosts []string
	for _, e := range t.endpoints() {
		hosts = append(hosts, e.String())
	}
	u := "postgres://"
	if t.config.User != "" {
		u += url.PathEscape(t.config.User) + "@"
	}
	u += strings.Join(hosts, ",")
	if t.database != "" {
		u += "/" + url.PathEscape(t.database)
	}
	return u
}

// endpoint is a host and port, or a socket directory and port.
type endpoint struct {
	host string
	port uint16
}

func (e endpoint) String() string {
	host := e.host
	if strings.HasPrefix(host, "/") {
		host = url.PathEscape(host)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(e.port)))
}

// endpoints are the places to connect to, in the order they are tried.
func (t *Target) endpoints() []endpoint {
	all := []endpoint{{t.config.Host, t.config.Port}}
	seen := map[endpoint]bool{all[0]: true}
	for _, f := range t.config.Fallbacks { // the same place again is another TLS mode
		if e := (endpoint{f.Host, f.Port}); !seen[e] {
			seen[e] = true
			all = append(all, e)
		}
	}
	return all
}
