// Package apid is the one endpoint of all machines: it routes calls by their metadata and merges answers, as apid does on
// a Talos machine (talos v1.13.0 internal/app/apid/pkg/director and backend).
package apid

import (
	"context"
	"slices"
	"strings"

	"github.com/siderolabs/grpc-proxy/proxy"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"talos-gpu/lab/machines/internal/talos/api"
	"talos-gpu/lab/machines/internal/talos/machine"
)

// Router finds the machines that a call is for.
type Router struct {
	machines map[string]*machine.Machine
	endpoint *machine.Machine
}

// NewRouter routes to machines by address and by name. A call that names no node is for the endpoint itself, which is a
// control plane where the stack has one.
func NewRouter(machines []*machine.Machine) *Router {
	router := &Router{machines: map[string]*machine.Machine{}, endpoint: machines[0]}
	for i := len(machines) - 1; i >= 0; i-- {
		m := machines[i]
		router.machines[m.Address()], router.machines[m.Key()] = m, m
		if m.Role() == "controlplane" {
			router.endpoint = m
		}
	}
	return router
}

// Direct is the proxy's director: a call for `nodes` is for several, one for `node` has its answer as it is.
func (r *Router) Direct(ctx context.Context, _ string) (proxy.Mode, []proxy.Backend, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	if nodes := incoming.Get("nodes"); len(nodes) > 0 {
		return proxy.One2Many, r.backends(nodes), nil
	}
	if node := incoming.Get("node"); len(node) > 0 {
		return proxy.One2One, r.backends(node[:1]), nil
	}
	return proxy.One2One, []proxy.Backend{&backend{target: r.endpoint.Address(), machine: r.endpoint, viaEndpoint: true}}, nil
}

// streamed says that a call answers with a stream: how answers of several nodes are put together depends on it.
func streamed(method string) bool {
	name := method[strings.LastIndex(method, "/")+1:]
	return slices.ContainsFunc(machineapi.MachineService_ServiceDesc.Streams, func(stream grpc.StreamDesc) bool {
		return strings.HasPrefix(method, "/machine.MachineService/") && stream.StreamName == name
	})
}

func (r *Router) backends(nodes []string) []proxy.Backend {
	list := make([]proxy.Backend, 0, len(nodes))
	for _, node := range nodes {
		list = append(list, &backend{target: node, machine: r.machines[node]})
	}
	return list
}

func outgoing(ctx context.Context, viaEndpoint bool) context.Context {
	incoming, _ := metadata.FromIncomingContext(ctx)
	out := incoming.Copy()
	for _, own := range []string{":authority", "nodes", "node", api.ViaEndpoint} {
		delete(out, own)
	}
	if viaEndpoint {
		out.Set(api.ViaEndpoint, "true")
	}
	return metadata.NewOutgoingContext(ctx, out)
}
