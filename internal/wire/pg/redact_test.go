package pg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/internal/wire/pseudonym"
)

func hashing() *Redactor { return NewRedactor(pseudonym.New([]byte("a key of the tests only"))) }

func query(sql string) []byte { return appendQuery(nil, []byte(sql)) }

// redacted splits, redacts and joins an event.
func redacted(t testing.TB, r *Redactor, s Subject, b []byte) ([]byte, error) {
	t.Helper()
	var split Splitter
	s.Shape, s.Sizes, s.Values = split.Split(b)
	sizes, values, whole := r.Event(&s)
	if !whole {
		t.Fatalf("%q is not whole", b)
	}
	return Join(nil, s.Shape, sizes, values)
}

// SE-03: no literal of any spelling is left, and the SQL is the same but for them.
func TestHashOfLiterals(t *testing.T) {
	const secret = "s3cretValue"
	for _, sql := range []string{
		"select '%s'", "select E'%s\\n'", "select U&'%s'", "select N'%s'", "select $$%s$$", "select $tag$%s$tag$", "select $%[1]s$x$%[1]s$",
		"select 1 -- %s", "select /* %s */ 1", "select /* a /* %s */ b */ 1", "select 'a''%s'", "select 'a'\n '%s'", "/* %s */ select 1; select '%[1]s'",
		"insert into t values (1, '%s'), (2, '{\"k\": \"%[1]s\"}')", "prepare p as select '%s'", "do $$begin perform '%s'; end$$",
		"set app.user = '%s'", "select set_config('app.user', '%s', true)", "set search_path = a; select '%s'", "select '%s",
	} {
		b := query(fmt.Sprintf(sql, secret))
		out, err := redacted(t, hashing(), Subject{Op: OpQuery}, b)
		if err != nil || len(out) != len(b) || bytes.Contains(out, []byte(secret)) {
			t.Errorf("%s: %q, %v", sql, out, err)
		}
		var one, two Splitter
		shape, sizes, _ := one.Split(b)
		again, sizesAgain, _ := two.Split(out)
		if sql != "select $%[1]s$x$%[1]s$" && (!bytes.Equal(shape, again) || !slices.Equal(sizes, sizesAgain)) {
			t.Errorf("%q is another statement than %q", out, b)
		}
	}
}

// What is a part of the statement stays, so that it is the same statement.
func TestHashLeavesTheStatement(t *testing.T) {
	for _, sql := range []string{
		"set statement_timeout = 5000", "set search_path to 'a', 'b'", "SET LOCAL timezone TO 'UTC'",
		"select a from t order by 1, 2 desc limit 10 offset 20", "create table t (a varchar(20), b numeric(10,2))", "fetch first 5 rows",
	} {
		b := query(sql)
		if out, err := redacted(t, hashing(), Subject{Op: OpQuery}, b); err != nil || !bytes.Equal(out, b) {
			t.Errorf("%s becomes %q, %v", sql, out, err)
		}
	}
	b := query("select a from t where b in (1111111, 2222222) limit 10")
	out, err := redacted(t, hashing(), Subject{Op: OpQuery}, b)
	if err != nil || bytes.Contains(out, []byte("1111111")) || bytes.Contains(out, []byte("2222222")) || !bytes.Contains(out, []byte("limit 10")) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDropTakesValuesOut(t *testing.T) {
	if _, err := redacted(t, NewRedactor(nil), Subject{Op: OpQuery}, query("select 'x'")); !errors.Is(err, ErrRedacted) {
		t.Error(err)
	}
	for _, sql := range []string{"begin", "set search_path = 'a'"} {
		if out, err := redacted(t, NewRedactor(nil), Subject{Op: OpQuery}, query(sql)); err != nil || !bytes.Equal(out, query(sql)) {
			t.Errorf("%q, %v", out, err)
		}
	}
	if NewRedactor(nil).Message(query("prepare p as select 'x'")) != nil {
		t.Error("a message is left")
	}
}

// Parameters keep NULL, width and equality, in text and in binary form.
func TestHashOfParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type value struct {
			b    []byte
			null bool
			oid  uint32
		}
		one := rapid.Custom(func(t *rapid.T) value {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return value{null: true}
			case 1:
				return value{b: binary.BigEndian.AppendUint32(nil, rapid.Uint32().Draw(t, "int4")), oid: 23}
			case 2:
				return value{b: rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"), oid: 2950}
			case 3:
				return value{b: binary.BigEndian.AppendUint64(nil, rapid.Uint64().Draw(t, "stamp")), oid: 1184}
			}
			return value{b: []byte(rapid.StringN(0, 30, 60).Draw(t, "text")), oid: 25}
		})
		values := rapid.SliceOfN(one, 0, 6).Draw(t, "values")
		values = append(values, values...) // each twice: equal ones
		b := []byte{0, 0, 0, 1, 0, 1}
		b = binary.BigEndian.AppendUint16(b, uint16(len(values)))
		var types []uint32
		for _, v := range values {
			types = append(types, v.oid)
			if v.null {
				b = append(b, 0xff, 0xff, 0xff, 0xff)
			} else {
				b = append(binary.BigEndian.AppendUint32(b, uint32(len(v.b))), v.b...)
			}
		}
		b = append(b, 0, 0)
		b = append(append([]byte{'B'}, binary.BigEndian.AppendUint32(nil, uint32(len(b)+4))...), b...)
		var split Splitter
		shape, sizes, raw := split.Split(b)
		got, out, whole := hashing().Event(&Subject{Op: OpExecute, Types: types, Shape: shape, Sizes: sizes, Values: raw})
		if !whole || !slices.Equal(got, sizes) || len(out) != len(raw) {
			t.Fatalf("sizes %v become %v", sizes, got)
		}
		if half := len(out) / 2; !bytes.Equal(out[:half], out[half:]) {
			t.Fatal("equal values are no longer equal")
		}
		at := 0
		for _, v := range values {
			if len(v.b) >= 12 && v.oid != 1184 && strings.Trim(string(v.b), " ") != "" && bytes.Equal(out[at:at+len(v.b)], v.b) {
				t.Fatalf("%q is as it was", v.b)
			}
			at += len(v.b)
		}
	})
}

func data(rows string) []byte {
	return append(append([]byte{'d'}, binary.BigEndian.AppendUint32(nil, uint32(len(rows)+4))...), rows...)
}

// COPY: rows, fields and NULL stay; what cannot be taken apart goes.
func TestHashOfCopies(t *testing.T) {
	for _, c := range []struct{ sql, rows, form string }{
		{"copy t from stdin", "12345678\tAda Lovelace\t\\N\n87654321\tb\\tcdefgh\t2024-01-01\n", "########\t@@@@@@@@@@@@\t\\N\n########\t@@@@@@@@@\t20##-##-##\n"},
		{"COPY t FROM STDIN (FORMAT csv);", "12345678,\"Love, Ada \"\"A\"\"\",\nabcdefghijk,,x\n", "########,\"@@@@@@@@@@@@@@@\",\n@@@@@@@@@@@,,@\n"},
		{"copy t from stdin binary", "PGCOPY\n", ""},
		{"copy t from stdin (delimiter '')", "a|b\n", ""},
		{"begin; copy t from stdin", "a\tb\n", ""},
		{"", "a\tb\n", ""},
	} {
		r := hashing()
		if c.sql != "" {
			if _, _, whole := r.Event(&Subject{Op: OpQuery, SQL: c.sql}); !whole {
				t.Fatal(c.sql)
			}
		}
		half := len(c.rows) / 2 // messages need not end where rows do
		b := append(data(c.rows[:half]), data(c.rows[half:])...)
		out, err := redacted(t, r, Subject{Op: OpCopy}, b)
		if c.form == "" {
			if !errors.Is(err, ErrRedacted) {
				t.Errorf("%s: %q, %v", c.sql, out, err)
			}
			continue
		}
		if err != nil || len(out) != len(b) {
			t.Fatalf("%s: %q, %v", c.sql, out, err)
		}
		got := append(slices.Clone(out[5:5+half]), out[10+half:]...)
		for i, f := range []byte(c.form) {
			digit := got[i] >= '0' && got[i] <= '9'
			letter := digit || got[i]|0x20 >= 'a' && got[i]|0x20 <= 'z'
			if f == '#' && !digit || f == '@' && !letter || f != '#' && f != '@' && f != got[i] {
				t.Fatalf("%s: %q", c.sql, got)
			}
		}
		if bytes.Contains(got, []byte("Ada")) || bytes.Contains(got, []byte("12345678")) {
			t.Errorf("%q", got)
		}
	}
}

// What cannot be taken apart may hold values where only the shape is kept.
func TestOpaque(t *testing.T) {
	var split Splitter
	for b, want := range map[string]bool{
		string(query("select 1")): false, string(event(t, "S")): false, "?\x00\x00\x00\x06ab": true, "nothing": true, "": false,
	} {
		if shape, _, _ := split.Split([]byte(b)); Opaque(OpQuery, shape) != want {
			t.Errorf("%q", b)
		}
	}
}
