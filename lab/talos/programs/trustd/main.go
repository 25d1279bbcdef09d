// trustd signs the certificate of a worker's Talos API, as Talos' own trustd does on a control plane (talos v1.13.0,
// internal/app/trustd/internal/reg/reg.go): a worker that has none can be asked nothing. QEMU starts it for each connection to
// its address, which is its standard input and output; its folder has ca.crt and ca.key, the authority of the machines' API.
package main

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/security"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// began is when certificates begin to be valid: a machine's clock is behind this computer's, by a second or, where the machine was
// restored, by hours.
var began = x509.NotBefore(time.Now().Add(-24 * time.Hour))

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		os.Exit(1) // its standard error is the connection, too
	}
}

func run(address, folder string) error {
	files, err := x509.NewCertificateAndKeyFromFiles(filepath.Join(folder, "ca.crt"), filepath.Join(folder, "ca.key"))
	if err != nil {
		return err
	}

	authority, err := x509.NewCertificateAuthorityFromCertificateAndKey(files)
	if err != nil {
		return err
	}

	pair, err := x509.NewKeyPair(authority, began, x509.IPAddresses([]net.IP{net.ParseIP(address)}), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}))
	if err != nil {
		return err
	}

	connection, err := net.FileConn(os.Stdin)
	if err != nil {
		return err
	}

	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{*pair.Certificate}})))
	security.RegisterSecurityServiceServer(server, &signer{authority: authority})

	closed := make(chan struct{})
	end := sync.OnceFunc(func() { close(closed) })

	return server.Serve(&once{connection: &closing{connection, end}, closed: closed})
}

type signer struct {
	security.UnimplementedSecurityServiceServer
	authority *x509.CertificateAuthority
}

func (s *signer) Certificate(_ context.Context, in *security.CertificateRequest) (*security.CertificateResponse, error) {
	signed, err := x509.NewCertificateFromCSRBytes(s.authority.CrtPEM, s.authority.KeyPEM, in.Csr,
		began, x509.KeyUsage(stdx509.KeyUsageDigitalSignature), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}))
	if err != nil {
		return nil, err
	}

	return &security.CertificateResponse{Ca: s.authority.CrtPEM, Crt: signed.X509CertificatePEM}, nil
}

// once is a listener for one connection: it accepts no other, and ends with it.
type once struct {
	connection net.Conn
	closed     chan struct{}
}

func (o *once) Accept() (net.Conn, error) {
	if connection := o.connection; connection != nil {
		o.connection = nil

		return connection, nil
	}

	<-o.closed

	return nil, net.ErrClosed
}

func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

type closing struct {
	net.Conn
	end func()
}

func (c *closing) Close() error {
	c.end()

	return c.Conn.Close()
}
