import type * as k8s from "@kubernetes/client-node";
import { parse, parseAllDocuments } from "yaml";
import { customizationPath } from "../../components/recipe/machine/containerd/containerd";
import { controlPlaneRole } from "../../components/recipe/machine/taints";
import { installImage } from "../../components/clients/talos/configuration-text";
import type { TalosMachine } from "../../components/clients/talos/talos-machine";
import { kubernetesApi, type KubernetesApi } from "../reach/kubernetes-api";
import { askMachines } from "../reach/machines";
import { reachOf } from "../reach/reach";
import type { Access, MachineAccess } from "../reach/access";
import { labelManagers } from "./labels";
import { releasesOf } from "./releases";
import type { PciDevice, Seen, SeenMachine } from "./seen";

/** Part of the limit that one request of Kubernetes has. */
const ONE_REQUEST = 0.2;

/**
 * Looks at a cluster and its machines for what a stack would say of them; changes nothing.
 *
 * @param within Milliseconds after which whatever does not answer is given up.
 * @param say told what is looked at.
 */
export async function look(access: Access, within: number, say: (line: string) => void): Promise<Seen> {
  const start = performance.now();
  const reach = await reachOf(access.kubeconfig, new Date(), ONE_REQUEST * within);
  say(`looking at ${reach.server}`);
  const api = kubernetesApi(reach, ONE_REQUEST * within);
  const unseen: string[] = [];
  const nodes = await api.list<k8s.V1Node>("/api/v1/nodes");
  const releases = releasesOf([
    ...(await listed(api, "deployments", unseen)),
    ...(await listed(api, "daemonsets", unseen)),
  ]);
  const machines = nodes.filter(isTalos).map(fromNode);
  if (machines.length === 0) unseen.push(`${reach.server} has no node of Talos`);
  if (access.machines === undefined) {
    unseen.push("without a talosconfig no machine was looked at: its cards, its image and its configuration");
    return { machines, releases, unseen };
  }
  say(`looking at ${machines.length} machines`);
  const limit = 0.95 * within - (performance.now() - start);
  return { machines: await lookAtMachines(machines, { ...access.machines, limit }, unseen), releases, unseen };
}

async function listed(api: KubernetesApi, kind: string, unseen: string[]): Promise<k8s.V1Deployment[]> {
  return api.list<k8s.V1Deployment>(`/apis/apps/v1/${kind}`).catch((error: Error) => {
    unseen.push(`what offers GPUs could not be looked at: ${error.message}`);
    return [];
  });
}

const isTalos = ({ status }: k8s.V1Node): boolean => /^Talos\b/.test(status?.nodeInfo?.osImage ?? "");

function fromNode({ metadata, spec, status }: k8s.V1Node): SeenMachine {
  const labels = metadata?.labels ?? {};
  const uuid = status?.nodeInfo?.systemUUID;
  const offers = Object.entries(status?.allocatable ?? {})
    .filter(([resource, count]) => resource.startsWith("nvidia.com/") && count !== "0")
    .map(([resource]) => resource);
  const taint = ({ key, value, effect }: k8s.V1Taint): string => `${key}${value ? `=${value}` : ""}:${effect}`;
  return {
    name: metadata?.name ?? "",
    address: status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    controlPlane: controlPlaneRole in labels,
    labels,
    labelManagers: labelManagers(metadata?.managedFields ?? []),
    offers,
    taints: (spec?.taints ?? []).map(taint),
    ...(uuid ? { uuid: uuid.toLowerCase() } : {}),
  };
}

/** The machines with what they tell; each problem is added to `unseen`. */
async function lookAtMachines(
  machines: SeenMachine[],
  access: MachineAccess,
  unseen: string[],
): Promise<SeenMachine[]> {
  const answered = new Map<string, SeenMachine>();
  const addresses = machines.map(({ name, address }) => [name, address] as const);
  const notAsked = await askMachines(addresses, access, async (name, machine) => {
    const seen = machines.find((one) => one.name === name)!;
    const answer = await ask(seen, machine, (what, error) =>
      unseen.push(
        `machine ${name} (${seen.address}): ${what} could not be looked at: ${access.problem ?? error.message}`,
      ),
    );
    answered.set(name, answer);
  });
  unseen.push(...notAsked);
  return machines.map((machine) => answered.get(machine.name) ?? machine);
}

/** Each fact by itself: what a role may not read, or a release does not have, leaves the others. */
async function ask(
  seen: SeenMachine,
  machine: TalosMachine,
  missing: (what: string, error: Error) => void,
): Promise<SeenMachine> {
  const attempt = async <T>(what: string, look: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await look();
    } catch (error) {
      missing(what, error as Error);
      return undefined;
    }
  };
  const talosVersion = await attempt("its release", () => machine.version());
  if (talosVersion === undefined) return seen; // one that does not tell its release tells nothing else either
  const image = await attempt("its image", () => machine.image());
  const devices = await attempt("its cards", () => machine.resources("pcidevices"));
  const part = await attempt("containerd's options", () => machine.read(customizationPath));
  const { active } = (await attempt("its configuration", () => machine.configurations())) ?? {};
  const cluster = active === undefined ? {} : clusterOf(active);
  const installer = installImage(active ?? "");
  return {
    ...seen,
    ...cluster,
    talosVersion,
    ...(image === undefined ? {} : { image }),
    ...(installer === undefined ? {} : { installer }),
    ...(devices === undefined ? {} : { devices: devices.map(({ spec }) => deviceOf(spec)) }),
    containerdPart: part ?? "",
  };
}

function deviceOf(spec: Record<string, string>): PciDevice {
  // Keys of the resource's YAML (talos, pkg/machinery/resources/hardware/pci_device.go).
  const { class_id, subclass_id, vendor_id, product_id, product } = spec;
  return {
    ...(class_id ? { classId: class_id } : {}),
    ...(subclass_id ? { subclassId: subclass_id } : {}),
    ...(vendor_id ? { vendorId: vendor_id } : {}),
    ...(product_id ? { productId: product_id } : {}),
    ...(product ? { product } : {}),
  };
}

/** Of a configuration, which is full of secrets, the cluster's names are kept, and the installer's. */
function clusterOf(configuration: string): Pick<SeenMachine, "clusterName" | "clusterEndpoint"> {
  const [first] = parseAllDocuments(configuration);
  const document = (first === undefined ? {} : (parse(String(first)) as object)) as {
    cluster?: { clusterName?: string; controlPlane?: { endpoint?: string } };
  };
  const { clusterName, controlPlane } = document?.cluster ?? {};
  return {
    ...(clusterName ? { clusterName } : {}),
    ...(controlPlane?.endpoint ? { clusterEndpoint: controlPlane.endpoint } : {}),
  };
}
