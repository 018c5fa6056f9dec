package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// step is what a long verb says about itself now and then.
type step struct {
	Done, Total int64  // in any unit; Total 0 where the end is not known
	Words       string // what else is worth a glance: rates, counts, trouble
}

const (
	lineEvery = 10 * time.Second       // where stderr is no terminal
	drawEvery = 250 * time.Millisecond // where it is
)

// progress shows how far a verb is: a bar on a terminal, a line each 10 s
// elsewhere, nothing when quiet. It is also where the verb's log goes, so that
// lines and bar do not cut into each other.
type progress struct {
	out  io.Writer
	bars *mpb.Progress // nil where there is no terminal
	name string
	now  func() step
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// watch starts to show what now returns, which is called from another
// goroutine. The caller must Stop it.
func (e Env) watch(name string, quiet bool, now func() step) *progress {
	p := &progress{out: e.Err, name: name, now: now, stop: make(chan struct{})}
	switch {
	case quiet:
	case e.ErrTTY:
		p.draw()
	default:
		p.done.Go(p.lines)
	}
	return p
}

// Stop removes the bar. What is said afterwards goes straight to stderr.
func (p *progress) Stop() {
	p.once.Do(func() { close(p.stop) })
	p.done.Wait()
}

// Write puts lines above the bar; once that is gone, where it was.
func (p *progress) Write(b []byte) (int, error) {
	if p.bars != nil {
		if n, err := p.bars.Write(b); err == nil {
			return n, nil
		}
	}
	return p.out.Write(b)
}

func (p *progress) lines() {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	start := time.Now()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			_, _ = fmt.Fprintln(p.out, p.line(p.now(), time.Since(start)))
		}
	}
}

// line is one progress report in plain text.
func (p *progress) line(s step, elapsed time.Duration) string {
	text := fmt.Sprintf("%s: %s", p.name, elapsed.Round(time.Second))
	if s.Total > 0 {
		text += fmt.Sprintf(", %d %%", percent(s))
	}
	if s.Words != "" {
		text += ", " + escape(s.Words)
	}
	return text
}

func percent(s step) int64 {
	return int64(100 * min(float64(s.Done)/float64(s.Total), 1))
}

func (p *progress) draw() {
	var last atomic.Pointer[step]
	last.Store(&step{})
	words := func(decor.Statistics) string { return " " + escape(last.Load().Words) }
	p.bars = mpb.New(mpb.WithOutput(p.out), mpb.WithRefreshRate(drawEvery), mpb.WithWidth(30), mpb.WithAutoRefresh())
	bar := p.bar(words)
	p.done.Go(func() {
		tick := time.NewTicker(drawEvery)
		defer tick.Stop()
		for {
			s := p.now()
			last.Store(&s)
			if s.Total > 0 {
				// The bar must not complete by itself: the verb may still be
				// closing files, and its end is Stop.
				bar.SetTotal(s.Total, false)
				bar.SetCurrent(min(s.Done, s.Total-1))
			}
			select {
			case <-p.stop:
				bar.Abort(true)
				p.bars.Wait()
				return
			case <-tick.C:
			}
		}
	})
}

// bar is a bar where the end is known and a spinner where it is not.
func (p *progress) bar(words func(decor.Statistics) string) *mpb.Bar {
	name := decor.Name(p.name + " ")
	elapsed := decor.Elapsed(decor.ET_STYLE_GO)
	if p.now().Total == 0 {
		return p.bars.AddSpinner(0, mpb.BarWidth(2), mpb.PrependDecorators(name, elapsed), mpb.AppendDecorators(decor.Any(words)))
	}
	style := mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("░").Rbound("")
	return p.bars.New(0, style, mpb.PrependDecorators(name, elapsed, decor.Name(" ")),
		mpb.AppendDecorators(decor.Percentage(), decor.AverageETA(decor.ET_STYLE_GO, decor.WC{C: decor.DextraSpace}), decor.Any(words)))
}
