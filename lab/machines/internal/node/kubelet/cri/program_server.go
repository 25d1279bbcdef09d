package cri

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"talos-gpu/lab/machines/internal/node/kubelet/tool"
)

// programServer runs emulated programs for real shell scripts: the command on PATH hands its arguments and environment
// over (package tool), gets the output back, and ends with the program's exit code. A container's address holds a secret.
type programServer struct {
	base       string
	mutex      sync.Mutex
	containers map[string]*Container
}

func newProgramServer(ctx context.Context) (*programServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the containers' programs: %w", err)
	}
	server := &programServer{base: "http://" + listener.Addr().String() + "/", containers: map[string]*Container{}}
	serving := &http.Server{Handler: server, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = serving.Close() })
	go func() { _ = serving.Serve(listener) }()
	return server, nil
}

// address is where the container's programs are asked for.
func (p *programServer) address(c *Container) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for secret, have := range p.containers {
		if have.folder == c.folder {
			p.containers[secret] = c
			return p.base + secret
		}
	}
	secret := rand.Text()
	p.containers[secret] = c
	return p.base + secret
}

// forget drops a container that is gone.
func (p *programServer) forget(folder string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for secret, have := range p.containers {
		if have.folder == folder {
			delete(p.containers, secret)
		}
	}
}

func (p *programServer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	p.mutex.Lock()
	container := p.containers[strings.TrimPrefix(request.URL.Path, "/")]
	p.mutex.Unlock()
	var call tool.Call
	if container == nil || json.NewDecoder(request.Body).Decode(&call) != nil || len(call.Argv) == 0 {
		http.Error(response, "no such container", http.StatusNotFound)
		return
	}
	program, found := container.program(call.Argv[0])
	if !found {
		http.Error(response, "no such program", http.StatusNotFound)
		return
	}
	response.Header().Set("Trailer", tool.ExitTrailer)
	response.WriteHeader(http.StatusOK)
	running := *container
	running.Argv, running.Env = call.Argv, call.Env
	running.Output = flusher{response}
	code := program(request.Context(), &running)
	response.Header().Set(tool.ExitTrailer, fmt.Sprint(code))
}

// flusher sends every line at once.
type flusher struct{ response http.ResponseWriter }

func (f flusher) Write(data []byte) (int, error) {
	count, err := f.response.Write(data)
	if flush, ok := f.response.(http.Flusher); ok {
		flush.Flush()
	}
	return count, err
}
