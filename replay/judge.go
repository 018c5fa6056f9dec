package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// minTolerance and serviceShare say how late replay may be of its own
	// fault: 99 % of requests within a millisecond, or within a twentieth of
	// the median service time where that is longer.
	minTolerance = time.Millisecond
	serviceShare = 20
	// busyTolerance is how late the target may make 99 % of requests before
	// it did not keep up; a target whose typical statement is longer has that.
	busyTolerance = 10 * time.Millisecond
)

// summary says how the replay went.
func (p *player) summary(o *Options, source string, elapsed time.Duration) *Summary {
	m := p.account.total()
	s := &Summary{
		Schema: 1, Source: source, Pace: p.pace.name(), ElapsedS: elapsed.Seconds(), Partial: p.phase() == interrupted,
		Sessions: p.source.sessions, SessionsFailed: p.account.failed, SessionsLost: p.account.lost, PeakSessions: p.most,
		Statements: p.account.sessions.statements, Events: p.account.sessions.events,
		Reasons: m.reasons, Errors: m.errors, EventReasons: m.eventReasons, EventErrors: m.eventErrors,
		PreparedAgain: m.preparedAgain, Compared: m.compared, Diverged: m.diverged,
		DivergedStatus: m.divergedStatus, DivergedRows: m.divergedRows, DivergedOther: m.divergedOther,
		ServiceUS: m.service.spread(), ScheduleErrorUS: m.late.spread(), LagUS: m.lag.spread(), BusyUS: m.busy.spread(),
		Retries: m.retries, Retried: m.retriedLater, RetriedUS: m.retry.spread(), NotRetried: m.notRetried,
		Dangerous: p.source.perils,
		Order:     cmp.Or(o.Order, OrderSession), OrderReleased: m.orderReleased, OrderWaited: uint64(m.order.count()), OrderWaitUS: m.order.spread(),
		Valid: true, Why: []string{}, Warnings: []string{},
	}
	if o.Target != nil {
		s.Target = o.Target.String()
	}
	if o.Check {
		s.Checked = &m.checked
		if m.checked > 0 {
			s.DivergedResult = &m.divergedResult
		} else if m.compared > 0 {
			s.Warnings = append(s.Warnings, "no result was compared: the trace has no checksums of results (they come with capture --check)")
		}
	}
	if m.compared > 0 {
		s.DivergedPct = 100 * float64(m.diverged) / float64(m.compared)
	}
	s.Divergences, s.DivergencesRest = m.diverging.worst()
	p.checkSums(s)
	if name := p.pace.name(); name == PaceOriginal || name == PaceThink {
		s.Speed = &p.schedule.speed
	}
	if o.MaxGap != 0 {
		longest := o.MaxGap.Seconds()
		s.MaxGapS, s.GapsCut, s.CutS = &longest, p.silent.cuts.Load(), time.Duration(p.silent.cut.Load()).Seconds()
	}
	s.Loops = p.account.loopSummary()
	if o.Rate != 0 {
		s.RatePerS = &o.Rate
	}
	s.judge(&m)
	if p.pace.scheduled() {
		s.judgeTarget(&m)
	}
	s.warn(p)
	return s
}

// checkSums compares what was read with what became of it, in every session
// and in total.
func (p *player) checkSums(s *Summary) {
	read := &p.source.total
	s.Accounted = len(p.account.broken) == 0 && s.Statements.Holds() && s.Events.Holds() &&
		s.Statements.Captured == read.statements.Captured && s.Events.Captured == read.events.Captured
	// What was read is what counts, whatever the sessions say.
	s.Statements.Captured, s.Events.Captured = read.statements.Captured, read.events.Captured
	if s.Accounted {
		return
	}
	s.Valid = false
	why := fmt.Sprintf("the accounting is broken: %d events were read, %d have an outcome", s.Events.Captured, s.Events.Sum())
	if len(p.account.broken) > 0 {
		why += fmt.Sprintf(" (sessions %v)", p.account.broken)
	}
	s.Why = append(s.Why, why+"; this is a defect of retrace")
}

// judge tells whether replay itself was late.
func (s *Summary) judge(m *measures) {
	if m.late.count() == 0 {
		return
	}
	if late, allowed := m.late.quantile(99), max(int64(minTolerance), m.typical()/serviceShare); late > allowed {
		s.Valid = false
		s.Why = append(s.Why, fmt.Sprintf("retrace itself sent 1 %% of requests more than %s late (allowed: %s), as on a machine that is too busy", roughly(late), roughly(allowed)))
	}
}

// judgeTarget tells whether the target kept up with the schedule.
func (s *Summary) judgeTarget(m *measures) {
	kept := true
	s.KeptUp = &kept
	if m.busy.count() == 0 {
		return
	}
	if busy, allowed := m.busy.quantile(99), max(int64(busyTolerance), m.typical()); busy > allowed {
		kept = false
		s.Why = append(s.Why, fmt.Sprintf("the target did not keep up: 1 %% of requests waited more than %s for an earlier reply%s, at most %s", roughly(busy), s.whose(), roughly(m.busy.max)))
	}
}

// typical is the median service time.
func (m *measures) typical() int64 {
	if m.service.count() == 0 {
		return 0
	}
	return m.service.quantile(50)
}

// whose says which replies a request may have waited for.
func (s *Summary) whose() string {
	if s.Order == OrderCommit {
		return " of their session or for another transaction"
	}
	return " of their session"
}

func (s *Summary) warn(p *player) {
	warn := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	if p.refusal != nil {
		warn("%d of %d sessions got no connection: %s", s.SessionsFailed, s.Sessions, p.refusal)
	}
	if s.SessionsLost > 0 {
		warn("%d sessions lost their connection", s.SessionsLost)
	}
	if n := s.Errors["08P01"]; n > 0 {
		warn("%d statements failed with 08P01: so a server answers where its result has another number of columns than the recorded one, since some drivers ask for a format for each; compare the tables", n)
	}
	if p.source.gaps > 0 {
		warn("the trace has %d gaps: %d events were not recorded", p.source.gaps, p.source.missing)
	}
	if p.source.leftOut > 0 {
		warn("the recording left out %d events on purpose, so they were not replayed", p.source.leftOut)
	}
	if p.source.unknownFrom > 0 {
		warn("%d sessions begin in the middle and nothing is known of their beginning", p.source.unknownFrom)
	}
	if p.source.unportable > 0 {
		warn("%d statements declare parameter types by numbers that each database gives out itself: they are sent without, and the target finds the types from the statement", p.source.unportable)
	}
	if len(s.Dangerous) > 0 && p.selection.dangerous {
		warn("statements that could harm more than the data were sent: %s", listed(s.Dangerous))
	} else if len(s.Dangerous) > 0 {
		warn("statements that could harm more than the data were left out: %s (--allow-dangerous sends them)", listed(s.Dangerous))
	}
	if s.OrderReleased > 0 {
		warn("%d transactions were not replayed in the recorded order of commits: what they had to wait for was not over after %s (--order-wait)", s.OrderReleased, p.order.limit)
	}
	kept, n, total := p.stalls.all()
	s.Stalls = kept
	if total.Seconds() > stallShare*s.ElapsedS { // replies wait with us as well, and would count as the target's
		s.Valid = false
		s.Why = append(s.Why, fmt.Sprintf("retrace itself stood still for %s", roughly(int64(total))))
	}
	if n > 0 {
		warn("retrace itself stood still %d times, for %s in all, first %.1f s after the start: what was measured then says nothing of the target", n, roughly(int64(total)), kept[0].AtS)
	}
}

// listed is a list of what was counted.
func listed(counts map[string]uint64) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(parts, ", ")
}

// roughly is a duration in three digits.
func roughly(ns int64) time.Duration {
	d := time.Duration(ns)
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second / 10)
}

// stallShare is the part of its time that a valid run may have stood still.
const stallShare = 0.01
