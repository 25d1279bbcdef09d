package machine

import (
	"context"
	"net"

	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"talos-gpu/lab/machines/internal/talos/resources"
)

// server is the API of one boot. It goes with the boot, and cuts every stream then, as a machine's reboot does.
type server struct {
	grpc      *grpc.Server
	listener  *bufconn.Listener
	conn      *grpc.ClientConn
	resources *resources.State
}

func newServer() *server {
	st, err := resources.NewState(context.Background())
	if err != nil {
		panic(err) // resource types of the library that can't be registered: nothing that a user could mend
	}
	api := &server{listener: bufconn.Listen(1 << 20), resources: st}
	api.conn, err = grpc.NewClient("passthrough:///machine",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return api.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(proxy.Codec())),
	)
	if err != nil {
		panic(err) // a constant target
	}
	return api
}

// start serves. The boot's state knows the server by then, which the handlers look up.
func (api *server) start(m *Machine) {
	api.grpc = m.env.Serve(m)
	go api.grpc.Serve(api.listener) //nolint:errcheck // ends with stop
}

func (api *server) stop() {
	api.grpc.Stop()
	api.conn.Close()     //nolint:errcheck
	api.listener.Close() //nolint:errcheck
}

// Conn is the connection to the machine's API, or the error of a dial. A client that knows the cluster's authority does not trust the
// certificate of a machine in maintenance mode.
func (m *Machine) Conn() (*grpc.ClientConn, error) {
	api, unconfigured := look(m, func(s *state) *server { return s.boot.api }), look(m, func(s *state) bool { return s.unconfigured })
	switch {
	case api == nil:
		return nil, status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp %s:50000: connect: connection refused\"", m.spec.Address)
	case unconfigured:
		return nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority\"")
	}
	return api.conn, nil
}

// Resources of the running boot.
func (m *Machine) Resources() *resources.State {
	return look(m, func(s *state) *resources.State { return s.boot.api.resources })
}
