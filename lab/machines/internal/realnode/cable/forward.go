//go:build linux

package cable

import (
	"net"
	"time"

	"talos-gpu/lab/machines/internal/node/reach"
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
			reach.Join(client, server)
		}()
	}
}
