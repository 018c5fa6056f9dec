package clock

import (
	"errors"
	"math"
	"os"
	"sync"
	"testing"
	"time"
)

func TestCloseWakesEverybody(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { _ = c.Wait(t.Context(), math.MaxInt64) })
	}
	time.Sleep(5 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if err := c.Wait(t.Context(), math.MaxInt64); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want closed", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
