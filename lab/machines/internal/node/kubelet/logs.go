package kubelet

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// logs has the output of a machine's containers by NAMESPACE/POD/CONTAINER, of this run and of the previous one.
type logs struct {
	mutex sync.Mutex
	runs  map[string][2]*log
}

// log is the output of one run of a container.
type log struct {
	logs *logs
	text strings.Builder
}

func (l *log) Write(data []byte) (int, error) {
	l.logs.mutex.Lock()
	defer l.logs.mutex.Unlock()
	return l.text.Write(data)
}

// last returns the last count lines of the output.
func (l *log) last(count int) string {
	l.logs.mutex.Lock()
	defer l.logs.mutex.Unlock()
	lines := strings.SplitAfter(strings.TrimSuffix(l.text.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "")
}

func newLogs() *logs { return &logs{runs: map[string][2]*log{}} }

// begin returns a new log for a container that starts, and keeps the log of the previous run.
func (l *logs) begin(pod *corev1.Pod, container string) *log {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := pod.Namespace + "/" + pod.Name + "/" + container
	l.runs[key] = [2]*log{{logs: l}, l.runs[key][0]}
	return l.runs[key][0]
}

func (l *logs) forget(pod *corev1.Pod) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	maps.DeleteFunc(l.runs, func(key string, _ [2]*log) bool { return strings.HasPrefix(key, pod.Namespace+"/"+pod.Name+"/") })
}

// serve serves GET /containerLogs/NAMESPACE/POD/CONTAINER with tailLines and previous. The rest of the kubelet's API is
// not emulated. The server listens on 127.0.0.1, and the API server reaches it through package reach. Its certificate
// is unknown to the API server, which does not verify it.
func (l *logs) serve(ctx context.Context) (port int32) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(response http.ResponseWriter, request *http.Request) {
		run, query := 0, request.URL.Query()
		if query.Get("previous") == "true" {
			run = 1
		}
		l.mutex.Lock()
		found := l.runs[request.PathValue("namespace")+"/"+request.PathValue("pod")+"/"+request.PathValue("container")][run]
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
	server := httptest.NewTLSServer(mux)
	context.AfterFunc(ctx, server.Close)
	return int32(server.Listener.Addr().(*net.TCPAddr).Port)
}
