package clock

import (
	"context"
	"errors"
	"math"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func precise(t *testing.T) *Precise {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Both clocks: nobody wakes early, and everybody wakes.
func TestWaitIsNeverEarly(t *testing.T) {
	for name, c := range map[string]Clock{"timers": NewTimers(), "precise": precise(t)} {
		t.Run(name, func(t *testing.T) {
			var group sync.WaitGroup
			for i := range 200 {
				group.Go(func() {
					due := c.Now() + int64(i%50)*int64(time.Millisecond)/3
					if err := c.Wait(t.Context(), due); err != nil {
						t.Error(err)
					}
					if now := c.Now(); now < due {
						t.Errorf("woke %d ns early", due-now)
					}
				})
			}
			group.Wait()
		})
	}
}

func TestWaitForThePastReturnsAtOnce(t *testing.T) {
	for name, c := range map[string]Clock{"timers": NewTimers(), "precise": precise(t)} {
		for _, at := range []int64{math.MinInt64, -1, 0, c.Now()} {
			if err := c.Wait(t.Context(), at); err != nil {
				t.Errorf("%s: %d: %v", name, at, err)
			}
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	for name, c := range map[string]Clock{"timers": NewTimers(), "precise": precise(t)} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if err := c.Wait(ctx, math.MaxInt64); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want a deadline error", name, err)
		}
		if err := c.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: an ended context was not noticed: %v", name, err)
		}
		cancel()
	}
}

func TestAt(t *testing.T) {
	for name, c := range map[string]Clock{"timers": NewTimers(), "precise": precise(t)} {
		called := make(chan int64, 2)
		due := c.Now() + int64(3*time.Millisecond)
		stop := c.At(due+int64(time.Hour), func() { called <- 0 })
		c.At(due, func() { called <- c.Now() })
		if at := <-called; at < due {
			t.Errorf("%s: called %d ns early", name, due-at)
		}
		c.At(math.MinInt64, func() { called <- c.Now() })
		<-called
		stop()
	}
}

func TestTimersUnderFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewTimers()
		begin := c.Now()
		if err := c.Wait(t.Context(), begin+int64(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := c.Now() - begin; got != int64(3*time.Hour) {
			t.Errorf("waited %v, want 3h", time.Duration(got))
		}
	})
}

// The heap gives waiters back in order, whatever is removed from its middle.
func TestQueueIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []int64
		for _, at := range rapid.SliceOf(rapid.Int64Range(0, 50)).Draw(t, "times") {
			q.push(&waiter{at: at})
			want = append(want, at)
		}
		for range rapid.IntRange(0, len(want)).Draw(t, "removals") {
			w := q.remove(rapid.IntRange(0, len(q)-1).Draw(t, "index"))
			for i, at := range want {
				if at == w.at {
					want = append(want[:i], want[i+1:]...)
					break
				}
			}
		}
		sort.Slice(want, func(i, j int) bool { return want[i] < want[j] })
		for i, at := range want {
			if w := q.remove(0); w.at != at {
				t.Fatalf("number %d is %d, want %d", i, w.at, at)
			}
		}
	})
}

func BenchmarkWaitForNow(b *testing.B) {
	c, err := New()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Wait(b.Context(), c.Now()+1000)
	}
}
