package aggregate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// parser takes the lines of a tool's output.
type parser interface {
	line(s string) error
	run() (*Run, error)
}

// kind is a tool's output, told by a line that nothing else prints.
type kind struct {
	sign func(line string) bool
	new  func() parser
}

var kinds = []kind{
	{pgbenchSign, func() parser { return &pgbench{} }},
	{pgbenchLogSign, func() parser { return newPgbenchLog() }},
	{sysbenchSign, func() parser { return &sysbench{} }},
	{ycsbSign, func() parser { return newYCSB() }},
	{ybSign, func() parser { return &yb{} }},
	{maibornWolffSign, func() parser { return &maibornWolff{} }},
}

const (
	// Head is how much of a file is looked at to tell what it is.
	Head = 256 << 10
	// maxLine bounds what is held of a file.
	maxLine = 1 << 20
	// maxFigures is more than any tool reports.
	maxFigures = 10_000
)

// Known tells whether a file that begins so is output that can be read.
func Known(head []byte) bool { return find(head) != nil }

// find looks for the first line that is a sign of a tool.
func find(head []byte) *kind {
	for line := range bytes.Lines(head) {
		s := strings.TrimSpace(string(line))
		for i := range kinds {
			if kinds[i].sign(s) {
				return &kinds[i]
			}
		}
	}
	return nil
}

var (
	errUnknown = errors.New("not the output of pgbench, sysbench, YCSB, yb-sample-apps or MaibornWolff's benchmark")
	errSecond  = errors.New("a second run begins here; put each into a file of its own")
	errMany    = fmt.Errorf("more than %d kinds of operations", maxFigures)
)

// Read reads one run.
func Read(in io.Reader) (*Run, error) {
	buffered := bufio.NewReaderSize(in, Head)
	head, err := buffered.Peek(Head)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	k := find(head)
	if k == nil {
		return nil, errUnknown
	}
	p, n := k.new(), 0
	lines := bufio.NewScanner(buffered)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		n++
		if err := p.line(strings.TrimRight(lines.Text(), " \r")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	r, err := p.run()
	if err != nil {
		return nil, err
	}
	r.mark()
	return r, nil
}

// number reads a figure as tools print them: finite and not negative.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= 1e15) {
		return 0, fmt.Errorf("%.40q is no number that a benchmark would report", s)
	}
	return v, nil
}

// numbers reads several, up to the first that is none.
func numbers(texts ...string) ([]float64, error) {
	out := make([]float64, len(texts))
	for i, s := range texts {
		var err error
		if out[i], err = number(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func count(v float64) *uint64 { return new(uint64(v)) }
