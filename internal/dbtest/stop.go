package dbtest

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// Stop shuts the server down as an operator would (sessions end, data are
// written); Restart brings it back on the same port.
func (s *Server) Stop() error { return s.end(syscall.SIGINT, 20*time.Second) }

// Kill ends the server as a power cut would.
func (s *Server) Kill() error {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	select {
	case <-exited: // its number may be somebody else's by now
	default:
		signalAll(descendants(cmd.Process.Pid), syscall.SIGKILL)
	}
	return s.end(syscall.SIGKILL, 10*time.Second)
}

func (s *Server) end(sig syscall.Signal, limit time.Duration) error {
	s.Thaw()
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.cmd = nil
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	pid := cmd.Process.Pid
	_ = cmd.Process.Signal(sig)
	select {
	case <-exited:
		return nil
	case <-time.After(limit):
	}
	signalAll(descendants(pid), syscall.SIGKILL)
	<-exited
	return fmt.Errorf("PostgreSQL %d (pid %d) did not stop in %s and was killed", s.Major, pid, limit)
}

// Close ends the server, however it is, and removes its folder.
func (s *Server) Close() error {
	err := s.end(syscall.SIGQUIT, 10*time.Second)
	if e := os.RemoveAll(s.Dir); err == nil {
		err = e
	}
	return err
}

// Freeze stops all processes of the server where they stand, as a stalled
// machine would; its kernel still accepts connections and bytes.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	for { // the postmaster stands first, so soon nothing new appears
		fresh := 0
		for _, pid := range descendants(s.cmd.Process.Pid) {
			if !slices.Contains(s.frozen, pid) && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				s.frozen = append(s.frozen, pid)
				fresh++
			}
		}
		if fresh == 0 {
			return
		}
	}
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Reverse(s.frozen)
	signalAll(s.frozen, syscall.SIGCONT)
	s.frozen = nil
}
