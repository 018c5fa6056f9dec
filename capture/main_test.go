package capture

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/retrace-db/retrace/internal/dbtest.init.func1.1"))
}
