// Package api serves the Talos API of all machines at one endpoint (machinery's protobufs). It has the calls of
// talosctl that a stack, its program and the doctor need. Other calls return "unimplemented".
package api

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"talos-gpu/lab/machines/internal/spec"
	core "talos-gpu/lab/machines/internal/talos/machine"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// New makes the endpoint with mutual TLS. The cluster's Talos CA signs the server's certificate for 127.0.0.1 and every
// machine's address, and has signed the clients' certificates. Without a PKI, the endpoint uses the CA of the first
// control plane that gets a configuration, and until then accepts no client.
func New(pki *spec.PKI, machines []*core.Machine) (*grpc.Server, error) {
	var given *x509.PEMEncodedCertificateAndKey
	if pki != nil {
		var err error
		if given, err = x509.NewCertificateAndKeyFromFiles(pki.CACert, pki.CAKey); err != nil {
			return nil, fmt.Errorf("talos: %w", err)
		}
	}
	transport := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		authority := given
		for i := 0; authority == nil && i < len(machines); i++ {
			authority = machines[i].Authority()
		}
		if authority == nil {
			return nil, errors.New("no machine has a configuration yet")
		}
		return certified(authority, machines)
	}}
	all := machinesOf(machines)
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(transport)), grpc.MaxRecvMsgSize(32<<20), grpc.UnaryInterceptor(all.unary), grpc.StreamInterceptor(all.stream),
	)
	machine.RegisterMachineServiceServer(server, &machineService{})
	machine.RegisterImageServiceServer(server, &imageService{})
	machine.RegisterLifecycleServiceServer(server, &lifecycleService{})
	cosi.RegisterStateServer(server, &stateService{})
	return server, nil
}

func certified(authority *x509.PEMEncodedCertificateAndKey, machines []*core.Machine) (*tls.Config, error) {
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(authority)
	if err != nil {
		return nil, fmt.Errorf("talos.caCert, talos.caKey: %w", err)
	}
	addresses, names := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"}
	for _, m := range machines {
		if ip := net.ParseIP(m.Address()); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, m.Address())
		}
	}
	pair, err := x509.NewKeyPair(ca, x509.CommonName("apid"), x509.IPAddresses(addresses), x509.DNSNames(names), x509.NotAfter(time.Now().AddDate(0, 1, 0)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}))
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}
	pool := stdx509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Crt)
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{*pair.Certificate},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		NextProtos:   []string{"h2"}, // credentials.NewTLS adds it only to the outer configuration
	}, nil
}

// endpoint finds the machines for which a call is meant, as apid does on a Talos machine (talos v1.13.0
// internal/app/apid/pkg/director).
type endpoint struct {
	machines map[string]*core.Machine
	// itself is the machine of a call that names none. It is a control plane if the stack has one.
	itself *core.Machine
}

func machinesOf(machines []*core.Machine) endpoint {
	e := endpoint{machines: map[string]*core.Machine{}, itself: machines[0]}
	for i := len(machines) - 1; i >= 0; i-- {
		m := machines[i]
		e.machines[m.Address()], e.machines[m.Key()] = m, m
		if m.Role() == "controlplane" {
			e.itself = m
		}
	}
	return e
}

// target is the machine of a call. The call's context has it.
type target struct {
	*core.Machine
	named string           // the name that the caller used, "" for none
	shown *resources.State // the resources of the machine's boot
}

type targetKey struct{}

// of returns the target in a call's context.
func of(ctx context.Context) target {
	found, _ := ctx.Value(targetKey{}).(target)
	return found
}

// on makes a call on a machine. The call ends with the machine's boot. With the fault drop-connection, the call is
// carried out and its answer is lost.
func on[T any](ctx context.Context, t target, method string, call func(context.Context) (T, error)) (answer T, err error) {
	if t.Machine == nil {
		return answer, status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp %s:50000: connect: no route to host\"", t.named)
	}
	lost, err := t.Called(ctx)
	if err != nil {
		return answer, err
	}
	up, shown, err := t.API()
	if t.shown = shown; err != nil {
		return answer, err
	}
	// Releases before 1.13 have neither service, so talosctl falls back to the old calls (talos v1.13.0
	// v1alpha1_server.go, Register; v1.12.11 the same file).
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if (service == "machine.ImageService" || service == "machine.LifecycleService") && !t.HasStreamingAPI() {
		return answer, status.Errorf(codes.Unimplemented, "unknown service %s", service)
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, targetKey{}, t))
	defer cancel()
	defer context.AfterFunc(up, cancel)()
	answer, err = call(ctx)
	if lost || err != nil && up.Err() != nil {
		err = status.Error(codes.Unavailable, "error reading from server: EOF")
	}
	return answer, err
}

// named returns the machines that a call names. With `nodes` several is true, and each answer names its machine.
func (e endpoint) named(ctx context.Context) (targets []target, several bool) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	names := incoming.Get("nodes")
	several = len(names) > 0
	if node := incoming.Get("node"); !several && len(node) > 0 {
		names = node[:1]
	}
	for _, name := range names {
		targets = append(targets, target{Machine: e.machines[name], named: name})
	}
	if len(targets) == 0 {
		targets = []target{{Machine: e.itself}}
	}
	return targets, several
}

// failed returns a machine's error as a part of an answer for several machines (talos v1.13.0
// internal/app/apid/pkg/backend/apid.go, BuildError).
func failed(node string, err error) *common.Empty {
	return &common.Empty{Metadata: &common.Metadata{
		Hostname: node,
		Error:    err.Error(),
		Status:   status.Convert(err).Proto(),
	}}
}

// unary answers a call that has one answer. Every answer of MachineService is a list of messages with metadata. So the
// answers of several machines are joined as one list, of a type that has only the metadata.
func (e endpoint) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	targets, several := e.named(ctx)
	call := func(ctx context.Context) (any, error) { return handle(ctx, request) }
	if !several {
		return on(ctx, targets[0], info.FullMethod, call)
	}
	all := &common.EmptyResponse{}
	for _, t := range targets {
		answer, err := on(ctx, t, info.FullMethod, call)
		if err != nil {
			all.Messages = append(all.Messages, failed(t.named, err))
			continue
		}
		text, err := proto.Marshal(answer.(proto.Message))
		own := &common.EmptyResponse{}
		if err = errors.Join(err, proto.Unmarshal(text, own)); err != nil {
			return nil, err
		}
		for _, message := range own.Messages {
			message.Metadata = &common.Metadata{Hostname: t.named}
		}
		all.Messages = append(all.Messages, own.Messages...)
	}
	return all, nil
}

// stream answers a call with a stream. It calls only the first machine, because no client requests a stream of several
// machines.
func (e endpoint) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	targets, several := e.named(stream.Context())
	_, err := on(stream.Context(), targets[0], info.FullMethod, func(ctx context.Context) (any, error) {
		return nil, handle(server, &streamOf{ServerStream: stream, ctx: ctx, several: several})
	})
	if err != nil && several {
		return stream.SendMsg(failed(targets[0].named, err))
	}
	return err
}

// streamOf is the stream of a call on one machine.
type streamOf struct {
	grpc.ServerStream
	ctx     context.Context //nolint:containedctx // of the stream
	several bool
}

func (s *streamOf) Context() context.Context { return s.ctx }

func (s *streamOf) SendMsg(message any) error {
	if data, has := message.(*common.Data); has && s.several {
		data.Metadata = &common.Metadata{Hostname: of(s.ctx).named}
	}
	return s.ServerStream.SendMsg(message)
}
