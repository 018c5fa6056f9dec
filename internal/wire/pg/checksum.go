package pg

import "github.com/cespare/xxhash/v2"

// rowSum makes the checksum of a result: the sum of the XXH64 of each row, so
// that it does not depend on their order, of which SQL promises nothing. Rows
// are hashed as their bytes come, whatever their size.
type rowSum struct {
	wanted bool
	at     bool // the message at hand is a row
	pieces bool // it did not come at once
	sum    uint64
	digest *xxhash.Digest
}

// add takes bytes of a row; whole tells that they are all of it.
func (s *rowSum) add(b []byte, whole bool) {
	if whole && !s.pieces {
		s.sum = xxhash.Sum64(b)
		return
	}
	switch {
	case s.digest == nil:
		s.digest = xxhash.New()
	case !s.pieces:
		s.digest.Reset()
	}
	s.pieces = true
	_, _ = s.digest.Write(b) // never fails
}

// end is the checksum of the row.
func (s *rowSum) end() uint64 {
	if s.pieces {
		s.sum = s.digest.Sum64()
	}
	s.at, s.pieces = false, false
	return s.sum
}
