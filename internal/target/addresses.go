package target

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// Addresses are all places the target stands for, resolved: IP:PORT, or
// unix:PATH for a socket. A trace keeps them, so that a replay against the very
// server that was recorded can be refused whatever name it is given.
func (t *Target) Addresses(ctx context.Context) ([]string, error) {
	var all []string
	for _, e := range t.endpoints() {
		network, address := pgconn.NetworkAddress(e.host, e.port)
		if network == "unix" {
			all = append(all, "unix:"+address)
			continue
		}
		ips, err := t.config.LookupFunc(ctx, e.host)
		if err != nil {
			return all, &Error{Class: Unreachable, target: t.String(), reason: fmt.Sprintf("the name %s does not resolve", e.host), err: err}
		}
		for _, ip := range ips {
			all = append(all, net.JoinHostPort(ip, strconv.Itoa(int(e.port))))
		}
	}
	return all, nil
}
