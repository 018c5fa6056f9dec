package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// install is where one PostgreSQL version's programs are.
type install struct {
	major int
	bin   string
	lib   string // for LD_LIBRARY_PATH; empty where the system knows
}

func (i install) program(name string) string { return filepath.Join(i.bin, name) }

func (i install) env() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if i.lib != "" {
		env = append(env, "LD_LIBRARY_PATH="+i.lib)
	}
	return env
}

// npmVersion is the package that brings PostgreSQL 18; .ci/setup unpacks it.
const npmVersion = "18.4.0-beta.17"

// find looks for the programs of a major version. 15 stands for Debian's own:
// where 15 itself is missing, the newest that Debian installed will do.
func find(major int) (install, error) {
	if major == 18 {
		return findUnpacked()
	}
	if bin := debianBin(major); bin != "" {
		return install{major: major, bin: bin}, nil
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	var newest int
	for _, path := range all {
		v, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		newest = max(newest, v)
	}
	if newest < major {
		return install{}, fmt.Errorf("no PostgreSQL %d under /usr/lib/postgresql: run `make setup` or install postgresql-%d", major, major)
	}
	return install{major: newest, bin: debianBin(newest)}, nil
}

func debianBin(major int) string {
	bin := fmt.Sprintf("/usr/lib/postgresql/%d/bin", major)
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
		return ""
	}
	return bin
}

func findUnpacked() (install, error) {
	for _, dir := range caches() {
		native := filepath.Join(dir, "postgres-"+npmVersion, "native")
		if _, err := os.Stat(filepath.Join(native, "bin", "postgres")); err == nil {
			return install{major: 18, bin: filepath.Join(native, "bin"), lib: filepath.Join(native, "lib")}, nil
		}
	}
	return install{}, fmt.Errorf("no PostgreSQL 18 in %v: run `make setup`", caches())
}

// caches lists the folders where make setup puts what it unpacks. As root that
// is /var/cache: the servers run as somebody who cannot read root's home.
func caches() []string {
	dirs := []string{"/var/cache/retrace"}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "retrace"))
	}
	if dir := os.Getenv("RETRACE_CACHE"); dir != "" {
		dirs = slices.Insert(dirs, 0, dir)
	}
	return dirs
}
