package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// lead is how long after the preparations the clock starts, so that what is due
// first is not late already.
const lead = 20 * time.Millisecond

// Run replays a trace. The summary is given whenever anything was replayed,
// also beside an error. When ctx ends, nothing more is sent, outstanding
// replies are waited for a while, and the summary is partial.
func Run(ctx context.Context, in *trace.Reader, o Options) (*Summary, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	h := in.Header()
	if h == nil {
		return nil, firstError(in)
	}
	if o.Loops > 1 && o.Again == nil {
		return nil, &UsageError{"--loop needs a trace that can be read again, and stdin cannot: write it to a file first", "--loop 3"}
	}
	pace, err := o.paceOf(h)
	if err != nil {
		return nil, err
	}
	if err := o.checkOrder(h); err != nil {
		return nil, err
	}
	if err := guard(ctx, &o, in.Headers()); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		c, err := clock.New()
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close() }()
		o.Clock = c
	}
	p := newPlayer(ctx, &o, pace, in)
	defer p.stop()
	if err := p.prepare(ctx, &o, h); err != nil {
		return nil, errors.Join(err, p.spill.close())
	}
	return p.replay(ctx, &o, h)
}

// firstError is why a trace has no header.
func firstError(in *trace.Reader) error {
	var b trace.Batch
	if err := in.Next(&b); err != nil {
		return err
	}
	return errors.New("the trace has no start block")
}

// prepare does what must be done before the clock starts.
func (p *player) prepare(ctx context.Context, o *Options, h *trace.Header) error {
	if err := p.source.prime(); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	found, err := p.preflight(ctx, o, h)
	if err != nil {
		return err
	}
	if o.Run == nil {
		return nil
	}
	p.run, err = newRunWriter(o.Run, p.runHeader(ctx, o, h, found), p.account, trace.WriterOptions{Due: p.pace.scheduled(), Checksums: o.Check, Now: p.clock.Now})
	return err
}

// runHeader is the header of the run.
func (p *player) runHeader(ctx context.Context, o *Options, h *trace.Header, found server) trace.Header {
	run := trace.Header{
		Engine: h.Engine, EngineVersion: found.version, MadeBy: trace.ByReplay, Tool: o.Tool,
		Started: time.Unix(0, p.clock.Now()).UTC().Format(time.RFC3339Nano), Timing: trace.TimingOriginal,
		Run: &trace.Run{Source: h.Trace, Label: o.Label, Number: o.Number, Pace: p.pace.name(), DurationS: o.Duration.Seconds()},
	}
	if !p.pace.scheduled() {
		run.Timing = trace.TimingClosedLoop
	}
	if name := p.pace.name(); name == PaceOriginal || name == PaceThink {
		run.Run.Speed = p.schedule.speed
	}
	if o.Loops > 1 {
		run.Run.Loops = o.Loops
	}
	run.Run.RatePerS, run.Run.MaxGapS = o.Rate, o.MaxGap.Seconds()
	if o.Target != nil {
		run.Run.Target = o.Target.String()
		run.Source = &trace.Source{Target: o.Target.String()}
		run.Source.Addresses, _ = o.Target.Addresses(ctx) // they resolved a moment ago
	}
	return run
}

// replay plays the sessions and waits for them.
func (p *player) replay(ctx context.Context, o *Options, h *trace.Header) (*Summary, error) {
	if o.Started != nil {
		o.Started(&Progress{p})
	}
	unwatch := context.AfterFunc(ctx, func() { p.end(interrupted) })
	defer unwatch()
	if o.connect == nil && !o.threads {
		p.openLoops()
		defer p.closeLoops()
	}
	p.connectOpen()
	p.schedule.origin, p.schedule.base = p.source.first, p.clock.Now()
	if p.pace.scheduled() {
		p.schedule.base += int64(lead)
	}
	if p.gate != nil {
		p.gate.start(&p.schedule)
	}
	p.begun.Store(true)
	close(p.started)
	if o.Duration > 0 {
		timer := time.AfterFunc(time.Duration(p.schedule.base-p.clock.Now())+o.Duration, func() { p.end(expired) })
		defer timer.Stop()
	}
	done := make(chan struct{})
	go p.stalls.watch(done)
	p.sessions.Go(p.source.run)
	p.sessions.Wait()
	close(done)
	elapsed := time.Duration(max(p.clock.Now()-p.schedule.base, 0))
	return p.close(o, h, elapsed)
}

// openLoops makes loops for half of the processors: the target may be on this
// machine, and reading the trace and writing the run want theirs. Where there
// can be none, every session has a goroutine.
func (p *player) openLoops() {
	clock.Prompt()
	processors := runtime.GOMAXPROCS(0)
	for range max(processors/2, 1) {
		l, err := newLoop(p.clock, processors > 1)
		if err != nil {
			return
		}
		p.loops = append(p.loops, l)
	}
}

func (p *player) closeLoops() {
	for _, l := range p.loops {
		l.close()
	}
}

// connectOpen connects the sessions that were open when the recording began,
// before the clock starts.
func (p *player) connectOpen() {
	for _, s := range p.source.open() {
		s.early = true
		p.opening.Add(1)
		p.begin(s)
	}
	p.opening.Wait()
}

// close ends what the replay used.
func (p *player) close(o *Options, h *trace.Header, elapsed time.Duration) (*Summary, error) {
	err := p.err
	if p.run != nil {
		err = errors.Join(err, p.run.close())
	}
	err = errors.Join(err, p.spill.close())
	return p.summary(o, h.Trace, elapsed), err
}
