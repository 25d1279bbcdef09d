package machine

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/talos/resources"
)

// server is the API of one boot. It goes with the boot, and cuts every call then, as a machine's reboot does.
type server struct {
	resources *resources.State
	up        context.Context //nolint:containedctx // the boot's own
	stop      context.CancelFunc
}

func newServer() *server {
	st, err := resources.NewState(context.Background())
	if err != nil {
		panic(err) // resource types of the library that can't be registered: nothing that a user could mend
	}
	up, stop := context.WithCancel(context.Background())
	return &server{resources: st, up: up, stop: stop}
}

// API of the running boot: its resources, and a context that ends with it; or the error of a dial. A client that knows the cluster's authority does not trust the certificate of a
// machine in maintenance mode.
func (m *Machine) API() (up context.Context, shown *resources.State, err error) {
	api, unconfigured := look(m, func(s *state) *server { return s.boot.api }), look(m, func(s *state) bool { return s.unconfigured })
	switch {
	case api == nil:
		return nil, nil, status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp %s:50000: connect: connection refused\"", m.spec.Address)
	case unconfigured:
		return nil, nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority\"")
	}
	return api.up, api.resources, nil
}
