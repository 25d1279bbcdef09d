import { valuesOf } from "../../clients/talos/configuration-text";
import { valueAt } from "../../recipe/mapping";
import type { FieldFinding } from "../../clients/failure";
import type { AskedNode } from "../cluster/cluster";
import type { UpgradeTask } from "../task";

/** Facts about a machine that identify its cluster. */
export interface MachineSide {
  machine: string;
  address: string;
  bootId: string;
  /** Its active configuration. */
  configuration: string | undefined;
}

/**
 * Whether talosconfig and kubeconfig belong to one cluster. Each of these facts proves it: a node has a machine's boot
 * ID; kubeconfig and machine configuration have the same certificate authority; a node has a machine's name and
 * address. The answer is `no` only if both authorities are known and differ, and no node matches a machine. Different
 * authorities alone prove nothing, because a kubeconfig may use a proxy with its own certificate.
 *
 * @param kubernetes nodes and certificate authority of the kubeconfig's cluster.
 */
export function compareClusters(
  machines: readonly MachineSide[],
  { authority, nodes }: { authority: string | undefined; nodes: readonly AskedNode[] },
): "yes" | "no" | "unknown" {
  const isNode = ({ machine, address, bootId }: MachineSide): boolean =>
    nodes.some(
      (node) =>
        node.bootId === bootId || (node.name === machine && node.addresses.includes(address)),
    );
  if (machines.some(isNode)) return "yes";
  const authorities = machines
    .map(({ configuration }) => authoritiesOf(configuration))
    .filter((certificates) => certificates.length > 0);
  if (authorities.length === 0 || authority === undefined || nodes.length === 0) return "unknown";
  const kubeconfigCertificates = certificatesOf(authority);
  return authorities.some((machineCertificates) =>
    machineCertificates.some((certificate) => kubeconfigCertificates.includes(certificate)),
  )
    ? "yes"
    : "no";
}

/** The fields of a machine that identify its node. */
type NamedMachine = Pick<UpgradeTask, "machine" | "address" | "configuration">;

/**
 * Refuses a machine whose address belongs to a node of another name: the update would drain one node and reboot the
 * other with its pods. The boot ID shows which node the machine is. If no node has that boot ID, there is no finding:
 * the machine may be about to join, or its kubelet may not have reported the boot yet. There is no finding either for a
 * node that the update renames.
 */
export function anotherNode(
  namedMachine: NamedMachine,
  bootId: string,
  nodes: readonly AskedNode[],
): FieldFinding[] {
  const { machine, address } = namedMachine;
  const otherNode = otherName(machine, bootId, nodes);
  if (otherNode === undefined || oldName(namedMachine, bootId, nodes) !== undefined) return [];
  return [
    {
      field: `machines.${machine}.address`,
      problem: `the machine at ${address} is node ${otherNode}`,
      why: `the update would drain node ${machine} and reboot node ${otherNode}, with its pods on it`,
      remedy: `compare the stack with \`kubectl get nodes -o wide\`: correct the machine's name or its address`,
    },
  ];
}

/**
 * Current name of the machine's node, if the update renames the node; else undefined. An owned configuration sets the
 * hostname (`hostnamePatch`). If a node already has the wanted name, this node belongs to another machine, and the
 * machine's address in the stack is wrong.
 */
export function oldName(
  { machine, configuration }: NamedMachine,
  bootId: string,
  nodes: readonly AskedNode[],
): string | undefined {
  if (configuration !== "owned" || nodes.some(({ name }) => name === machine)) return undefined;
  return otherName(machine, bootId, nodes);
}

/**
 * Name of the machine's node, if this name differs from the machine's name; undefined if both are the same, or if no
 * node has the boot ID.
 */
function otherName(
  machine: string,
  bootId: string,
  nodes: readonly AskedNode[],
): string | undefined {
  const nodesWithBootId = nodes.filter(
    (node) => node.bootId !== "" && node.bootId === bootId.trim(),
  );
  // A renamed node leaves its old Node object behind, with the same boot ID.
  return nodesWithBootId.some(({ name }) => name === machine)
    ? undefined
    : nodesWithBootId[0]?.name;
}

/**
 * Certificate authorities of a machine's cluster: the one that signs certificates, and the others that the cluster
 * accepts (talos, v1alpha1 ClusterConfig).
 */
function authoritiesOf(configuration = ""): string[] {
  const clusters = valuesOf(configuration).map((document) => valueAt(document, "cluster"));
  const pairs = clusters.flatMap((cluster) =>
    [valueAt(cluster, "ca"), valueAt(cluster, "acceptedCAs")].flat(),
  );
  const texts = pairs
    .map((pair) => valueAt(pair, "crt"))
    .filter((text) => typeof text === "string");
  return texts.flatMap((text) => certificatesOf(Buffer.from(text, "base64").toString()));
}

/** The certificates of a PEM text, each without its line breaks. */
const certificatesOf = (pem: string): string[] =>
  [...pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g)].map(
    ([, body]) => body!.replace(/\s+/g, ""),
  );
