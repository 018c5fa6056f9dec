package trace

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"unicode/utf8"
)

// ErrNotTrace is what every refusal of an input that is no trace wraps.
var ErrNotTrace = errors.New("not a retrace trace")

// foreign are beginnings of what people hand over by mistake.
var foreign = []struct{ prefix, what string }{
	{"\x1f\x8b", "gzip data: decompress it first (gunzip -c FILE | retrace … -)"},
	{"\x28\xb5\x2f\xfd", "zstd data: decompress it first (zstd -dc FILE | retrace … -)"},
	{"BZh", "bzip2 data: decompress it first"},
	{"\xfd7zXZ", "xz data: decompress it first"},
	{"PK\x03\x04", "a zip archive"},
	{"\xd4\xc3\xb2\xa1", "a pcap packet capture"},
	{"\xa1\xb2\xc3\xd4", "a pcap packet capture"},
	{"\x4d\x3c\xb2\xa1", "a pcap packet capture"},
	{"\xa1\xb2\x3c\x4d", "a pcap packet capture"},
	{"\x0a\x0d\x0d\x0a", "a pcapng packet capture"},
	{"PAR1", "a Parquet file"},
	{"PGDMP", "a pg_dump archive"},
	{"\x7fELF", "a program"},
}

// sniff judges the first bytes of an input. nil means that it is a trace, if
// perhaps a damaged one.
func sniff(name string, b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("%s: %w: it is empty", name, ErrNotTrace)
	}
	_, err := parseHeader(b)
	if err == nil || damagedMagic(b) {
		return nil
	}
	var version *versionError
	if errors.As(err, &version) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bytes.HasPrefix(b, magic[:3]) && len(b) > 3 && b[3] != magic[3] {
		return fmt.Errorf("%s: %w", name, &versionError{b[3]})
	}
	if bytes.HasPrefix(b, magic[:min(len(b), 4)]) {
		return nil
	}
	for _, f := range foreign {
		if bytes.HasPrefix(b, []byte(f.prefix)) {
			return fmt.Errorf("%s: %w: it is %s", name, ErrNotTrace, f.what)
		}
	}
	if isText(b) {
		return fmt.Errorf("%s: %w: it is text (%.40q)", name, ErrNotTrace, b)
	}
	return fmt.Errorf("%s: %w: it begins with % x, a trace with % x", name, ErrNotTrace, b[:min(len(b), 8)], magic)
}

// damagedMagic tells whether these bytes are a block header but for the magic.
func damagedMagic(b []byte) bool {
	if len(b) < headerSize {
		return false
	}
	fixed := append(magic[:len(magic):len(magic)], b[len(magic):headerSize]...)
	return crc32.Checksum(fixed[:60], castagnoli) == uint32(b[60])|uint32(b[61])<<8|uint32(b[62])<<16|uint32(b[63])<<24
}

func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && len(b) >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[n:]
	}
	return true
}
