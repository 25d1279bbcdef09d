// Package nfd emulates Node Feature Discovery's worker and master (kubernetes-sigs/node-feature-discovery v0.17 to v0.19).
package nfd

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// Discovery is what its programs share.
type Discovery struct {
	// as is a client with the rights of a service account.
	as      Clients
	dynamic dynamic.Interface
}

// Clients gives a client with the rights of a service account and no others: `system:serviceaccount:NAMESPACE:NAME`.
type Clients func(account string) (kubernetes.Interface, error)

// Impersonating gives clients of service accounts to somebody who may act as everybody.
func Impersonating(config *rest.Config) Clients {
	return func(account string) (kubernetes.Interface, error) {
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = account
		return kubernetes.NewForConfig(own)
	}
}

// New prepares the programs. Nodes are changed with the rights of the pod's own account, which its chart gives and takes: after the
// release is gone, a master that has not ended yet can write nothing behind the job that prunes. The rest is done by a client that
// may do everything.
func New(as Clients, dynamic dynamic.Interface) *Discovery {
	return &Discovery{as: as, dynamic: dynamic}
}

// own is the client of the account that a pod has.
func (o *Discovery) own(c *cri.Container) (kubernetes.Interface, error) {
	return o.as("system:serviceaccount:" + c.Pod.Namespace + ":" + c.Pod.Spec.ServiceAccountName)
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
