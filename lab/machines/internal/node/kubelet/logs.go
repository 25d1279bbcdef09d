package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/node/identity"
)

// logs are what the containers of a machine wrote, this run and the one before, by NAMESPACE/POD/CONTAINER.
type logs struct {
	mutex     sync.Mutex
	now, then map[string]*log
}

// log is what one run of a container wrote.
type log struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *log) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(data)
}

// last lines of what was written.
func (l *log) last(count int) string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	lines := strings.SplitAfter(strings.TrimSuffix(l.text.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "")
}

func newLogs() *logs { return &logs{now: map[string]*log{}, then: map[string]*log{}} }

func logKey(pod *corev1.Pod, container string) string {
	return pod.Namespace + "/" + pod.Name + "/" + container
}

// begin is the log of a container that starts.
func (l *logs) begin(pod *corev1.Pod, container string) *log {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key, fresh := logKey(pod, container), &log{}
	l.then[key], l.now[key] = l.now[key], fresh
	return fresh
}

func (l *logs) forget(pod *corev1.Pod) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		delete(l.now, logKey(pod, container.Name))
		delete(l.then, logKey(pod, container.Name))
	}
}

// serve is the one part of the kubelet's own API that is emulated: GET /containerLogs/NAMESPACE/POD/CONTAINER, with tailLines and
// previous. It listens on 127.0.0.1; the API server reaches it by the package reach.
func (l *logs) serve(ctx context.Context) (port int32, err error) {
	certificate, err := identity.SelfSigned()
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("listening for log requests: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(response http.ResponseWriter, request *http.Request) {
		l.mutex.Lock()
		runs, query := l.now, request.URL.Query()
		if query.Get("previous") == "true" {
			runs = l.then
		}
		found := runs[request.PathValue("namespace")+"/"+request.PathValue("pod")+"/"+request.PathValue("container")]
		l.mutex.Unlock()
		if found == nil {
			http.Error(response, "no log of this container yet", http.StatusNotFound)
			return
		}
		lines, err := strconv.Atoi(query.Get("tailLines"))
		if err != nil {
			lines = 1 << 20
		}
		_, _ = response.Write([]byte(found.last(lines)))
	})
	server := &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}
