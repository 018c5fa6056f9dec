package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/retrace-db/retrace"

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Deps       []string
}

// rules say which of our packages each may depend on, directly or not. The
// first prefix that fits holds; what none fits may depend on anything.
var rules = []struct {
	of    string
	allow []string
}{
	{"internal/fingerprint", nil},
	{"trace/filter", []string{"trace", "internal/fingerprint"}},
	{"trace", nil},
	{"internal/clock", nil},
	{"internal/target", nil},
	{"internal/dbtest", nil},
	{"internal/wire/", []string{"internal/wire/"}},
	{"analyze/aggregate", nil},
	{"analyze", []string{"trace", "internal/fingerprint"}},
	{"synth", []string{"trace", "internal/wire/"}},
	{"capture", []string{"trace", "internal/fingerprint", "internal/wire/", "internal/target", "internal/clock"}},
	{"replay", []string{"trace", "internal/fingerprint", "internal/wire/", "internal/target", "internal/clock"}},
	{"internal/sim", []string{"internal/wire/", "internal/target", "internal/clock"}},
}

func TestPackagesDependOnlyOnWhatTheyMay(t *testing.T) {
	seen := 0
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, rule := range rules {
			if !under(name, rule.of) {
				continue
			}
			seen++
			for _, dep := range p.Deps {
				dep, ours := strings.CutPrefix(dep, module+"/")
				if ours && !allowed(dep, append(rule.allow, rule.of)) {
					t.Errorf("%s depends on %s; it may depend on %v", name, dep, rule.allow)
				}
			}
			break
		}
	}
	if seen < 5 {
		t.Fatalf("the rules fit only %d packages", seen)
	}
}

// What the shipped program must not hold: test code, and a decoder that bad
// input can crash.
func TestBinaryHoldsNoTestCode(t *testing.T) {
	for _, p := range list(t, "./cmd/retrace") {
		for _, dep := range p.Deps {
			if dep == "testing" || under(dep, "github.com/jackc/pgproto3/v2") || strings.HasSuffix(dep, "/internal/dbtest") {
				t.Errorf("%s is linked into the program", dep)
			}
		}
	}
}

var processWide = regexp.MustCompile(`\bos\.(Exit|Args|Stdin|Stdout|Stderr)\b|\bslog\.Default\b`)

func TestOnlyCommandsTouchArgumentsExitAndStreams(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if under(name, "cmd/") || under(name, "internal/demo") || under(name, "internal/bench") || under(name, "internal/peers") {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if found := processWide.Find(text); found != nil {
				t.Errorf("%s/%s uses %s", name, file, found)
			}
		}
	}
}

// under tells whether name is prefix or below it.
func under(name, prefix string) bool {
	return name == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(name, strings.TrimSuffix(prefix, "/")+"/")
}

func allowed(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if under(name, prefix) {
			return true
		}
	}
	return false
}

func list(t *testing.T, pattern string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps=false", "-json=ImportPath,Dir,GoFiles,Deps", pattern)
	cmd.Dir = filepath.Join("..", "..")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, said.Bytes())
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
