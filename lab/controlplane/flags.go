package main

import (
	"fmt"
	"path/filepath"
)

// The networks are Talos' defaults (siderolabs/talos, pkg/machinery/constants: DefaultIPv4PodNet, DefaultIPv4ServiceNet).
const (
	podNet     = "10.244.0.0/16"
	serviceNet = "10.96.0.0/12"
)

// admissionConfiguration is what Talos generates for every cluster (siderolabs/talos, pkg/machinery/config/generate/init.go).
const admissionConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: PodSecurity
    configuration:
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      defaults:
        enforce: baseline
        enforce-version: latest
        audit: restricted
        audit-version: latest
        warn: restricted
        warn-version: latest
      exemptions:
        usernames: []
        runtimeClasses: []
        namespaces: [kube-system]
`

// egressConfiguration has the API server ask at a socket for whatever is in the cluster's network.
const egressConfiguration = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
  - name: cluster
    connection:
      proxyProtocol: HTTPConnect
      transport:
        uds:
          udsName: %s
`

// etcdFlags: one member, whose data is thrown away: writes are not flushed to the disk. Its only election waits for one
// heartbeat (etcd, --initial-election-tick-advance); a shorter one than etcd's own wakes it up all the time.
func (c *cluster) etcdFlags() []string {
	client := fmt.Sprintf("https://%s:%d", loopback, c.etcdPort)
	peer := fmt.Sprintf("https://%s:%d", loopback, c.peerPort)
	return []string{
		"--name=lab",
		"--data-dir=" + filepath.Join(c.folder, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=lab=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + c.etcdCA.certPath,
		"--cert-file=" + c.etcd.certPath,
		"--key-file=" + c.etcd.keyPath,
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + c.etcdCA.certPath,
		"--peer-cert-file=" + c.etcd.certPath,
		"--peer-key-file=" + c.etcd.keyPath,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

// apiServerFlags follow Talos' static pod (siderolabs/talos, internal/app/machined/pkg/controllers/k8s/
// control_plane_static_pod.go) where a lab has the same thing to configure.
func (c *cluster) apiServerFlags() []string {
	return []string{
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", c.serverPort),
		// A loopback address cannot be an endpoint of the service "kubernetes", and a laptop may have no other. Nothing in the
		// lab goes through that service: it gets no endpoints, and the address, of RFC 5737, is never used.
		"--advertise-address=192.0.2.1",
		"--endpoint-reconciler-type=none",
		"--admission-control-config-file=" + c.admission,
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--anonymous-auth=false",
		"--authorization-mode=Node,RBAC",
		"--client-ca-file=" + c.ca.certPath,
		"--tls-cert-file=" + c.serving.certPath,
		"--tls-private-key-file=" + c.serving.keyPath,
		fmt.Sprintf("--etcd-servers=https://%s:%d", loopback, c.etcdPort),
		"--etcd-cafile=" + c.etcdCA.certPath,
		"--etcd-certfile=" + c.etcd.certPath,
		"--etcd-keyfile=" + c.etcd.keyPath,
		"--service-account-issuer=" + c.server(),
		"--api-audiences=" + c.server(),
		"--service-account-key-file=" + c.signing.public,
		"--service-account-signing-key-file=" + c.signing.private,
		"--service-cluster-ip-range=" + serviceNet,
		// Kubelets have their machines' addresses, which this computer does not have: who runs the machines leads to them.
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--egress-selector-config-file=" + c.egress,
		"--profiling=false",
	}
}

// controllerManagerFlags: nothing asks it anything (no port), nobody competes with it (no election).
func (c *cluster) controllerManagerFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--use-service-account-credentials",
		"--secure-port=0",
		"--leader-elect=false",
		"--allocate-node-cidrs",
		"--configure-cloud-routes=false",
		"--cluster-cidr=" + podNet,
		"--service-cluster-ip-range=" + serviceNet,
		"--cluster-signing-cert-file=" + c.ca.certPath,
		"--cluster-signing-key-file=" + c.ca.keyPath,
		"--root-ca-file=" + c.ca.certPath,
		"--service-account-private-key-file=" + c.signing.private,
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

// schedulerFlags: as for the controller manager.
func (c *cluster) schedulerFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}
