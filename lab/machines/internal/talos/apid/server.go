package apid

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/machine"
)

// New makes the endpoint: mutual TLS with the cluster's Talos CA, which signs the server's certificate for 127.0.0.1 and
// every machine's address, and has signed the clients'. Without a PKI it is the one of the first control plane that has got
// a configuration; before, nobody is let in.
func New(pki *spec.PKI, machines []*machine.Machine) (*grpc.Server, error) {
	var given *x509.PEMEncodedCertificateAndKey
	if pki != nil {
		certificate, noCertificate := os.ReadFile(pki.CACert)
		key, noKey := os.ReadFile(pki.CAKey)
		if err := errors.Join(noCertificate, noKey); err != nil {
			return nil, fmt.Errorf("talos: %w", err)
		}
		given = &x509.PEMEncodedCertificateAndKey{Crt: certificate, Key: key}
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
	return grpc.NewServer(
		grpc.Creds(credentials.NewTLS(transport)),
		grpc.ForceServerCodecV2(proxy.Codec()),
		grpc.UnknownServiceHandler(proxy.TransparentHandler(NewRouter(machines).Direct, proxy.WithStreamedDetector(streamed))),
		grpc.StreamInterceptor(lossy),
		grpc.MaxRecvMsgSize(32<<20),
	), nil
}

func certified(authority *x509.PEMEncodedCertificateAndKey, machines []*machine.Machine) (*tls.Config, error) {
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
	pair, err := x509.NewKeyPair(ca,
		x509.CommonName("apid"),
		x509.IPAddresses(addresses),
		x509.DNSNames(names),
		x509.NotAfter(time.Now().Add(30*24*time.Hour)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
	)
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
		NextProtos:   []string{"h2"}, // credentials.NewTLS adds it to the outer configuration alone
	}, nil
}

type lossKey struct{}

// lossy lets a call be carried out and its answer be lost, where a machine has that fault.
func lossy(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	lost := &atomic.Bool{}
	err := handle(server, &lossyStream{ServerStream: stream, ctx: context.WithValue(stream.Context(), lossKey{}, lost), lost: lost})
	if lost.Load() {
		return errLost
	}
	return err
}

var errLost = status.Error(codes.Unavailable, "error reading from server: EOF")

func loseAnswer(ctx context.Context) {
	if lost, ok := ctx.Value(lossKey{}).(*atomic.Bool); ok {
		lost.Store(true)
	}
}

type lossyStream struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // the stream's own
	lost *atomic.Bool
}

func (s *lossyStream) Context() context.Context { return s.ctx }

func (s *lossyStream) SendMsg(message any) error {
	if s.lost.Load() {
		return errLost
	}
	return s.ServerStream.SendMsg(message)
}
