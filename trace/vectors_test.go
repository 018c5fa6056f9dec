package trace

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the traces of testdata/vectors from the code that assembles them")

const vectorDir = "testdata/vectors"

// The files of the vectors are what the code beside them assembles by the page,
// byte by byte, with nothing of this package.
func TestVectorsAreByHand(t *testing.T) {
	made := handVectors()
	for name, b := range made {
		path := filepath.Join(vectorDir, name+".trace")
		if *update {
			must(t, os.WriteFile(path, b, 0o644))
		}
		file, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(file, b) {
			t.Errorf("%s is not what is assembled: go test ./trace -run Vectors -update", path)
		}
	}
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.trace"))
	must(t, err)
	if len(files) != len(made) {
		t.Errorf("%d files, %d are assembled", len(files), len(made))
	}
}

// A reader sees in each vector what the file beside it says, which was written
// from the page too.
func TestVectors(t *testing.T) {
	for name, b := range handVectors() {
		d, err := documentOf(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := json.Marshal(d)
		must(t, err)
		sameDocument(t, name, got, expected(t, name))
	}
}

func expected(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(vectorDir, name+".json"))
	must(t, err)
	return b
}

func sameDocument(t *testing.T, name string, got, want []byte) {
	t.Helper()
	a, err := parsedDocument(got)
	must(t, err)
	b, err := parsedDocument(want)
	must(t, err)
	if reflect.DeepEqual(a, b) {
		return
	}
	for key, part := range b.(map[string]any) {
		have := a.(map[string]any)[key]
		if list, ok := part.([]any); ok {
			other, _ := have.([]any)
			for i := range list {
				if i >= len(other) || !reflect.DeepEqual(other[i], list[i]) {
					t.Errorf("%s: %s %d:\n got %v\nwant %v", name, key, i, at(other, i), list[i])
				}
			}
			if len(other) > len(list) {
				t.Errorf("%s: %d %s, want %d", name, len(other), key, len(list))
			}
			continue
		}
		if !reflect.DeepEqual(have, part) {
			t.Errorf("%s: %s is %v, want %v", name, key, have, part)
		}
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// readPy runs the other implementation of the page.
func readPy(t *testing.T, path string) []byte {
	t.Helper()
	python := "/usr/bin/python3" // Debian's has python3-zstandard
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import zstandard").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s has no module zstandard: make setup", python)
		}
		t.Skipf("%s has no module zstandard (Debian: python3-zstandard)", python)
	}
	var said bytes.Buffer
	cmd := exec.Command(python, "-B", "read.py", path)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read.py %s: %v\n%s", path, err, said.Bytes())
	}
	return out
}

func TestReadPyOnVectors(t *testing.T) {
	for name := range handVectors() {
		sameDocument(t, "read.py: "+name, readPy(t, filepath.Join(vectorDir, name+".trace")), expected(t, name))
	}
}

// What the package writes, read.py reads as the package does: of any stream of
// calls, of a run, whole and torn.
func TestReadPyOnFreshTraces(t *testing.T) {
	traces := map[string][]byte{
		"plain": plain(t, Header{}, WriterOptions{BlockBytes: 300}, 20),
		"mixed": mixed(t),
	}
	traces["run"] = replayed(t, NewReader(bytes.NewReader(traces["mixed"]), "x"), 3)
	traces["model"] = modelTrace(t)
	traces["torn"] = traces["model"][:len(traces["model"])*2/3]
	flipped := bytes.Clone(traces["model"])
	flipped[len(flipped)/2] ^= 0x20
	traces["flipped"] = flipped
	joined, _, _ := joined(t, NewReader(bytes.NewReader(flipped), "x"))
	traces["repaired"] = joined
	for name, b := range traces {
		d, err := documentOf(b)
		must(t, err)
		if len(d.Events) == 0 {
			t.Errorf("%s holds no event", name)
		}
		want, err := json.Marshal(d)
		must(t, err)
		sameDocument(t, "read.py: "+name, readPy(t, putFile(t, "trace", b)), want)
	}
}

// What is no trace is refused, as it is here.
func TestReadPyRefuses(t *testing.T) {
	readPy(t, filepath.Join(vectorDir, "replies.trace")) // skips where it cannot be run
	other := rehead(plain(t, Header{}, WriterOptions{}, 1), 0, func(head, _ []byte) { head[3] = '2' })
	for name, b := range map[string][]byte{"text": []byte(strings.Repeat("no trace\n", 20)), "version 2": other, "empty": nil} {
		if err := exec.Command("/usr/bin/python3", "-B", "read.py", putFile(t, "x", b)).Run(); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// modelTrace is a random stream of calls, the same every time.
func modelTrace(t *testing.T) []byte {
	drawn := rapid.Custom(func(t *rapid.T) []byte {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		return out.Bytes()
	})
	for seed := range 100 {
		if b := drawn.Example(seed); len(b) > 20_000 {
			return b
		}
	}
	t.Fatal("no stream is long enough")
	return nil
}

// The same calls make the same bytes.
func TestBytesAreStable(t *testing.T) {
	a := plain(t, Header{Tool: "t"}, WriterOptions{}, 5)
	b := plain(t, Header{Tool: "t"}, WriterOptions{}, 5)
	if !bytes.Equal(a, b) {
		t.Error("the same trace written twice differs")
	}
}
