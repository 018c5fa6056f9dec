package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Proxy is a running proxy of somebody else's, the rival in the bench.
type Proxy struct {
	Addr string
	Pid  int
	dir  string
	cmd  *exec.Cmd
}

const haproxyConf = `global
  maxconn 1000
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen pg
  bind 127.0.0.1:%d
  option tcpka
  server pg %s
`

// StartHAProxy runs HAProxy in tcp mode in front of addr, with the one thread
// that serves it best where client, server and proxy share two cores.
func StartHAProxy(ctx context.Context, addr string) (*Proxy, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf(haproxyConf, port, addr)
	return startProxy(ctx, port, "haproxy.cfg", conf, "/usr/sbin/haproxy", "-db", "-q", "-f")
}

const pgbouncerConf = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = session
max_client_conn = 1000
default_pool_size = 500
ignore_startup_parameters = extra_float_digits
logfile =
log_connections = 0
log_disconnections = 0
[users]
`

// StartPgBouncer runs PgBouncer in session mode in front of addr.
func StartPgBouncer(ctx context.Context, addr string) (*Proxy, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	host, back, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf(pgbouncerConf, host, back, port)
	conf = strings.Replace(conf, "* = host", "* = user="+User+" host", 1)
	return startProxy(ctx, port, "pgbouncer.ini", conf, "/usr/sbin/pgbouncer", "-q")
}

// startProxy writes a configuration, runs `program args… FILE` and waits until
// it listens.
func startProxy(ctx context.Context, port int, file, conf, program string, args ...string) (*Proxy, error) {
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%s is missing: run `make setup-bench`", program)
	}
	who, err := servant()
	if err != nil {
		return nil, err
	}
	dir, err := tempDir("", who)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, file)
	if err := errors.Join(os.WriteFile(path, []byte(conf), 0o644), who.own(path)); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(args, path)...)
	cmd.Dir = dir
	who.apply(cmd)
	if err := StartBound(cmd, syscall.SIGKILL); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &Proxy{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Pid: cmd.Process.Pid, dir: dir, cmd: cmd}
	if err := WaitListening(ctx, p.Addr); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", program, err), p.Close())
	}
	return p, nil
}

// Close ends the proxy and removes its files.
func (p *Proxy) Close() error {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return os.RemoveAll(p.dir)
}

// HAProxy runs HAProxy in front of addr until the test ends.
func HAProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/haproxy"); err != nil {
		Missing(t, "haproxy is missing: run `make setup-bench`")
	}
	p, err := StartHAProxy(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
