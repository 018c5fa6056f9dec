package pg

import (
	"errors"
	"io"
)

// Codes that stand where a start packet has its protocol version.
const (
	CodeCancel = 80877102
	CodeSSL    = 80877103
	CodeGSS    = 80877104
)

// Startup is what a client asks for when it begins a session.
type Startup struct {
	User, Database string
	Settings       map[string]string // everything else, `_pq_.` options included
	Version        uint32
	Replication    bool
}

var errTODO = errors.New("not built yet")

// ParseStartup reads a start packet, its length word included.
func ParseStartup(packet []byte) (Startup, error) { return Startup{}, errTODO }

// ReadStartup reads exactly one start-phase packet.
func ReadStartup(r io.Reader) (packet []byte, code uint32, err error) { return nil, 0, errTODO }

// ParseCancel reads a CancelRequest packet, its length word included.
func ParseCancel(packet []byte) (pid uint32, key []byte, err error) { return 0, nil, errTODO }
