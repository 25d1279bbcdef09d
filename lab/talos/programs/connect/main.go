// connect leads one connection, its standard input and output, to an address of this computer. QEMU starts it for each connection
// of a machine to an address that leads here.
package main

import (
	"io"
	"net"
	"os"
)

func main() {
	server, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		os.Exit(1) // its standard error is the connection, too
	}

	go func() {
		_, _ = io.Copy(server, os.Stdin)       //nolint:errcheck // the machine has gone
		_ = server.(*net.TCPConn).CloseWrite() //nolint:errcheck,forcetypeassert // so has the server
	}()

	_, _ = io.Copy(os.Stdout, server) //nolint:errcheck // either has gone
}
