//go:build !linux

package replay

import "net"

// newLink is the cheapest link for a connection.
func newLink(c net.Conn) link { return plainLink{c} }
