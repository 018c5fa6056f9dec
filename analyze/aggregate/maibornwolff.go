package aggregate

import (
	"errors"
	"strings"
)

// maibornWolff reads the table that the insert benchmark of
// github.com/MaibornWolff/database-performance-comparison ends with: rows per
// second by number of workers, over the runs with that many.
type maibornWolff struct {
	inTable, done bool
	r             Run
}

func maibornWolffSign(line string) bool {
	return strings.Join(strings.Fields(line), " ") == "Workers Min Max Avg"
}

func (p *maibornWolff) line(s string) error {
	if maibornWolffSign(s) {
		if p.done {
			return errSecond
		}
		p.inTable, p.done = true, true
		return nil
	}
	f := strings.Fields(s)
	if len(f) != 4 {
		p.inTable = p.inTable && len(f) == 0
	}
	if !p.inTable || len(f) == 0 {
		return nil
	}
	v, err := numbers(f...)
	if err != nil {
		return err
	}
	if len(p.r.Figures) == maxFigures {
		return errMany
	}
	p.r.Figures = append(p.r.Figures, Figure{Of: "insert, workers: " + f[0], Unit: Row, PerS: &v[3]})
	return nil
}

func (p *maibornWolff) run() (*Run, error) {
	if len(p.r.Figures) == 0 {
		return nil, errors.New("the table of MaibornWolff's benchmark is empty")
	}
	p.r.Tool = "MaibornWolff"
	return &p.r, nil
}
