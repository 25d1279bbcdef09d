//go:build linux

package cable

import (
	"io"
	"net"
	"time"
)

// DialTo connects to an address.
func DialTo(network, address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout(network, address, 10*time.Second) }
}

// Forward connects whoever comes to whom dial reaches then.
func Forward(listener net.Listener, dial func() (net.Conn, error)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := dial()
			if err != nil {
				return
			}
			defer server.Close()
			join(client, server)
		}()
	}
}

// join passes on what both say, until one of them has ended.
func join(client, server net.Conn) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}
