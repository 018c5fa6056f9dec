package dbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// newData makes a data folder at dir, owned by the account. Only the kind
// without a password comes from a template: the others are rare.
func newData(in install, who account, password, dir string) error {
	if password == "" {
		if from, err := template(in, who); err == nil {
			return copyTree(from, dir)
		}
	}
	return initdb(in, who, password, dir)
}

// template returns a fresh data folder to copy, which takes some hundredths
// of a second where initdb takes a whole one. It is kept between runs.
func template(in install, who account) (string, error) {
	cache, err := writableCache()
	if err != nil {
		return "", err
	}
	id, err := os.Stat(in.program("postgres"))
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, fmt.Sprintf("template-%d-%x-%s", in.major, id.ModTime().UnixNano(), who.name))
	unlock, err := lock(kept + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	return kept, makeTemplate(in, who, cache, kept)
}

func makeTemplate(in install, who account, cache, kept string) error {
	work, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := errors.Join(who.own(work), os.Chmod(work, 0o755)); err != nil {
		return err
	}
	if err := initdb(in, who, "", filepath.Join(work, "data")); err != nil {
		return err
	}
	return os.Rename(filepath.Join(work, "data"), kept)
}

func writableCache() (string, error) {
	var failed error
	for _, dir := range caches() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		return dir, nil
	}
	return "", failed
}

// lock keeps other test programs out until the returned function is called.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func initdb(in install, who account, password, dir string) error {
	args := []string{"-D", dir, "-U", User, "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	auth := []string{"-A", "trust"}
	if password != "" {
		file, err := passwordFile(who, filepath.Dir(dir), password)
		if err != nil {
			return err
		}
		defer os.Remove(file)
		auth = []string{"-A", "scram-sha-256", "--pwfile", file}
	}
	cmd := exec.Command(in.program("initdb"), append(args, auth...)...)
	cmd.Env, cmd.Dir = in.env(), "/"
	who.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb of PostgreSQL %d in %s: %w\n%s", in.major, dir, err, out)
	}
	return nil
}

func passwordFile(who account, dir, password string) (string, error) {
	f, err := os.CreateTemp(dir, "pw-")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(password + "\n")
	return f.Name(), errors.Join(err, f.Close(), who.own(f.Name()))
}

// copyTree copies a folder with owners and modes, sharing blocks where the
// file system can.
func copyTree(from, to string) error {
	if out, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying %s to %s: %w\n%s", from, to, err, out)
	}
	return nil
}
