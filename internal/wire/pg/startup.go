package pg

import (
	"encoding/binary"
	"io"
	"strings"
)

// Codes that stand where a start packet has its protocol version.
const (
	CodeCancel = 80877102
	CodeSSL    = 80877103
	CodeGSS    = 80877104
)

// A start packet's length, its own four bytes included; the upper bound is the
// server's.
const (
	minStartup = 8
	maxStartup = 10000
)

// Startup is what a client asks for when it begins a session.
type Startup struct {
	User, Database string
	Settings       map[string]string // everything else, `_pq_.` options included
	Version        uint32
	Replication    bool
}

// ParseStartup reads a start packet, its length word included. Any minor
// version of protocol 3 will do: the server negotiates.
func ParseStartup(packet []byte) (Startup, error) {
	code, err := startupCode(packet)
	if err != nil {
		return Startup{}, err
	}
	if code>>16 != 3 {
		return Startup{}, fault("start packet asks for protocol %d.%d, want 3", code>>16, code&0xffff)
	}
	s := Startup{Version: code, Settings: map[string]string{}}
	for rest := packet[8:]; len(rest) > 0 && rest[0] != 0; {
		name, after, ok := cstring(rest)
		value, after, ok2 := cstring(after)
		if !ok || !ok2 {
			return Startup{}, fault("start packet ends inside a setting")
		}
		s.set(string(name), string(value))
		rest = after
	}
	if s.Database == "" {
		s.Database = s.User
	}
	return s, nil
}

func (s *Startup) set(name, value string) {
	switch name {
	case "user":
		s.User = value
	case "database":
		s.Database = value
	case "replication":
		s.Replication = isTrue(value)
		fallthrough
	default:
		s.Settings[name] = value
	}
}

// isTrue reads the setting `replication`: a boolean, or the word database.
func isTrue(v string) bool {
	switch v = strings.ToLower(v); v {
	case "database", "1", "on":
		return true
	case "":
		return false
	}
	return strings.HasPrefix("true", v) || strings.HasPrefix("yes", v)
}

// startupCode checks a start packet's length and returns its version or code.
func startupCode(packet []byte) (uint32, error) {
	if len(packet) < minStartup || len(packet) > maxStartup {
		return 0, fault("start packet of %d bytes, want %d to %d", len(packet), minStartup, maxStartup)
	}
	if n := binary.BigEndian.Uint32(packet); uint64(n) != uint64(len(packet)) {
		return 0, fault("start packet of %d bytes says it has %d", len(packet), n)
	}
	return binary.BigEndian.Uint32(packet[4:]), nil
}

// startupSize reads the length word of a start packet.
func startupSize(word []byte) (int, error) {
	n := binary.BigEndian.Uint32(word)
	if n < minStartup || n > maxStartup {
		return 0, fault("start packet of %d bytes, want %d to %d: not a PostgreSQL client?", n, minStartup, maxStartup)
	}
	return int(n), nil
}

// ReadStartup reads exactly one start-phase packet from r and returns it,
// length word included, with its version or code. It reads no byte beyond it.
func ReadStartup(r io.Reader) (packet []byte, code uint32, err error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, 0, err
	}
	n, err := startupSize(word[:])
	if err != nil {
		return nil, 0, err
	}
	packet = make([]byte, n)
	copy(packet, word[:])
	if _, err := io.ReadFull(r, packet[4:]); err != nil {
		return nil, 0, err
	}
	return packet, binary.BigEndian.Uint32(packet[4:]), nil
}

// ParseCancel reads a CancelRequest packet, its length word included. Keys
// have four bytes in protocol 3.0 and up to 256 since 3.2.
func ParseCancel(packet []byte) (pid uint32, key []byte, err error) {
	code, err := startupCode(packet)
	if err != nil {
		return 0, nil, err
	}
	if code != CodeCancel || len(packet) < 12 {
		return 0, nil, fault("not a cancel request: code %d, %d bytes", code, len(packet))
	}
	return binary.BigEndian.Uint32(packet[8:]), packet[12:], nil
}
