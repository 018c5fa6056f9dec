//go:build !unix

package main

import (
	"errors"
	"net"
)

func listenUnix(string) (net.Listener, error) {
	return nil, errors.New("unix sockets cannot be kept private on this system: use a loopback address")
}
