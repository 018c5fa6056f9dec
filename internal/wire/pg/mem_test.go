package pg

import (
	"runtime"
	"testing"
	"unsafe"
)

// What a session costs that has prepared seven statements and is at work:
// capture and replay have ten thousand of them.
func TestMemoryPerSession(t *testing.T) {
	steps := script(t, `
		> P:P_0:BEGIN; | P:P_1:UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2; | P:P_2:c | P:P_3:d | P:P_4:e | P:P_5:f | P:P_6:g | S
		< 1 | 1 | 1 | 1 | 1 | 1 | 1 | Z:I
		> B::P_0:1234567 | D:P: | E: | S
		< 2 | T | D:-4711 | C:SELECT 1 | Z:I`)
	const n = 1000
	all := make([]*Conversation, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = NewConversation(nothing{}, Options{LoggedIn: true})
		feed(t, all[i], steps)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := (after.HeapAlloc - before.HeapAlloc) / n
	runtime.KeepAlive(all)
	t.Logf("%d bytes per session, %d of them the struct", per, unsafe.Sizeof(*all[0]))
	if per > 8<<10 {
		t.Errorf("%d bytes per session", per)
	}
}
