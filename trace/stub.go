package trace

import (
	"errors"
	"io"
	"os"
)

var errStub = errors.New("trace: not built yet")

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

type decoder struct{}

func (d *decoder) openEntries(dir *directory, n int) (*entryColumns, error) { return nil, nil }
