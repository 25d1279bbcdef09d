import { valuesOf } from "../../clients/talos/configuration-text";
import { valueAt } from "../../recipe/mapping";
import type { FieldFinding } from "../../clients/failure";
import type { AskedNode } from "../cluster/cluster";
import type { UpgradeTask } from "../task";

/** Facts that a machine shows about its cluster. */
export interface MachineSide {
  machine: string;
  address: string;
  bootId: string;
  /** Its active configuration. */
  configuration: string | undefined;
}

/**
 * Whether talosconfig and kubeconfig are of one cluster. Each of these shows that they are: a node of the cluster has
 * a machine's boot id; or kubeconfig and machine configuration have the same certificate authority; or a node has a
 * machine's name and address. Only where both authorities are known, are not the same, and nothing else speaks for
 * it, is it another one: a kubeconfig may lead through a proxy with a certificate of its own, and a machine may be
 * about to join.
 *
 * @param kubernetes what the kubeconfig leads to.
 */
export function ofOneCluster(
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
    .filter((all) => all.length > 0);
  if (authorities.length === 0 || authority === undefined || nodes.length === 0) return "unknown";
  const theirs = certificatesOf(authority);
  return authorities.some((ours) => ours.some((one) => theirs.includes(one))) ? "yes" : "no";
}

/** The fields of a machine that identify its node. */
type NamedMachine = Pick<UpgradeTask, "machine" | "address" | "configuration">;

/**
 * Refuses a machine that is a node of another name, or behind the address of another machine: its own node would be
 * cordoned and drained, and the other one would reboot with its pods. The boot id tells it. A boot id of no node
 * proves nothing: a machine may be about to join, or its kubelet may not have reported the boot yet. A node that the
 * update renames is accepted.
 */
export function anotherNode(
  asked: NamedMachine,
  bootId: string,
  nodes: readonly AskedNode[],
): FieldFinding[] {
  const { machine, address } = asked;
  const other = otherName(machine, bootId, nodes);
  if (other === undefined || oldName(asked, bootId, nodes) !== undefined) return [];
  return [
    {
      field: `machines.${machine}.address`,
      problem: `the machine at ${address} is node ${other}`,
      why: `the update would drain node ${machine} and reboot node ${other}, with its pods on it`,
      remedy: `compare \`kubectl get nodes -o wide\`: give the machine its node's name, or ${machine} its own address`,
    },
  ];
}

/**
 * Name that the machine's node has until the update gives it the machine's; undefined where the update does not
 * rename it. An owned configuration sets the hostname (`hostnamePatch`). A node that has the wanted name already is
 * another machine's, so that is no new name but a wrong address.
 */
export function oldName(
  { machine, configuration }: NamedMachine,
  bootId: string,
  nodes: readonly AskedNode[],
): string | undefined {
  if (configuration !== "owned" || nodes.some(({ name }) => name === machine)) return undefined;
  return otherName(machine, bootId, nodes);
}

/** Name of the machine's node, if it differs from the machine's name; undefined if it is the same or no node's. */
function otherName(
  machine: string,
  bootId: string,
  nodes: readonly AskedNode[],
): string | undefined {
  const same = nodes.filter((node) => node.bootId !== "" && node.bootId === bootId.trim());
  // A node that got another name leaves the object of its old one behind, with the same boot.
  return same.some(({ name }) => name === machine) ? undefined : same[0]?.name;
}

/**
 * Authorities of a machine's cluster: the one that signs, and those that it accepts besides (talos, v1alpha1
 * ClusterConfig).
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
