package pseudonym

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func testKey() *Key { return New([]byte("a key of the tests only")) }

// Small ranges are permuted: nothing is lost, nothing comes twice.
func TestPermutes(t *testing.T) {
	k := testKey()
	for _, n := range []uint64{1, 2, 3, 9, 10, 64, 90, 1000, 24768} {
		seen := make([]bool, n)
		for x := range n {
			y := k.permute(x, n, 7)
			if y >= n || seen[y] {
				t.Fatalf("of %d: %d becomes %d", n, x, y)
			}
			seen[y] = true
		}
	}
}

// Equal stay equal, different stay different, for values too short for chance to see to it.
func TestShortValuesStayDifferent(t *testing.T) {
	k := testKey()
	was := map[string]string{}
	add := func(v string) {
		p := string(k.Text(nil, []byte(v)))
		if len(p) != len(v) {
			t.Fatalf("%q becomes %q", v, p)
		}
		if other, ok := was[p]; ok {
			t.Fatalf("%q and %q both become %q", v, other, p)
		}
		was[p] = v
	}
	for n := -40000; n < 40000; n++ {
		add(strconv.Itoa(n))
	}
	for _, c := range []string{"-0", "+1", "007", "1.5", "1.50", "true", "yes", "f"} {
		add(c)
	}
	for a := range alphabet {
		if _, formed := k.formed(nil, []byte{alphabet[a]}); !formed {
			add(alphabet[a : a+1])
		}
		for b := range alphabet {
			if v := alphabet[a:a+1] + alphabet[b:b+1]; !reserved([]byte(v)) && digits([]byte(v)) == 0 {
				add(v)
			}
			add(alphabet[a:a+1] + "@" + alphabet[b:b+1])
		}
	}
}

func TestTextKeepsKind(t *testing.T) {
	k := testKey()
	for v, form := range map[string]string{
		"0": `^\d$`, "7": `^\d$`, "-12": `^-[1-9]\d$`, "123456": `^[1-9]\d{5}$`, "0042": `^00[1-9]\d$`,
		"12.50": `^[1-9]\d\.\d\d$`, ".5": `^\.\d$`, "6.02e23": `^\d\.\d\de23$`,
		"123456789012345678901234567890":       `^[1-9]\d{29}$`,
		"550e8400-e29b-41d4-a716-446655440000": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"2024-02-29":                           `^20\d\d-\d\d-\d\d$`, "2024-02-29 23:59:59.123+02": `^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+02$`,
		"2024-02-29T10:00Z": `^20\d\d-\d\d-\d\dT\d\d:\d\dZ$`, "12:30": `^\d\d:\d\d$`, "3 days -20 mins": `^\d days -[1-9]\d mins$`,
		`\x0aff`: `^\\x[0-9a-f]{4}$`, "true": `^true$`, "infinity": `^infinity$`, "": `^$`,
		"joe@example.com": `^[0-9A-Za-z]{15}$`, "a-b c": `^[0-9A-Za-z]-[0-9A-Za-z] [0-9A-Za-z]$`,
		"{1,22,NULL}": `^\{\d,[1-9]\d,NULL\}$`, "[2024-01-01,2024-02-01)": `^\[20\d\d-\d\d-\d\d,20\d\d-\d\d-\d\d\)$`,
		"Ünïcode, and long": `^[0-9A-Za-z]{19}$`,
	} {
		out := string(k.Text(nil, []byte(v)))
		if !regexp.MustCompile(form).MatchString(out) || len(out) != len(v) {
			t.Errorf("%s becomes %s", v, out)
		}
		if len(out) >= len(isoDate) && regexp.MustCompile(`^20\d\d-`).MatchString(out) {
			if _, err := time.Parse(isoDate, out[:len(isoDate)]); err != nil {
				t.Error(err)
			}
		}
	}
	document := `{"name": "Ada Lovelace", "tags": ["a b", "c"], "born": 1815, "ok": true, "none": null, "path": "a\"b"}`
	out := k.Text(nil, []byte(document))
	var was, is map[string]any
	if err := json.Unmarshal(out, &is); err != nil || len(out) != len(document) {
		t.Errorf("%s: %v", out, err)
	}
	if _ = json.Unmarshal([]byte(document), &was); len(is) != len(was) || bytes.Contains(out, []byte("Ada")) {
		t.Errorf("%s", out)
	}
	if key := string(k.Text(nil, []byte("born"))); is[key] == nil {
		t.Errorf("a key of JSON and a text of the same letters differ: %s has no %s", out, key)
	}
}

// What fits an integer type of PostgreSQL's becomes what does.
func TestIntegersFit(t *testing.T) {
	k := testKey()
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{16, 32, 64}).Draw(t, "bits")
		v := rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1).Draw(t, "v")
		text := strconv.FormatInt(v, 10)
		out := string(k.Text(nil, []byte(text)))
		x, err := strconv.ParseInt(out, 10, bits)
		if err != nil || len(out) != len(text) {
			t.Fatalf("%s becomes %s: %v", text, out, err)
		}
		var raw []byte
		oid := map[int]uint32{16: typeInt2, 32: typeInt4, 64: typeInt8}[bits]
		raw = binary.BigEndian.AppendUint64(nil, uint64(v))[8-bits/8:]
		want := binary.BigEndian.AppendUint64(nil, uint64(x))[8-bits/8:]
		if got, ok := k.Binary(nil, raw, oid); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%d is %x in binary form and %d in text", v, got, x)
		}
	})
}

// Nothing panics and lengths stay, whatever comes.
func FuzzText(f *testing.F) {
	for _, v := range []string{"", "-", "1e", "{", "{\"", `{"a\`, "2024-13-01", "12:", "[(\"\"]", "0x", `\x`} {
		f.Add([]byte(v), uint32(0))
	}
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9}, uint32(1007))
	f.Fuzz(func(t *testing.T, v []byte, oid uint32) {
		k := testKey()
		out := k.Text(nil, v)
		if len(out) != len(v) || !bytes.Equal(out, testKey().Text(nil, v)) {
			t.Fatalf("%q becomes %q", v, out)
		}
		if out, ok := k.Binary(nil, v, oid); ok && len(out) != len(v) {
			t.Fatalf("%q of type %d becomes %q", v, oid, out)
		}
		if out, ok := k.Literal(nil, v); ok && len(out) != len(v) {
			t.Fatalf("literal %q becomes %q", v, out)
		}
	})
}

func TestBinaryArrayAndUUID(t *testing.T) {
	k := testKey()
	array := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 1, 0x86, 0xa0, 0xff, 0xff, 0xff, 0xff}
	for _, oid := range []uint32{0, 1007} {
		out, ok := k.Binary(nil, array, oid)
		if !ok || len(out) != len(array) || !bytes.Equal(out[:24], array[:24]) || !bytes.Equal(out[28:], array[28:]) {
			t.Fatalf("%x", out)
		}
		if got, want := fmt.Sprint(binary.BigEndian.Uint32(out[24:])), string(k.Text(nil, []byte("100000"))); got != want {
			t.Errorf("%s in the array, %s as text", got, want)
		}
	}
	raw, _ := hex.DecodeString("550e8400e29b41d4a716446655440000")
	out, _ := k.Binary(nil, raw, typeUUID)
	text := k.Text(nil, []byte("550e8400-e29b-41d4-a716-446655440000"))
	if hex.EncodeToString(out) != string(bytes.ReplaceAll(text, []byte("-"), nil)) {
		t.Errorf("%x and %s", out, text)
	}
}

func TestKeysDiffer(t *testing.T) {
	v := []byte("a text long enough")
	a, b := New([]byte("one")), New([]byte("two"))
	if bytes.Equal(a.Text(nil, v), b.Text(nil, v)) || bytes.Equal(a.ID(), b.ID()) || bytes.Equal(NewRandom().Text(nil, v), NewRandom().Text(nil, v)) {
		t.Error("keys make the same pseudonyms")
	}
}
