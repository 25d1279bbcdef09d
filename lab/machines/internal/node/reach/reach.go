// Package reach connects the API server to the machines' kubelets and to the webhooks. As on Talos, a node's InternalIP
// is its machine's address, but this computer does not have that address. So the API server does not dial it: its
// egress selector sends `CONNECT address:port` to a socket of this package (kubernetes.io, "Set up Konnectivity
// service", HTTPConnect).
package reach

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// dialLimit is how long a kubelet may take to accept a connection.
const dialLimit = 10 * time.Second

// Table maps addresses of machines to addresses of this computer.
type Table struct {
	mutex  sync.Mutex
	places map[string]string
}

// Put maps a machine's address to an address of this computer. A place without a port keeps the requested port. An
// empty place means that no server answers there.
func (t *Table) Put(address, place string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.places == nil {
		t.places = map[string]string{}
	}
	t.places[address] = place
}

// placeOf returns the place of an address. An address that is not in the table is returned unchanged.
func (t *Table) placeOf(address string) string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if place, known := t.places[address]; known {
		return place
	}
	return address
}

// Serve answers on a socket until ctx ends.
func (t *Table) Serve(ctx context.Context, socket string) error {
	_ = os.Remove(socket) // a program that was killed leaves its socket
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("kubernetes.nodes: %w; the API server has no other way to the kubelets", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(t.connect)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

func (t *Table) connect(w http.ResponseWriter, request *http.Request) {
	address, port, err := net.SplitHostPort(request.RequestURI)
	if request.Method != http.MethodConnect || err != nil {
		http.Error(w, "CONNECT address:port", http.StatusBadRequest)
		return
	}
	place := t.placeOf(address)
	if place == "" {
		http.Error(w, address+": no server answers there", http.StatusBadGateway)
		return
	}
	if _, _, err := net.SplitHostPort(place); err != nil {
		place = net.JoinHostPort(place, port)
	}
	server, err := net.DialTimeout("tcp", place, dialLimit)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
		Join(client, server)
	}
}

// Join copies data in both directions until one side ends.
func Join(client, server net.Conn) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}
