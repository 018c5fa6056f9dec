package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// SE-06: orders are taken from this machine only, and not from web pages that a
// browser on it shows.
func TestControlAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:1": true, "[::1]:7": true, "localhost:7": true, "LocalHost:7": true, "[::ffff:127.0.0.1]:1": true,
		"unix:/run/x": true, "unix:": false, "0.0.0.0:7": false, "[::]:7": false, ":7": false, "192.0.2.1:7": false,
		"localhost.example:7": false, "127.0.0.1.nip.io:7": false, "127.1:7": false, "127.0.0.1": false, "[::1%lo]:7": false,
	} {
		if err := checkControl(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestControlRefusesWebPages(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for name, c := range map[string]struct {
		host    string
		header  map[string]string
		private bool
		want    int
	}{
		"curl":               {host: "127.0.0.1:6433", want: 204},
		"curl by name":       {host: "localhost:6433", want: 204},
		"IPv6":               {host: "[::1]:6433", want: 204},
		"IPv6 on port 80":    {host: "[::1]", want: 204},
		"rebound name":       {host: "evil.example:6433", want: 403},
		"no host":            {host: "", want: 403},
		"name like loopback": {host: "127.0.0.1.evil.example:6433", want: 403},
		"cross-site post":    {host: "127.0.0.1:6433", header: map[string]string{"Origin": "http://evil.example"}, want: 403},
		"sandboxed page":     {host: "127.0.0.1:6433", header: map[string]string{"Origin": "null"}, want: 403},
		"empty origin":       {host: "127.0.0.1:6433", header: map[string]string{"Origin": ""}, want: 403},
		"image of a page":    {host: "127.0.0.1:6433", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		"typed by a person":  {host: "127.0.0.1:6433", header: map[string]string{"Sec-Fetch-Site": "none"}, want: 204},
		"socket, any host":   {host: "whatever", private: true, want: 204},
		"socket, page":       {host: "x", private: true, header: map[string]string{"Origin": "http://x"}, want: 403},
	} {
		q := httptest.NewRequest(http.MethodPost, "/stop", nil)
		q.Host = c.host
		for k, v := range c.header {
			q.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		guarded(ok, c.private).ServeHTTP(w, q)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", name, w.Code, c.want)
		}
	}
}

// SE-04: nobody else can use the socket; one left behind is replaced, anything
// else is left alone.
func TestControlSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control")
	l, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := listenUnix(path); err == nil {
		t.Error("two programs on one socket")
	}
	kept := path + ".kept"
	if err := os.Link(path, kept); err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // as if killed: kept is still there
	again, err := listenUnix(kept)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path); err == nil {
		t.Error("a file was replaced by a socket")
	}
}
