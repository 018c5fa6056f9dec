package trace

import (
	"fmt"
	"os"
)

// maxHeld is how many bytes of values wait in memory for replies. The rest, such
// as the data of a COPY whose statement has no reply before the last of them,
// goes to a file that has no name.
const maxHeld = 16 << 20

// spill keeps values outside of memory.
type spill struct {
	held int // bytes in memory
	f    *os.File
	size int64
	left int // values in the file not yet asked for
	buf  []byte
}

// put writes values to the file and gives their offset, or -1 if they may stay
// in memory.
func (s *spill) put(values []byte) (int64, error) {
	if len(values) == 0 || s.held+len(values) <= maxHeld {
		s.held += len(values)
		return -1, nil
	}
	if s.f == nil {
		f, err := os.CreateTemp("", "retrace-spill-*") // 0600, O_EXCL
		if err != nil {
			return 0, fmt.Errorf("spill file: %w", err)
		}
		_ = os.Remove(f.Name()) // it lives as long as it is open
		s.f = f
	}
	at := s.size
	n, err := s.f.WriteAt(values, at)
	if err != nil {
		return 0, fmt.Errorf("spill file: %w", err)
	}
	s.size += int64(n)
	s.left++
	return at, nil
}

// get reads values back. Once all were, the file is used again from its start.
func (s *spill) get(at int64, n int) ([]byte, error) {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	if _, err := s.f.ReadAt(s.buf[:n], at); err != nil {
		return nil, fmt.Errorf("spill file: %w", err)
	}
	if s.left--; s.left == 0 {
		s.size = 0
	}
	return s.buf[:n], nil
}

func (s *spill) release(n int) { s.held -= n }

func (s *spill) close() {
	if s.f != nil {
		_ = s.f.Close() // nothing in it is wanted any more
	}
}
