// Package nfd emulates Node Feature Discovery's worker and master (kubernetes-sigs/node-feature-discovery v0.17 to v0.19).
package nfd

import (
	"context"
	"strconv"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"talos-gpu/lab/machines/internal/node/programs"
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
func (o *Discovery) own(c *programs.Container) (kubernetes.Interface, error) {
	return o.as("system:serviceaccount:" + c.Pod.Namespace + ":" + c.Pod.Spec.ServiceAccountName)
}

// Collector is the garbage collector. What it removes, NodeFeature objects of nodes that are gone, the lab does not make.
func Collector(ctx context.Context, c *programs.Container) int { return health(ctx, c) }

// health serves /healthz where -port says, 8080 without it (node-feature-discovery v0.18 cmd/nfd-master/main.go). Until v0.17
// the probes are gRPC's, which a real node's own NFD serves.
func health(ctx context.Context, c *programs.Container) int {
	port, err := strconv.Atoi(c.Argument("-port"))
	if err != nil {
		port = 8080
	}
	return c.Serves(ctx, port, programs.Well)
}
