package dbtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a running PostgreSQL.
type Server struct {
	Addr  string // 127.0.0.1:PORT
	Port  int
	Major int
	Dir   string // its temporary folder; the data folder is Dir/data

	in       install
	who      account
	settings []string
	password string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	frozen []int
}

// Start runs a server with its files in a new folder under dir ("" is the
// usual place for temporary files). Close stops it and removes the folder.
func Start(ctx context.Context, dir string, o Options) (*Server, error) {
	if o.Major == 0 {
		o.Major = 15
	}
	in, err := find(o.Major)
	if err != nil {
		return nil, err
	}
	who, err := servant()
	if err != nil {
		return nil, err
	}
	home, err := tempDir(dir, who)
	if err != nil {
		return nil, err
	}
	s := &Server{Major: in.major, Dir: home, in: in, who: who, settings: o.Settings, password: o.Password, Port: o.Port}
	if err := newData(in, who, o.Password, s.data()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	if err := s.put(o.Files); err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	if err := s.startSomewhere(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) put(files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(s.data(), name)
		if err := errors.Join(os.WriteFile(path, content, 0o600), s.who.own(path)); err != nil {
			return err
		}
	}
	return nil
}

// tempDir makes a folder that the account may enter.
func tempDir(under string, who account) (string, error) {
	dir, err := os.MkdirTemp(under, "retrace-pg-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, 0o755), who.own(dir))
}

func (s *Server) data() string    { return filepath.Join(s.Dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.Dir, "log") }

// Log is what the server has said since it was last started.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.logFile())
	return strings.TrimSpace(string(b))
}

// startSomewhere picks a free port and tries another when somebody was faster.
func (s *Server) startSomewhere(ctx context.Context) error {
	if s.Port != 0 {
		return s.Restart(ctx)
	}
	var err error
	for range 5 {
		if s.Port, err = FreePort(); err != nil {
			return err
		}
		if err = s.Restart(ctx); err == nil || !strings.Contains(err.Error(), "could not bind") {
			return err
		}
	}
	return err
}

// Restart starts a server that is down, on the port it had.
func (s *Server) Restart(ctx context.Context) error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.Port)}
	for _, setting := range append(append([]string{}, fast...), s.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(s.in.program("postgres"), args...)
	cmd.Env, cmd.Dir = s.in.env(), s.Dir
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	s.who.apply(cmd)
	if err := StartBound(cmd, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	return s.wait(ctx)
}

// wait returns when the server takes connections.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		select {
		case <-s.exited:
			return fmt.Errorf("PostgreSQL %d on port %d ended at once:\n%s", s.Major, s.Port, s.Log())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL %d on port %d did not come up: %w", s.Major, s.Port, ctx.Err())
		case <-time.After(15 * time.Millisecond):
		}
		if s.ready() {
			return nil
		}
	}
}

// ready asks as pg_isready does: any answer that is not "starting up" will do.
func (s *Server) ready() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	const settings = "user\x00postgres\x00database\x00postgres\x00\x00"
	packet := binary.BigEndian.AppendUint32(nil, uint32(8+len(settings)))
	packet = binary.BigEndian.AppendUint32(packet, 3<<16)
	_, _ = c.Write(append(packet, settings...))
	answer := make([]byte, 256)
	n, _ := c.Read(answer)
	return n > 0 && (answer[0] == 'R' || !bytes.Contains(answer[:n], []byte("57P03")))
}

// URL is the connection string for a user and a database; "" is postgres.
func (s *Server) URL(user, db string) string { return s.URLVia(s.Addr, user, db) }

// URLVia is URL through another address, such as a proxy's.
func (s *Server) URLVia(addr, user, db string) string {
	u := url.URL{Scheme: "postgres", Host: addr, Path: "/" + orPostgres(db), User: url.User(orPostgres(user))}
	if s.password != "" && u.User.Username() == User {
		u.User = url.UserPassword(User, s.password)
	}
	return u.String()
}

func orPostgres(name string) string {
	if name == "" {
		return User
	}
	return name
}

// Pid is the postmaster's process id, or 0 when the server is down.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}
