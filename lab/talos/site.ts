import type { ClusterSpec } from "../../components/recipe";

/** Surroundings of a stack's virtual machines: QEMU's own network, as each machine sees it. */
export interface Site {
  /** Holds every machine and the cluster's address, e.g. `192.0.2.0/24`. */
  net: string;
  /** This computer, its name server, and where images come from. */
  host: string;
  dns: string;
  registry: string;
  /** The cluster's API, and its host. */
  endpoint: string;
  cluster: string;
}

const numberOf = (address: string): number =>
  address.split(".").reduce((number, part) => number * 256 + Number(part), 0);
const addressOf = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");

/**
 * The site of a stack: addresses that it does not name are free ones near its first machine. QEMU gives a machine its
 * address by DHCP, and routes it only to this computer's own network. So the cluster's address is in that.
 *
 * @throws Error where the addresses are none that one network of IPv4 can have.
 */
export function siteOf({
  machines,
  clusterEndpoint,
}: Pick<ClusterSpec, "machines" | "clusterEndpoint">): Site {
  const addresses = Object.values(machines).map(({ address }) => address);
  const own = Object.values(machines).find(({ role }) => role === "controlplane")?.address;
  const said = clusterEndpoint ?? (own === undefined ? undefined : `https://${own}:6443`);
  const given = said === undefined ? [] : [new URL(said).hostname];
  const taken = [...addresses, ...given];
  const strange = taken.find((address) => !/^\d+(\.\d+){3}$/.test(address));
  if (strange !== undefined)
    throw new Error(
      `--machines: ${strange} is no IPv4 address, and the network of a virtual machine has no other; take one, e.g. 192.0.2.10`,
    );
  const beside = numberOf(addresses[0]!) - (numberOf(addresses[0]!) % 256);
  const free = Array.from({ length: 254 }, (_, index) => addressOf(beside + 254 - index));
  const [host = "", dns = "", registry = "", cluster = ""] = free.filter(
    (address) => !taken.includes(address),
  );
  const all = [host, ...taken].map(numberOf);
  let bits = 24;
  while (bits > 0 && new Set(all.map((number) => Math.floor(number / 2 ** (32 - bits)))).size > 1)
    bits--;
  if (bits === 0)
    throw new Error(
      `--machines: ${taken.join(", ")} have no network in common, and a virtual machine has one; give the cluster an address like its machines'`,
    );
  const size = 2 ** (32 - bits);
  return {
    net: `${addressOf(all[0]! - (all[0]! % size))}/${bits}`,
    host,
    dns,
    registry,
    endpoint: said ?? `https://${cluster}:6443`,
    cluster: given[0] ?? cluster,
  };
}

/** Documents of Talos' configuration. */
function documents(contents: readonly object[]): object[] {
  return contents.map((content) => ({ apiVersion: "v1alpha1", ...content }));
}

/**
 * Documents of an owner with which a machine works only from the registry `mirror`, without the outer world. Talos
 * refuses the fields of old next to the documents that the client of Talos ≥ 1.14 generates.
 */
export const ownDocuments = (mirror: string, image?: string): object[] =>
  documents([
    {
      kind: "UnattendedInstallConfig",
      ...(image === undefined ? {} : { installer: { image } }),
      provisioning: { diskSelector: { match: 'disk.dev_path == "/dev/vda"' } },
    },
    { kind: "RegistryMirrorConfig", name: "*", endpoints: [{ url: mirror }], skipFallback: true },
    { kind: "TimeSyncConfig", enabled: false },
    { kind: "ResolverConfig", hostDNS: { enabled: false, forwardKubeDNSToHost: false } },
    { kind: "KubePrismConfig", $patch: "delete" },
    { kind: "DiscoveryServiceConfig", name: "default", $patch: "delete" },
  ]);

/**
 * The cluster's network on a machine, in the stead of kube-proxy and CoreDNS
 * (lab/machines/internal/realnode/virtual).
 */
const networkPod = (lab: string, { hostname, port }: URL): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "lab-network", namespace: "kube-system" },
  spec: {
    hostNetwork: true,
    volumes: [{ name: "cni", hostPath: { path: "/etc/cni" } }],
    containers: [
      {
        name: "lab-network",
        image: "lab.talos-gpu.dev/lab-network:1",
        args: [lab, `${hostname}:${port || 443}`],
        securityContext: { privileged: true },
        volumeMounts: [{ name: "cni", mountPath: "/etc/cni" }],
      },
    ],
  },
});

/**
 * What the owner of a machine writes whose control plane starts on a slow computer, out of the lab's images alone:
 * nothing competes with its controllers, so they need no leases, which they would lose. Where a probe ends one that
 * still makes its keys, the next one has them.
 */
const slowControlPlane: object = {
  cluster: {
    proxy: { disabled: true },
    coreDNS: { disabled: true },
    network: { cni: { name: "none" } },
    // An emulated processor may take longer than the usual minute for the API's schema.
    apiServer: { extraArgs: { "request-timeout": "5m0s" } },
    controllerManager: { extraArgs: { "leader-elect": "false", "cert-dir": "/dev/shm" } },
    scheduler: { extraArgs: { "leader-elect": "false", "cert-dir": "/dev/shm" } },
  },
};

/**
 * These settings as documents. Talos ≥ 1.14 deploys each part that has a document, and starts it unless the document
 * disables it.
 */
const slowControlPlaneDocuments: object[] = documents([
  { kind: "KubeProxyConfig", enabled: false },
  { kind: "KubeCoreDNSConfig", enabled: false },
  { kind: "KubeFlannelCNIConfig", $patch: "delete" },
  { kind: "KubeAPIServerConfig", extraArgs: { "request-timeout": "5m0s" } },
  {
    kind: "KubeControllerManagerConfig",
    extraArgs: { "leader-elect": "false", "cert-dir": "/dev/shm" },
  },
  { kind: "KubeSchedulerConfig", extraArgs: { "leader-elect": "false", "cert-dir": "/dev/shm" } },
]);

/** Facts that decide about the patches of a machine's owner. */
interface Own {
  /**
   * Whether its configuration is in documents, as the client of Talos ≥ 1.14 generates it. Default: `machine` and
   * `cluster`.
   */
  inDocuments?: boolean;
  /** Whether the machine is a control plane. */
  control: boolean;
  /** Image that it is installed from. Default: the stack's. */
  image?: string;
  /**
   * A card of this computer's that one of the machines has: all have the outer world then, and published images.
   * Default: none.
   */
  card?: string | undefined;
}

/** Patches that an owner writes so that its machine works in this site. */
export function ownPatches(
  { registry, endpoint }: Site,
  { control, image, card, inDocuments = false }: Own,
): object[] {
  if (inDocuments && card === undefined)
    return [
      { machine: { certSANs: ["127.0.0.1"] } },
      ...ownDocuments(`http://${registry}:5000`, image),
      ...documents([
        {
          kind: "KubeStaticPodConfig",
          name: "lab-network",
          pod: networkPod(`${registry}:5000`, new URL(endpoint)),
        },
      ]),
      ...(control ? slowControlPlaneDocuments : []),
    ];
  const machine = {
    certSANs: ["127.0.0.1"], // this computer's way to its API
    install: { disk: "/dev/vda", ...(image === undefined ? {} : { image }) },
  };
  if (card !== undefined) return [{ machine }];
  const alone = {
    pods: [networkPod(`${registry}:5000`, new URL(endpoint))],
    registries: { mirrors: { "*": { endpoints: [`http://${registry}:5000`] } } },
    time: { disabled: true },
    features: {
      hostDNS: { enabled: false, forwardKubeDNSToHost: false },
      kubePrism: { enabled: false },
    },
  };
  return [
    { machine: { ...machine, ...alone }, cluster: { discovery: { enabled: false } } },
    ...(control ? [slowControlPlane] : []),
  ];
}
