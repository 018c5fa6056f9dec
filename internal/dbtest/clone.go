package dbtest

import (
	"context"
	"errors"
	"testing"
)

// Clone runs a second server on a copy of this one's files: same rows, same
// OIDs. This one is stopped for the copying, so its sessions end.
func (s *Server) Clone(t testing.TB) *Server {
	t.Helper()
	c, err := s.Copy(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.finish(t) })
	return c
}

// Copy is Clone outside tests; dir is as in Start.
func (s *Server) Copy(ctx context.Context, dir string) (*Server, error) {
	home, err := tempDir(dir, s.who)
	if err != nil {
		return nil, err
	}
	c := &Server{Major: s.Major, Dir: home, in: s.in, who: s.who, settings: s.settings, password: s.password}
	err = errors.Join(s.Stop(), copyTree(s.data(), c.data()), s.Restart(ctx))
	if err == nil {
		err = c.startSomewhere(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
