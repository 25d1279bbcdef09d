import * as path from "node:path";
import { stringify } from "yaml";

/** Where a control plane keeps its files, and the ports of 127.0.0.1 at which its components listen. */
export interface Layout {
  folder: string;
  /** The API server's port. */
  server: number;
  /** Etcd's ports, for clients and for its peers, of which it has none. */
  etcd: number;
  peer: number;
  /** Names and addresses that clients may know the API server by, beside 127.0.0.1 and localhost. */
  names?: readonly string[];
}

// The networks are Talos' defaults (siderolabs/talos, pkg/machinery/constants: DefaultIPv4PodNet, DefaultIPv4ServiceNet).
const podNet = "10.244.0.0/16";
const serviceNet = "10.96.0.0/12";

/**
 * A loopback address cannot be an endpoint of the service "kubernetes", and a laptop may have no other. Nothing in the lab goes
 * through that service: it gets no endpoints, and the address, of RFC 5737, is never used.
 */
const advertised = "192.0.2.1";

/** Address of the API. */
export const serverOf = ({ server }: Layout): string => `https://127.0.0.1:${server}`;

/** A file of the layout. */
export const fileOf = ({ folder }: Layout, ...parts: string[]): string => path.join(folder, ...parts);

/** Files that the components are configured with, by name. */
export function configurations(layout: Layout): Record<string, string> {
  const kubeadm = "kubeadm.k8s.io/v1beta4";
  const documents = [
    {
      apiVersion: kubeadm,
      kind: "InitConfiguration",
      localAPIEndpoint: { advertiseAddress: advertised, bindPort: layout.server },
      nodeRegistration: { name: "lab", criSocket: "unix:///none" },
    },
    {
      apiVersion: kubeadm,
      kind: "ClusterConfiguration",
      kubernetesVersion: "v1.36.3",
      clusterName: "lab",
      certificatesDir: fileOf(layout, "pki"),
      encryptionAlgorithm: "ECDSA-P256",
      controlPlaneEndpoint: `127.0.0.1:${layout.server}`,
      apiServer: { certSANs: ["127.0.0.1", "localhost", ...(layout.names ?? [])] },
      networking: { serviceSubnet: serviceNet, podSubnet: podNet },
    },
  ];
  return {
    "kubeadm.yaml": documents.map((document) => stringify(document)).join("---\n"),
    // What Talos generates for every cluster (siderolabs/talos, pkg/machinery/config/generate/init.go).
    "admission.yaml": stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AdmissionConfiguration",
      plugins: [
        {
          name: "PodSecurity",
          configuration: {
            apiVersion: "pod-security.admission.config.k8s.io/v1",
            kind: "PodSecurityConfiguration",
            defaults: {
              ...{ enforce: "baseline", "enforce-version": "latest" },
              ...{ audit: "restricted", "audit-version": "latest" },
              ...{ warn: "restricted", "warn-version": "latest" },
            },
            exemptions: { usernames: [], runtimeClasses: [], namespaces: ["kube-system"] },
          },
        },
      ],
    }),
    // The API server asks at a socket for whatever is in the cluster's network.
    "egress.yaml": stringify({
      apiVersion: "apiserver.k8s.io/v1beta1",
      kind: "EgressSelectorConfiguration",
      egressSelections: [
        {
          name: "cluster",
          connection: {
            proxyProtocol: "HTTPConnect",
            transport: { uds: { udsName: fileOf(layout, "nodes.sock") } },
          },
        },
      ],
    }),
  };
}

/** Nothing asks them anything (no port), nobody competes with them (no election). */
const client = (layout: Layout, name: string): Record<string, unknown> => ({
  kubeconfig: fileOf(layout, `${name}.conf`),
  master: serverOf(layout), // kubeadm's kubeconfig names the advertised address
  "secure-port": 0,
  "leader-elect": false,
  "kube-api-qps": 200,
  "kube-api-burst": 400,
  profiling: false,
});

const flags = {
  /**
   * One member, whose data is thrown away: writes are not flushed to the disk. Its only election waits for one heartbeat (etcd,
   * --initial-election-tick-advance); a shorter one than etcd's own wakes it up all the time.
   */
  etcd: (layout: Layout) => {
    const [client, peer] = [layout.etcd, layout.peer].map((port) => `https://127.0.0.1:${port}`);
    const pair = {
      "cert-file": fileOf(layout, "pki/etcd/server.crt"),
      "key-file": fileOf(layout, "pki/etcd/server.key"),
    };
    return {
      name: "lab",
      "data-dir": fileOf(layout, "etcd"),
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `lab=${peer}`,
      "client-cert-auth": true,
      "trusted-ca-file": fileOf(layout, "pki/etcd/ca.crt"),
      ...pair,
      "peer-client-cert-auth": true,
      "peer-trusted-ca-file": fileOf(layout, "pki/etcd/ca.crt"),
      ...Object.fromEntries(Object.entries(pair).map(([name, file]) => [`peer-${name}`, file])),
      "unsafe-no-fsync": true,
      "log-level": "warn",
    };
  },
  /** As in Talos' static pod (siderolabs/talos, internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go), where a lab has the same thing to configure. */
  "kube-apiserver": (layout: Layout) => ({
    "bind-address": "127.0.0.1",
    "secure-port": layout.server,
    "advertise-address": advertised,
    "endpoint-reconciler-type": "none",
    "admission-control-config-file": fileOf(layout, "admission.yaml"),
    "enable-admission-plugins": "NodeRestriction",
    "allow-privileged": true,
    "anonymous-auth": false,
    "authorization-mode": "Node,RBAC",
    "client-ca-file": fileOf(layout, "pki/ca.crt"),
    "kubelet-client-certificate": fileOf(layout, "pki/apiserver-kubelet-client.crt"),
    "kubelet-client-key": fileOf(layout, "pki/apiserver-kubelet-client.key"),
    "enable-bootstrap-token-auth": true,
    "tls-cert-file": fileOf(layout, "pki/apiserver.crt"),
    "tls-private-key-file": fileOf(layout, "pki/apiserver.key"),
    "etcd-servers": `https://127.0.0.1:${layout.etcd}`,
    "etcd-cafile": fileOf(layout, "pki/etcd/ca.crt"),
    "etcd-certfile": fileOf(layout, "pki/apiserver-etcd-client.crt"),
    "etcd-keyfile": fileOf(layout, "pki/apiserver-etcd-client.key"),
    "service-account-issuer": serverOf(layout),
    "api-audiences": serverOf(layout),
    "service-account-key-file": fileOf(layout, "pki/sa.pub"),
    "service-account-signing-key-file": fileOf(layout, "pki/sa.key"),
    "service-cluster-ip-range": serviceNet,
    // Kubelets have their machines' addresses, which this computer does not have: who runs the machines leads to them.
    "kubelet-preferred-address-types": "InternalIP,Hostname",
    "egress-selector-config-file": fileOf(layout, "egress.yaml"),
    profiling: false,
  }),
  "kube-controller-manager": (layout: Layout) => ({
    ...client(layout, "controller-manager"),
    "use-service-account-credentials": true,
    "allocate-node-cidrs": true,
    "configure-cloud-routes": false,
    "cluster-cidr": podNet,
    "service-cluster-ip-range": serviceNet,
    "cluster-signing-cert-file": fileOf(layout, "pki/ca.crt"),
    "cluster-signing-key-file": fileOf(layout, "pki/ca.key"),
    "root-ca-file": fileOf(layout, "pki/ca.crt"),
    "service-account-private-key-file": fileOf(layout, "pki/sa.key"),
  }),
  "kube-scheduler": (layout: Layout) => client(layout, "scheduler"),
} satisfies Record<string, (layout: Layout) => Record<string, unknown>>;

/** A component of a control plane. */
export type ComponentName = keyof typeof flags;

/** Arguments of a component. */
export const flagsOf = (name: ComponentName, layout: Layout): string[] =>
  Object.entries(flags[name](layout)).map(([flag, value]) => `--${flag}=${String(value)}`);
