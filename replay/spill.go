package replay

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// A chunk of the spill file belongs to one session. It begins with the number
// of that session's next chunk, which is set aside when a chunk is written, so
// that a queue of any length is two numbers in memory.
const (
	chunkSize   = 8 << 10
	chunkHeader = 4
	chunkData   = chunkSize - chunkHeader
)

// spill is a temporary file of chunks. It has no name: nobody else can open it,
// and it is gone when the process is.
type spill struct {
	dir string

	mu   sync.Mutex
	file *os.File
	free []uint32
	next uint32
	peak uint32 // chunks the file has held at once
}

// open creates the file when it is first needed.
func (s *spill) open() (*os.File, error) {
	if s.file != nil {
		return s.file, nil
	}
	f, err := os.CreateTemp(s.dir, "retrace-spill-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("create spill file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("unlink spill file: %w", err)
	}
	s.file = f
	return f, nil
}

// reserve sets a chunk aside.
func (s *spill) reserve() (uint32, *os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.open()
	if err != nil {
		return 0, nil, err
	}
	if n := len(s.free); n > 0 {
		chunk := s.free[n-1]
		s.free = s.free[:n-1]
		return chunk, f, nil
	}
	s.next++
	s.peak = max(s.peak, s.next)
	return s.next - 1, f, nil
}

// write puts chunkData bytes into a chunk that was reserved, and reserves the
// one that is to follow it.
func (s *spill) write(chunk uint32, data []byte, scratch *[chunkSize]byte) (next uint32, err error) {
	next, f, err := s.reserve()
	if err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(scratch[:], next)
	copy(scratch[chunkHeader:], data)
	if _, err := f.WriteAt(scratch[:], int64(chunk)*chunkSize); err != nil {
		return 0, fmt.Errorf("write spill file: %w", err)
	}
	return next, nil
}

// read appends the data of a chunk to dst, frees the chunk and tells which one
// follows it.
func (s *spill) read(dst []byte, chunk uint32) ([]byte, uint32, error) {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	var header [chunkHeader]byte
	at := int64(chunk) * chunkSize
	if _, err := f.ReadAt(header[:], at); err != nil {
		return dst, 0, fmt.Errorf("read spill file: %w", err)
	}
	n := len(dst)
	dst = append(dst, make([]byte, chunkData)...)
	if _, err := f.ReadAt(dst[n:], at+chunkHeader); err != nil {
		return dst[:n], 0, fmt.Errorf("read spill file: %w", err)
	}
	s.release(chunk)
	return dst, binary.LittleEndian.Uint32(header[:]), nil
}

// release frees a chunk.
func (s *spill) release(chunk uint32) {
	s.mu.Lock()
	s.free = append(s.free, chunk)
	s.mu.Unlock()
}

// close gives the disk space back.
func (s *spill) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
