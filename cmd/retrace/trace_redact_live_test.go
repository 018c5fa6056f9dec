package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/klauspost/compress/zstd"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

const (
	plantedText   = "ada.lovelace@example.com"
	plantedNumber = 987654321123
	plantedUUID   = "550e8400-e29b-41d4-a716-446655440000"
	plantedShort  = "Zq7xW2"
)

var planted = []string{plantedText, fmt.Sprint(plantedNumber), plantedUUID, plantedShort, "\x00\x00\x00\xe5\xf4\xc8\xf3\xe3", "\x55\x0e\x84\x00\xe2\x9b\x41\xd4", "topsecretpw"}

// recordPlanted records a session with these values in every place where a
// session may have one.
func recordPlanted(t *testing.T, s *dbtest.Server, file string, flags ...string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan string, 1)
	go func() {
		args := append([]string{"capture", "--listen", addr, "--target", s.URL("", ""), "-w", file, "-q"}, flags...)
		_, _, talk := ranWith(ctx, nil, args...)
		done <- talk
	}()
	c := connectTo(t, s.URLVia(addr, "", "")+"?sslmode=disable")
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(context.Background(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("set search_path = private")
	run("insert into person values (1, $1, $2, $3, $4)", plantedText, int64(plantedNumber), [16]byte{0x55, 0x0e, 0x84, 0x00, 0xe2, 0x9b, 0x41, 0xd4, 0xa7, 0x16, 0x44, 0x66, 0x55, 0x44, 0, 0}, time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
	run("insert into person values (2, '"+plantedText+"', 987654321123, '"+plantedUUID+"', '2024-02-29') -- "+plantedText, pgx.QueryExecModeSimpleProtocol)
	run("select * from person where mail = $1 and number = any($2)", plantedText, []int64{plantedNumber, 5})
	run("prepare by_mail as select * from person where mail = '" + plantedText + "'")
	run("execute by_mail")
	run("set app.tenant = '" + plantedShort + "'")
	run("create role planted_role login password 'topsecretpw'")
	if _, err := c.PgConn().CopyFrom(context.Background(), strings.NewReader("3\t"+plantedText+"\t987654321123\t"+plantedUUID+"\t2024-02-29\n4\t\\N\t\\N\t\\N\t\\N\n"), "copy person from stdin"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CopyFrom(context.Background(), pgx.Identifier{"person"}, []string{"id", "mail"}, pgx.CopyFromRows([][]any{{int64(5), plantedText}})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(context.Background(), "select '"+plantedText+"'::int"); err == nil { // the error quotes it
		t.Fatal("no error")
	} else if _, ok := err.(*pgconn.PgError); !ok { //nolint:errorlint // as it comes
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // a block with states
	run("select count(*) from person where mail like '" + plantedShort + "%'")
	_ = c.Close(context.Background())
	stop()
	if talk := <-done; strings.Contains(talk, "retrace:") {
		t.Errorf("capture: %s", talk)
	}
}

// decompressed is a file with all its frames opened: wherever a frame may begin.
func decompressed(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Clone(raw)
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	frames := 0
	for at := 0; ; {
		n := bytes.Index(raw[at:], magic)
		if n < 0 {
			break
		}
		at += n
		d, err := zstd.NewReader(bytes.NewReader(raw[at:]), zstd.WithDecoderConcurrency(1), zstd.IgnoreChecksum(true))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, _ = d.WriteTo(&out) // up to what is no frame any more
		d.Close()
		all = append(all, out.Bytes()...)
		at, frames = at+len(magic), frames+1
	}
	if frames == 0 && len(raw) > 4096 {
		t.Fatal("no frame found")
	}
	return all
}

func found(t *testing.T, file string) (all []string) {
	t.Helper()
	content := decompressed(t, file)
	for _, v := range planted {
		if bytes.Contains(content, []byte(v)) {
			all = append(all, v)
		}
	}
	return all
}

// shapesOf is all of a trace but its values.
func shapesOf(t *testing.T, file string) (events []string, sizes []string) {
	t.Helper()
	in, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	err = in.Each(func(e *trace.Event) error {
		events = append(events, fmt.Sprint(e.Session, e.Ordinal, e.Start, e.Entry.Op, e.Entry.SQL(), e.Took, e.Rows, e.Status, e.Reason))
		sizes = append(sizes, fmt.Sprint(e.Sizes))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, sizes
}

// SE-01, SE-03: no value of a redacted trace can be found in its bytes; but for
// values it is the same, and one with pseudonyms still replays.
func TestRedactedTraceHoldsNoValue(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Psql(t, "create schema private; create table private.person (id int, mail text, number bigint, code uuid, born date)")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	recordPlanted(t, s, path("whole"))
	if got := found(t, path("whole")); len(got) != len(planted)-1 { // what is not a password is there
		t.Fatalf("found %q", got)
	}
	events, sizes := shapesOf(t, path("whole"))
	for _, mode := range []string{"hash", "drop"} {
		if code, _, talk := ranWith(t.Context(), nil, "trace", "redact", path("whole"), "--mode", mode, "-w", path(mode)); code != 0 {
			t.Fatalf("exit %d: %s", code, talk)
		}
		if got := found(t, path(mode)); len(got) > 0 {
			t.Errorf("%s: found %q", mode, got)
		}
		if code, _, talk := ranWith(t.Context(), nil, "trace", "verify", path(mode)); code != 0 {
			t.Errorf("verify: %s", talk)
		}
		same, left := shapesOf(t, path(mode))
		if strings.Join(same, "\n") != strings.Join(events, "\n") {
			t.Errorf("%s: other events", mode)
		}
		differ := 0
		for i := range left {
			if i < len(sizes) && left[i] != sizes[i] {
				differ++
			}
		}
		if mode == "hash" && differ != 1 { // the binary COPY
			t.Errorf("%d events with other sizes", differ)
		}
	}
	s.Psql(t, "truncate private.person; drop role planted_role")
	code, out, talk := ranWith(t.Context(), nil, "replay", path("hash"), "--target", s.URL("", ""), "--allow-captured-target")
	t.Logf("replay of pseudonyms: exit %d\n%s%s", code, out, talk)
	if got := s.Psql(t, "select count(distinct mail), count(distinct number), count(distinct code) from private.person"); !strings.Contains(got, "1|1|1") {
		t.Errorf("equality is lost: %s", got)
	}
	code, out, talk = ranWith(t.Context(), nil, "replay", path("drop"), "--target", s.URL("", ""), "--allow-captured-target")
	t.Logf("replay without values: exit %d\n%s%s", code, out, talk)
	if code != 0 && code != 3 || !strings.Contains(out+talk, "redacted") {
		t.Errorf("exit %d", code)
	}
}
