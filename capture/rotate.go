package capture

import (
	"io"
	"time"
)

// Rotate says when a recording goes on in another file. The zero value is never.
type Rotate struct {
	Bytes int64         // once a file has so many; 0: whatever its size
	Every time.Duration // once it is so old; 0: whatever its age
	Next  func() (io.Writer, error)
}

// rotated is where the current file began.
type rotated struct {
	bytes int64
	at    int64
}

// due tells whether it is time for another file.
func (r *Rotate) due(since rotated, bytes, now int64) bool {
	return r.Next != nil && (r.Bytes > 0 && bytes-since.bytes >= r.Bytes || r.Every > 0 && now-since.at >= int64(r.Every))
}

// rotate goes on in another file. If that fails it is tried again, as writing is.
func (e *encoder) rotate(now int64) {
	err := e.w.Rotate(e.recorder.options.Rotate.Next)
	e.file = rotated{e.w.Written(), now}
	e.check(err)
}
