// Package nfd emulates Node Feature Discovery's worker and master (kubernetes-sigs/node-feature-discovery v0.17 to v0.19).
package nfd

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// Discovery is what its programs share.
type Discovery struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// New prepares the programs with a client that may do everything.
func New(client kubernetes.Interface, dynamic dynamic.Interface) *Discovery {
	return &Discovery{client: client, dynamic: dynamic}
}

// Collector is the garbage collector. What it removes, NodeFeature objects of nodes that are gone, the lab does not make.
func Collector(ctx context.Context, c *cri.Container) int {
	go health(ctx, c)
	<-ctx.Done()
	return 143
}

// health serves /healthz where -port says, 8080 without it (node-feature-discovery v0.18 cmd/nfd-master/main.go). Until v0.17
// the probes are gRPC's, which the kubelet here takes for passed.
func health(ctx context.Context, c *cri.Container) {
	port := 8080
	for _, argument := range c.Argv {
		if value, found := strings.CutPrefix(argument, "-port="); found {
			port, _ = strconv.Atoi(value)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if err := c.Serve(ctx, port, mux); err != nil {
		c.Logf("http server error: %v", err)
	}
}
