import type { ClusterSpec } from "../../components/recipe";

/** The network of a stack's virtual machines, which QEMU emulates for each machine. */
export interface Site {
  /** Network that contains every machine and the cluster's address, e.g. `192.0.2.0/24`. */
  net: string;
  /** Addresses of this computer, of the name server, and of the images' mirror. */
  host: string;
  dns: string;
  registry: string;
  /** URL of the cluster's API, and its host. */
  endpoint: string;
  cluster: string;
}

const numberOf = (address: string): number =>
  address.split(".").reduce((number, part) => number * 256 + Number(part), 0);
const addressOf = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");

/**
 * The network of a stack's machines. Addresses that the stack does not name are free ones near its first machine. QEMU
 * gives a machine its address by DHCP, and connects it only to this network. So the cluster's address is also in it.
 *
 * @throws Error if one IPv4 network cannot contain all addresses.
 */
export function siteOf({
  machines,
  clusterEndpoint,
}: Pick<ClusterSpec, "machines" | "clusterEndpoint">): Site {
  const addresses = Object.values(machines).map(({ address }) => address);
  const controlPlaneAddress = Object.values(machines).find(
    ({ role }) => role === "controlplane",
  )?.address;
  const namedEndpoint =
    clusterEndpoint ??
    (controlPlaneAddress === undefined ? undefined : `https://${controlPlaneAddress}:6443`);
  const namedHosts = namedEndpoint === undefined ? [] : [new URL(namedEndpoint).hostname];
  const usedAddresses = [...addresses, ...namedHosts];
  const unsupported = usedAddresses.find((address) => !/^\d+(\.\d+){3}$/.test(address));
  if (unsupported !== undefined)
    throw new Error(
      `--machines: ${unsupported} is not an IPv4 address, and a virtual machine's network has only such addresses; write e.g. 192.0.2.10`,
    );
  const firstNetwork = numberOf(addresses[0]!) - (numberOf(addresses[0]!) % 256);
  const candidates = Array.from({ length: 254 }, (_, index) =>
    addressOf(firstNetwork + 254 - index),
  );
  const [host = "", dns = "", registry = "", cluster = ""] = candidates.filter(
    (address) => !usedAddresses.includes(address),
  );
  const numbers = [host, ...usedAddresses].map(numberOf);
  let bits = 24;
  while (
    bits > 0 &&
    new Set(numbers.map((number) => Math.floor(number / 2 ** (32 - bits)))).size > 1
  )
    bits--;
  if (bits === 0)
    throw new Error(
      `--machines: no network contains all of ${usedAddresses.join(", ")}, and virtual machines share one; choose a cluster address near the machines' addresses`,
    );
  const size = 2 ** (32 - bits);
  return {
    net: `${addressOf(numbers[0]! - (numbers[0]! % size))}/${bits}`,
    host,
    dns,
    registry,
    endpoint: namedEndpoint ?? `https://${cluster}:6443`,
    cluster: namedHosts[0] ?? cluster,
  };
}

/** Documents of Talos' configuration. */
function documents(contents: readonly object[]): object[] {
  return contents.map((content) => ({ apiVersion: "v1alpha1", ...content }));
}

/**
 * Documents with which a machine pulls all images from the registry `mirror`, without Internet access. Talos refuses
 * the older fields next to documents that the client of Talos ≥ 1.14 generates.
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

/** The lab's replacement for kube-proxy and CoreDNS on a machine (lab/machines/internal/realnode/virtual). */
const networkPod = (registry: string, { hostname, port }: URL): object => ({
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
        args: [registry, `${hostname}:${port || 443}`],
        securityContext: { privileged: true },
        volumeMounts: [{ name: "cni", mountPath: "/etc/cni" }],
      },
    ],
  },
});

/**
 * Settings for a control plane on a slow computer, with the lab's images. Its controllers have no competitors, so they
 * run without leases, which they would lose. If a probe kills a server that still makes its keys, the next start finds
 * the keys.
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
 * The same settings as documents. Talos ≥ 1.14 starts each part that has a document, unless the document disables the
 * part.
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

/** Facts that select the patches of a machine's owner. */
interface MachineFacts {
  /**
   * Whether its configuration consists of documents, as the client of Talos ≥ 1.14 generates it. Default: no, it has
   * `machine` and `cluster`.
   */
  inDocuments?: boolean;
  /** Whether the machine is a control plane. */
  control: boolean;
  /** Image of its installation. Default: the stack's. */
  image?: string;
  /**
   * A card of this computer for one of the machines. All machines then have Internet access and published images.
   * Default: none.
   */
  card?: string | undefined;
}

/** Patches with which a machine works in this network; its owner writes them. */
export function ownPatches(
  { registry, endpoint }: Site,
  { control, image, card, inDocuments = false }: MachineFacts,
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
  const offlineSettings = {
    pods: [networkPod(`${registry}:5000`, new URL(endpoint))],
    registries: { mirrors: { "*": { endpoints: [`http://${registry}:5000`] } } },
    time: { disabled: true },
    features: {
      hostDNS: { enabled: false, forwardKubeDNSToHost: false },
      kubePrism: { enabled: false },
    },
  };
  return [
    { machine: { ...machine, ...offlineSettings }, cluster: { discovery: { enabled: false } } },
    ...(control ? [slowControlPlane] : []),
  ];
}
