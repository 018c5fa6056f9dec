package trace

import (
	"errors"
	"io"
	"os"
)

var errStub = errors.New("trace: not built yet")

type WriterOptions struct {
	Due        bool           // events carry when they were due
	Diverged   bool           // events carry how they differ from the recorded ones
	NoValues   bool           // a run: neither shapes nor values
	BlockBytes int            // raw bytes of events a block is sealed at; 0 means 512 KiB
	States     func() []State // the live sessions; called when a segment opens (inside NewWriter, Event, Flush, Restart)
	Now        func() int64   // ns since the Unix epoch; nil means the wall clock
}

type Writer struct{}

func NewWriter(w io.Writer, h Header, o WriterOptions) (*Writer, error) { return nil, errStub }
func (w *Writer) Intern(op Op, prepare uint32, shape []byte, describe func() (text string, types []uint32)) (uint32, error) {
	return 0, errStub
}
func (w *Writer) InternEntry(e *Entry) (uint32, error) { return 0, errStub }
func (w *Writer) Event(e *Event) error                 { return errStub }
func (w *Writer) Reply(session, ordinal uint64, r *Reply, shape uint32) error {
	return errStub
}
func (w *Writer) State(s *State) error { return errStub }
func (w *Writer) Gap(g Gap) error      { return errStub }
func (w *Writer) EndSession(id uint64) {}
func (w *Writer) Flush() error         { return errStub }
func (w *Writer) Close() error         { return errStub }
func (w *Writer) Generation() int      { return 0 }
func (w *Writer) Lost() []Gap          { return nil }
func (w *Writer) Restart() error       { return errStub }
func (w *Writer) Totals() Totals       { return Totals{} }

type File struct{ *os.File }

func Create(path string, force bool) (*File, error) { return nil, errStub }

type Reader struct{}

type ReadOptions struct{ NoValues bool }

type Late struct {
	Session, Ordinal uint64
	Reply
	Entry *Entry // nil: unchanged
}

type Batch struct {
	Header *Header // of the segment the block belongs to
	Events []Event
	Late   []Late
	Gaps   []Gap
	States []State
}

type Damage struct {
	File     string `json:"file"`
	From, To int64
	What     string `json:"what"`
}

func Open(paths ...string) (*Reader, error)        { return nil, errStub }
func NewReader(r io.Reader, name string) *Reader   { return &Reader{} }
func (r *Reader) Options(o ReadOptions)            {}
func (r *Reader) Header() *Header                  { return nil }
func (r *Reader) Headers() []*Header               { return nil }
func (r *Reader) Next(b *Batch) error              { return errStub }
func (r *Reader) Damage() []Damage                 { return nil }
func (r *Reader) Complete() bool                   { return false }
func (r *Reader) Each(fn func(*Event) error) error { return errStub }
func (r *Reader) Close() error                     { return nil }

// Summary is what Info says about a trace.
type Summary struct {
	Headers  []*Header
	Complete bool
	Damage   []Damage
	Totals
}

func Info(paths ...string) (*Summary, error) { return nil, errStub }

// Report is what Verify found.
type Report struct {
	Summary
	Problems []string
}

func Verify(paths ...string) (*Report, error) { return nil, errStub }

// Difference is what Diff found.
type Difference struct {
	Equal           bool             `json:"equal"`
	Sessions        [2]uint64        `json:"sessions"`
	Events          [2]uint64        `json:"events"`
	Exempt          [2]uint64        `json:"exempt"` // events left out: cancels, redacted, over the limit
	FirstDifference *FirstDifference `json:"first_difference"`
}

// FirstDifference is the first place where two traces part.
type FirstDifference struct {
	Sessions [2]uint64 `json:"sessions"`
	Ordinals [2]uint64 `json:"ordinals"`
	What     string    `json:"what"`
}

func Diff(a, b []string) (*Difference, error) { return nil, errStub }
