// Package identity signs the certificates with which nodes, Talos and administrators come to the API server.
package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"talos-gpu/lab/machines/internal/host"
)

// Authority is the cluster's certificate authority, which signs client certificates as the bootstrap of a real kubelet
// would (docs: kubelet TLS bootstrapping). The Node authorizer and NodeRestriction then treat the lab's kubelets as real.
type Authority struct {
	server      string
	caPEM       []byte
	certificate *x509.Certificate
	key         crypto.Signer
}

// Load reads the authority's files.
func Load(server, certFile, keyFile string) (*Authority, error) {
	caPEM, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caCert: %w", err)
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caKey: %w", err)
	}
	block, _ := pem.Decode(caPEM)
	if block == nil {
		return nil, fmt.Errorf("kubernetes.caCert: %s holds no PEM block; name the cluster's CA certificate", certFile)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caCert: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.caKey: %w", err)
	}
	return &Authority{server: server, caPEM: caPEM, certificate: certificate, key: key}, nil
}

func parseKey(keyPEM []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil, errors.New("no PEM block in the key file")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(block.Bytes)
}

// client is a REST configuration with a fresh certificate for that user and group.
func (a *Authority) client(user, group string) (*rest.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: []string{group}},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(365 * 24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the client certificate of %s: %w", user, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:  a.server,
		QPS:   100,
		Burst: 200,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   a.caPEM,
			CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		},
	}, nil
}

// Node is the identity of a machine's kubelet.
func (a *Authority) Node(name string) (*rest.Config, error) {
	return a.client("system:node:"+name, "system:nodes")
}

// Elevated is the identity with which Talos changes nodes on control planes: no NodeRestriction (talos v1.13.9
// internal/app/machined/pkg/controllers/k8s/node_apply.go, getK8sClient).
func (a *Authority) Elevated() (*rest.Config, error) {
	return a.client("talos:machined", "system:masters")
}

// Clients of a machine: with its node's own rights, and with those that Talos has there.
func (a *Authority) Clients(machine host.Machine) (own, elevated kubernetes.Interface, err error) {
	config, err := a.Node(machine.Name())
	if err != nil {
		return nil, nil, err
	}
	if own, err = kubernetes.NewForConfig(config); err != nil || machine.Role() != "controlplane" {
		return own, own, err
	}
	if config, err = a.Elevated(); err != nil {
		return nil, nil, err
	}
	elevated, err = kubernetes.NewForConfig(config)
	return own, elevated, err
}

// AdminKubeconfig is an administrator's, valid for a year as a control plane's API makes it (talos v1.13.0
// pkg/machinery/constants, KubernetesAdminCertDefaultLifetime).
func (a *Authority) AdminKubeconfig(cluster string) ([]byte, error) {
	admin, err := a.client("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	config := api.NewConfig()
	config.CurrentContext = "admin@" + cluster
	config.Contexts[config.CurrentContext] = &api.Context{Cluster: cluster, AuthInfo: config.CurrentContext, Namespace: "default"}
	config.Clusters[cluster] = &api.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[config.CurrentContext] = &api.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	return clientcmd.Write(*config)
}
