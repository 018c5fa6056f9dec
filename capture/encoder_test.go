package capture

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// desk is a recorder whose encoder runs when it is told to.
type desk struct {
	*Recorder
	t   *testing.T
	out *memory
	now int64
}

func newDesk(t *testing.T) *desk {
	d := &desk{Recorder: bareRecorder(1 << 30), t: t, out: &memory{}, now: 1e18}
	d.options = RecorderOptions{Out: d.out, Header: trace.Header{Engine: "postgres"}, Flush: defaultFlush, Now: func() int64 { return d.now }}
	d.encoder = newEncoder(d.Recorder)
	return d
}

func (d *desk) tick() int64 { d.now += 1e6; return d.now }

// login begins a session.
func (d *desk) login() *tap {
	t := d.session(nil)
	t.client(script{}.startPacket(), d.tick())
	t.server(append(raw('R', "\x00\x00\x00\x00"), raw('Z', "I")...), d.tick())
	return t
}

// finish ends the trace and reads it back.
func (d *desk) finish() []trace.Event {
	d.t.Helper()
	d.drain(true)
	d.encoder.close()
	if d.encoder.broken != nil {
		d.t.Fatal(d.encoder.broken)
	}
	var all []trace.Event
	in := trace.NewReader(bytes.NewReader(d.out.b.Bytes()), "memory")
	if err := in.Each(func(e *trace.Event) error {
		c := *e
		c.Sizes, c.Values = append([]uint64(nil), e.Sizes...), append([]byte(nil), e.Values...)
		all = append(all, c)
		return nil
	}); err != nil {
		d.t.Fatal(err)
	}
	return all
}

// An execution is of the statement that the server ran, also where its client
// could not know yet that preparing another had failed, and also where the event
// was written before that came out.
func TestExecutionIsOfWhatTheServerRan(t *testing.T) {
	for _, early := range []bool{false, true} {
		d := newDesk(t)
		s := d.login()
		s.client(msgs(parse("s", "select 'first'"), syncMsg), d.tick())
		s.server(append(raw('1', ""), raw('Z', "I")...), d.tick())
		s.client(msgs(parse("s", "select 'second'"), syncMsg, bind("", "s"), execute(""), syncMsg), d.tick())
		if early {
			d.drain(true)
		}
		s.server(append(raw('E', "SERROR\x00C42P05\x00\x00"), raw('Z', "I")...), d.tick())
		s.server(append(append(raw('2', ""), raw('C', "SELECT 1\x00")...), raw('Z', "I")...), d.tick())
		s.end(d.tick(), clientGone)
		events := d.finish()
		e := events[3]
		if e.Entry.Op != trace.OpExecute || e.Entry.Prepare == nil || e.Entry.Prepare != events[1].Entry || e.Status != trace.OK {
			t.Errorf("early %v: event 3 is %c of %+v, %v", early, e.Entry.Op, e.Entry.Prepare, e.Status)
		}
		if events[2].Status != trace.Error || events[2].Reason != "42P05" {
			t.Errorf("early %v: event 2 is %v %s", early, events[2].Status, events[2].Reason)
		}
	}
}

// Of an event that is too large there is its text and its true length.
func TestOverLimit(t *testing.T) {
	d := newDesk(t)
	d.options.EventBytes = 10_000
	s := d.login()
	long := msgs(query("insert into t values (1, '" + strings.Repeat("x", 50_000) + "')"))
	s.client(long, d.tick())
	s.server(append(raw('C', "INSERT 0 1\x00"), raw('Z', "I")...), d.tick())
	s.end(d.tick(), clientGone)
	e := d.finish()[1]
	if !e.OverLimit || string(e.Values) != strconv.Itoa(len(long)) || e.Entry.Holes != 1 {
		t.Errorf("over limit %v, values %q, sent %d", e.OverLimit, e.Values, len(long))
	}
	if !strings.HasPrefix(e.Entry.Text, "insert into t values (0, ") || strings.Contains(e.Entry.Text, "xx") || strings.Contains(string(e.Entry.Shape), "xx") {
		t.Errorf("text %q, shape %q", e.Entry.Text, e.Entry.Shape)
	}
}

// A client may send a great deal without waiting; what that costs grows with it
// and not with its square, and is given back.
func TestLongPipeline(t *testing.T) {
	d := newDesk(t)
	s := d.login()
	s.client(msgs(parse("s", "select $1"), syncMsg), d.tick())
	s.server(append(raw('1', ""), raw('Z', "I")...), d.tick())
	const n = 50_000
	one, reply := msgs(bind("", "s", "v"), execute("")), append(raw('2', ""), raw('C', "SELECT 1\x00")...)
	s.client(bytes.Repeat(one, n), d.tick())
	d.drain(true)
	s.client(msgs(syncMsg), d.tick())
	s.server(bytes.Repeat(reply, n), d.tick())
	s.server(raw('Z', "I"), d.tick())
	d.drain(true)
	if p := &s.life.pending; len(p.all) != 0 || cap(p.all) > keepPending || cap(p.shapes) > 64*keepPending {
		t.Errorf("%d events and room for %d are kept", len(p.all), cap(p.all))
	}
	s.end(d.tick(), clientGone)
	events := d.finish()
	if len(events) != n+3 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if !e.HasReply || e.Ordinal != uint64(i) {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
}

// A bug in what turns rows into a trace must not end the traffic.
func TestEncoderPanics(t *testing.T) {
	d := newDesk(t)
	s := d.login()
	d.drain(true)
	d.encoder.describe = func() (string, []uint32) { panic("bug") }
	s.client(msgs(query("select 1")), d.tick())
	s.server(append(raw('C', "SELECT 1\x00"), raw('Z', "I")...), d.tick())
	d.drain(true)
	s.client(msgs(query("select 2")), d.tick())
	d.drain(true)
	d.publish()
	if got := d.Recorded(); !got.Broken || got.Trouble == nil || !strings.Contains(got.Trouble.Error(), "bug") {
		t.Errorf("%+v", got)
	}
}

// A session whose bytes make no sense is recorded as far as they did, and its
// ordinals have no hole without a name.
func TestFaults(t *testing.T) {
	for name, bad := range map[string][]byte{
		"between events": raw('y', "what"),
		"in an event":    append(msgs(parse("", "select 1")), raw('y', "what")...),
		"a bad length":   {'Q', 0xff, 0xff, 0xff, 0xff},
		"zeros":          make([]byte, 10),
	} {
		d := newDesk(t)
		s := d.login()
		s.client(msgs(query("select 1")), d.tick())
		s.client(bad, d.tick())
		s.client(msgs(query("select 2")), d.tick())
		s.server(append(raw('C', "SELECT 1\x00"), raw('Z', "I")...), d.tick())
		s.end(d.tick(), clientGone)
		events := d.finish()
		d.publish()
		got := d.Recorded()
		if len(got.Gaps) != 1 || len(events) != 3 || got.Faults != 1 {
			t.Errorf("%s: %d events, gaps %+v", name, len(events), got.Gaps)
			continue
		}
		if g := got.Gaps[0]; g.First != 2 || g.Last < 2 || events[2].Ordinal != g.Last+1 || events[2].Entry.Op != trace.OpEnd ||
			events[1].Status != trace.Lost {
			t.Errorf("%s: gap %+v, last events %+v", name, g, events[1:])
		}
	}
}
