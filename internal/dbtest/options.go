package dbtest

// Options say how a server should be. The zero value is a PostgreSQL 15 that
// trusts everybody.
type Options struct {
	Major    int      // 15 (Debian's, the default) or 18 (the npm package)
	Settings []string // name=value, as in postgresql.conf
	Password string   // not empty: SCRAM, with this password for User
	Port     int      // 0: any free one

	Files map[string][]byte // put into the data folder, such as server.key
}

// User is the superuser of every server here.
const User = "postgres"

// fast makes a server quick to start and stop, and silent on the network.
// Durability is given up: nothing here outlives a crash of the machine.
var fast = []string{
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=",
	"fsync=off",
	"full_page_writes=off",
	"synchronous_commit=off",
	"max_connections=200",
	"shared_buffers=64MB",
	"max_wal_size=2GB",
	"autovacuum=off",
	"log_min_messages=warning",
}
