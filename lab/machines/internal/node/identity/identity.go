// Package identity signs the certificates that nodes, Talos and administrators present to the API server.
package identity

import (
	"crypto/tls"
	stdx509 "crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/siderolabs/crypto/x509"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"talos-gpu/lab/machines/internal/host"
)

// Authority is the cluster's certificate authority. It signs client certificates as the bootstrap of a real kubelet
// would (docs: kubelet TLS bootstrapping). So the Node authorizer and NodeRestriction treat the lab's kubelets as real
// ones.
type Authority struct {
	server string
	ca     *x509.CertificateAuthority
}

// Load reads the authority's certificate and key.
func Load(server, certFile, keyFile string) (*Authority, error) {
	pair, err := x509.NewCertificateAndKeyFromFiles(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caCert, kubernetes.caKey: %w", err)
	}
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(pair)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caCert, kubernetes.caKey: %s, %s: %w; name the cluster's CA certificate and its key, as PEM", certFile, keyFile, err)
	}
	return &Authority{server: server, ca: ca}, nil
}

// SelfSigned makes a self-signed certificate for a server on 127.0.0.1.
func SelfSigned() (tls.Certificate, error) {
	own, err := x509.NewSelfSignedCertificateAuthority(x509.ECDSA(true), x509.IPAddresses([]net.IP{net.IPv4(127, 0, 0, 1)}), x509.NotAfter(time.Now().AddDate(1, 0, 0)))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(own.CrtPEM, own.KeyPEM)
}

// client returns a REST configuration with a new certificate for the user and group.
func (a *Authority) client(user, group string) (*rest.Config, error) {
	request, identity, err := x509.NewECDSACSRAndIdentity(x509.CommonName(user), x509.Organization(group))
	if err != nil {
		return nil, err
	}
	signed, err := x509.NewCertificateFromCSRBytes(a.ca.CrtPEM, a.ca.KeyPEM, request.X509CertificateRequestPEM,
		x509.NotBefore(time.Now().Add(-time.Hour)), x509.NotAfter(time.Now().AddDate(1, 0, 0)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}))
	if err != nil {
		return nil, fmt.Errorf("signing the client certificate of %s: %w", user, err)
	}
	return &rest.Config{
		Host:  a.server,
		QPS:   100,
		Burst: 200,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   a.ca.CrtPEM,
			CertData: signed.X509CertificatePEM,
			KeyData:  identity.Key,
		},
	}, nil
}

// Node returns the REST configuration of a machine's kubelet.
func (a *Authority) Node(name string) (*rest.Config, error) {
	return a.client("system:node:"+name, "system:nodes")
}

// Talos returns a client with the rights with which Talos changes a machine's node. On a worker these are the node's
// rights. On a control plane they are an administrator's, so NodeRestriction does not apply (talos v1.13.9
// internal/app/machined/pkg/controllers/k8s/node_apply.go, getK8sClient).
func (a *Authority) Talos(machine host.Machine) (kubernetes.Interface, error) {
	if machine.Role() == "controlplane" {
		return Client(a.client("talos:machined", "system:masters"))
	}
	return Client(a.Node(machine.Name()))
}

// Client makes a client from a configuration. It returns err if that is set.
func Client(config *rest.Config, err error) (kubernetes.Interface, error) {
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Admin returns the REST configuration of an administrator. The certificate is valid for a year, like one from a
// control plane's API (talos v1.13.0 pkg/machinery/constants, KubernetesAdminCertDefaultLifetime).
func (a *Authority) Admin() (*rest.Config, error) { return a.client("admin", "system:masters") }

// AdminKubeconfig returns the administrator's kubeconfig.
func (a *Authority) AdminKubeconfig(cluster string) ([]byte, error) {
	admin, err := a.Admin()
	if err != nil {
		return nil, err
	}
	return Kubeconfig("admin@"+cluster, cluster, admin)
}

// Kubeconfig returns the kubeconfig of a user with a certificate or a token.
func Kubeconfig(user, cluster string, as *rest.Config) ([]byte, error) {
	config := api.NewConfig()
	config.CurrentContext = user
	config.Contexts[user] = &api.Context{Cluster: cluster, AuthInfo: user, Namespace: "default"}
	config.Clusters[cluster] = &api.Cluster{Server: as.Host, CertificateAuthorityData: as.CAData}
	config.AuthInfos[user] = &api.AuthInfo{
		ClientCertificateData: as.CertData,
		ClientKeyData:         as.KeyData,
		Token:                 as.BearerToken,
	}
	return clientcmd.Write(*config)
}
