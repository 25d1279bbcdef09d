package cri

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// listeners are the ports that a container serves, with the addresses of this computer that stand for them.
type listeners struct {
	mutex sync.Mutex
	ports map[int]string
}

// Serve answers HTTP for a port of the pod, really, until ctx ends: on an address of 127.0.0.1, or where the pod's network is a real one, on its port.
func (c *Container) Serve(ctx context.Context, port int, handler http.Handler) error {
	if c.Listen != nil {
		listener, err := c.Listen(port)
		if err != nil {
			return err
		}
		return serveUntil(ctx, listener, handler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for port %d of pod %s: %w", port, c.Pod.Name, err)
	}
	address := listener.Addr().String()
	c.network.Register(c.PodIP, port, address)
	c.listeners.mutex.Lock()
	c.listeners.ports[port] = address
	c.listeners.mutex.Unlock()
	c.announce(address)
	stopped := context.AfterFunc(ctx, func() {
		c.network.Unregister(c.PodIP, port, address)
		c.listeners.mutex.Lock()
		delete(c.listeners.ports, port)
		c.listeners.mutex.Unlock()
	})
	defer stopped()
	return serveUntil(ctx, listener, handler)
}

func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Endpoint is the address of a port, by number or name. Nil and "" when the image serves nothing because it is not emulated.
func (c *Container) Endpoint(port string) (string, error) {
	number := 0
	for _, candidate := range c.Spec.Ports {
		if candidate.Name == port {
			number = int(candidate.ContainerPort)
		}
	}
	if number == 0 {
		_, _ = fmt.Sscan(port, &number)
	}
	if address, found := c.listeners.address(number); found {
		return address, nil
	}
	if len(c.rule.Programs) == 0 && !c.listeners.any() {
		return "", nil
	}
	return "", fmt.Errorf("Get \"http://%s:%d/\": dial tcp %s:%d: connect: connection refused", c.PodIP, number, c.PodIP, number)
}

// address of a port that the container serves.
func (l *listeners) address(port int) (string, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	address, found := l.ports[port]
	return address, found
}

func (l *listeners) any() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.ports) > 0
}
