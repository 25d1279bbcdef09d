package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// cluster is what the components share: folders, authorities, certificates and the ports they listen on.
type cluster struct {
	folder string
	logs   string

	// etcd has an authority of its own, as in Talos: a client certificate of the cluster opens no database.
	etcdCA    *authority
	etcd      pair
	ca        *authority
	serving   pair
	signing   struct{ public, private string }
	admission string
	egress    string
	// nodes is the socket where whoever runs the machines answers.
	nodes      string
	etcdPort   int
	peerPort   int
	serverPort int
}

// loopback is where everything listens.
const loopback = "127.0.0.1"

// firstServiceAddress is the cluster IP of the service "kubernetes", the first of serviceNet.
var firstServiceAddress = net.IPv4(10, 96, 0, 1)

// newCluster lays out the folder: keys and certificates, the admission configuration, a place for logs.
func newCluster(folder string) (*cluster, error) {
	c := &cluster{folder: folder, logs: filepath.Join(folder, "logs"), admission: filepath.Join(folder, "admission.yaml"), egress: filepath.Join(folder, "egress.yaml"), nodes: filepath.Join(folder, "nodes.sock")}
	secrets := filepath.Join(folder, "pki")
	for _, path := range []string{c.logs, secrets} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of the control plane: %w", err)
		}
	}
	var err error
	if c.etcdCA, err = newAuthority(secrets, "etcd-ca"); err != nil {
		return nil, err
	}
	if c.etcd, err = c.etcdCA.issue("etcd", identity{
		commonName: "etcd",
		names:      []string{"localhost"},
		addresses:  []net.IP{net.ParseIP(loopback)},
	}); err != nil {
		return nil, err
	}
	if c.ca, err = newAuthority(secrets, "ca"); err != nil {
		return nil, err
	}
	if c.serving, err = c.ca.issue("apiserver", identity{
		commonName: "kube-apiserver",
		names: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		addresses: []net.IP{net.ParseIP(loopback), firstServiceAddress},
	}); err != nil {
		return nil, err
	}
	if c.signing.public, c.signing.private, err = writeSigningKey(secrets); err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.egress, fmt.Appendf(nil, egressConfiguration, c.nodes), 0o600); err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.admission, []byte(admissionConfiguration), 0o600)
}

// server is the address of the API.
func (c *cluster) server() string { return fmt.Sprintf("https://%s:%d", loopback, c.serverPort) }

// kubeconfig writes <name>.kubeconfig for an identity and returns its path. Certificates are embedded, so that the file
// can be copied elsewhere.
func (c *cluster) kubeconfig(name string, id identity) (string, error) {
	files, err := c.ca.issue(name, id)
	if err != nil {
		return "", err
	}
	var content [3][]byte
	for index, path := range []string{c.ca.certPath, files.certPath, files.keyPath} {
		if content[index], err = os.ReadFile(path); err != nil {
			return "", fmt.Errorf("making the kubeconfig of %s: %w", name, err)
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: c.server(), CertificateAuthorityData: content[0]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: content[1], ClientKeyData: content[2]}
	config.Contexts[name+"@lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name + "@lab"
	path := filepath.Join(c.folder, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// freePorts asks the kernel for ports nobody listens on. All are held until the last is known, so they differ.
func freePorts(ports ...*int) error {
	for _, port := range ports {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return fmt.Errorf("finding a free port on %s: %w", loopback, err)
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return nil
}
