// Package reach leads the API server to the machines' kubelets, and to what answers its webhooks. A node's InternalIP is its machine's address, as on Talos, and this computer does not
// have that address. So the API server asks here instead of dialling: its egress selector sends `CONNECT address:port` to a socket (kubernetes.io,
// "Set up Konnectivity service", HTTPConnect).
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

// Table says where the machines' addresses are to be had on this computer.
type Table struct {
	mutex  sync.Mutex
	places map[string]string
}

// Put says at which address of this computer a machine's own is to be had, port for port unless it says one; "" while no server answers there.
func (t *Table) Put(address, place string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.places == nil {
		t.places = map[string]string{}
	}
	t.places[address] = place
}

// placeOf an address; an address of no machine is its own.
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
	_ = os.Remove(socket) // of a program that was killed
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

// Join passes on what both say, until one of them has ended.
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
