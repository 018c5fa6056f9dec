//go:build !linux

package replay

import (
	"errors"
	"net"

	"github.com/retrace-db/retrace/internal/clock"
)

// loop and fiber are built where there is epoll. Elsewhere sessions have
// goroutines.
type (
	loop  struct{}
	fiber struct{ threadLine }
)

func newLoop(clock.Clock, bool) (*loop, error) { return nil, errors.ErrUnsupported }
func (*loop) adopt(net.Conn) (*fiber, bool)    { return nil, false }
func (*loop) close()                           {}
func (*fiber) start(func())                    {}
