package pg

// Splitter takes events apart into shape and values.
type Splitter struct{}

// Split returns the shape, the sizes (0 NULL, 1 redacted, n+2) and the values
// end to end, valid until the next call.
func (s *Splitter) Split(b []byte) (shape []byte, sizes []uint64, values []byte) {
	return nil, nil, nil
}

// Secret: the SQL of the last Split may hold a password.
func (s *Splitter) Secret() bool { return false }

// Join appends the event that shape, sizes and values were split from.
func Join(dst, shape []byte, sizes []uint64, values []byte) ([]byte, error) { return dst, errTODO }

// Describe returns an event's SQL with its literals folded, and the parameter
// types its Parse declares.
func Describe(b []byte) (text string, types []uint32) { return "", nil }
