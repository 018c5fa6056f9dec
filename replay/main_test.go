package replay

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The thread that starts servers lives as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/retrace-db/retrace/internal/dbtest.init.func1.1"))
}
