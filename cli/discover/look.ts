import type * as k8s from "@kubernetes/client-node";
import { labelledExtensions, talosVersionOf } from "../../components/diagnosis/system";
import { controlPlaneRole, describeTaint } from "../../components/recipe/machine/taints";
import { defined, valueAt } from "../../components/recipe/mapping";
import { installImage, valuesOf } from "../../components/clients/talos/configuration-text";
import type { TalosMachine } from "../../components/clients/talos/talos-machine";
import { KubernetesApi } from "../../components/clients/kubernetes/api";
import { slicesPath } from "../../components/clients/kubernetes/devices";
import { reportedCards } from "../../components/clients/kubernetes/reported-cards";
import { askMachines, type FailedRead, readEach } from "../reach/machines";
import type { Access } from "../reach/access";
import { readContainerd } from "./containerd";
import { labelManagers } from "./labels";
import { releasesOf } from "./releases";
import type { PciDevice } from "../../components/clients/talos/pci-device";
import type { SeenCluster, SeenMachine } from "./seen";

/** Share of the time limit for one request to Kubernetes. */
const ONE_REQUEST = 0.2;

/**
 * Reads from a cluster and its machines the facts that a stack describes; changes nothing.
 *
 * @param timeLimit Milliseconds after which reads without an answer end.
 * @param report receives a line for each thing that is read.
 */
export async function readCluster(
  access: Access,
  timeLimit: number,
  report: (line: string) => void,
): Promise<SeenCluster> {
  const start = performance.now();
  const api = new KubernetesApi(access.kubeconfig, [], ONE_REQUEST * timeLimit);
  report(`looking at ${api.server}`);
  const unseen: string[] = [];
  const nodes = await api.list<k8s.V1Node>("nodes", "/api/v1/nodes");
  const releases = releasesOf([
    ...(await listWorkloads(api, "deployments", unseen)),
    ...(await listWorkloads(api, "daemonsets", unseen)),
  ]);
  const slices = await slicesOf(api, unseen);
  const machines = nodes.filter(isTalos).map((node) => fromNode(node, slices));
  if (machines.length === 0) unseen.push(`${api.server} has no node that runs Talos`);
  if (access.machines === undefined) {
    unseen.push(
      "without a talosconfig, the machines' cards, images and configurations could not be read",
    );
    return { machines, releases, unseen };
  }
  report(`looking at ${machines.length} machines`);
  const limit = 0.95 * timeLimit - (performance.now() - start);
  const { problem } = access.machines;
  const byName = new Map(machines.map((machine) => [machine.name, machine]));
  const addresses = machines.map(({ name, address }) => [name, address] as const);
  const machinesNotAsked = await askMachines(
    addresses,
    { ...access.machines, limit },
    async (name, talosMachine) => {
      const seenMachine = byName.get(name)!;
      for (const { description: subject, error } of await readMachine(seenMachine, talosMachine))
        unseen.push(
          `machine ${name} (${seenMachine.address}): ${subject} could not be read: ${problem ?? error.message}`,
        );
    },
  );
  return { machines, releases, unseen: [...unseen, ...machinesNotAsked] };
}

const listWorkloads = async (
  api: KubernetesApi,
  kind: string,
  unseen: string[],
): Promise<k8s.V1Deployment[]> =>
  api.list<k8s.V1Deployment>(kind, `/apis/apps/v1/${kind}`).catch((error: Error) => {
    unseen.push(`the GPU provider could not be read: ${error.message}`);
    return [];
  });

/**
 * Lists ResourceSlices for the cards' memory. Only the DRA driver creates ResourceSlices, and only newer releases of
 * Kubernetes have this kind.
 */
const slicesOf = async (api: KubernetesApi, unseen: string[]): Promise<k8s.V1ResourceSlice[]> =>
  api
    .list<k8s.V1ResourceSlice>("ResourceSlices", slicesPath, { instead: { 404: undefined } })
    .catch((error: Error) => {
      unseen.push(`the DRA driver's list of cards could not be read: ${error.message}`);
      return [];
    });

const isTalos = ({ status }: k8s.V1Node): boolean =>
  /^Talos\b/.test(status?.nodeInfo?.osImage ?? "");

function fromNode(node: k8s.V1Node, slices: readonly k8s.V1ResourceSlice[]): SeenMachine {
  const { metadata, spec, status } = node;
  const { name = "", labels = {}, managedFields = [] } = metadata ?? {};
  return {
    name,
    labels,
    labelManagers: labelManagers(managedFields),
    controlPlane: controlPlaneRole in labels,
    reportedCards: reportedCards(node, slices),
    address: status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    offers: Object.entries(status?.allocatable ?? {})
      .filter(([resource, count]) => resource.startsWith("nvidia.com/") && count !== "0")
      .map(([resource]) => resource),
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      describeTaint({ key, effect, ...defined({ value }) }),
    ),
    ...defined({
      uuid: status?.nodeInfo?.systemUUID?.toLowerCase() || undefined,
      talosVersion: talosVersionOf({ osImage: status?.nodeInfo?.osImage ?? "" }),
      labelledExtensions: labelledExtensions(labels),
    }),
  };
}

const readMachine = (machine: SeenMachine, talosMachine: TalosMachine): Promise<FailedRead[]> =>
  readEach({
    "its release": async () => (machine.talosVersion = await talosMachine.version()),
    "its image": async () => (machine.image = await talosMachine.image()),
    "its cards": async () =>
      (machine.devices = (await talosMachine.resources("pcidevices")).map(
        ({ spec }) => spec as PciDevice,
      )),
    "containerd's options": async () => Object.assign(machine, await readContainerd(talosMachine)),
    // It is full of secrets, so only the names of cluster and installer are kept.
    "its configuration": async () => {
      const { active = "" } = await talosMachine.configurations();
      const [first] = valuesOf(active);
      const textAt = (...path: string[]): string | undefined =>
        (valueAt(first, "cluster", ...path) as string) || undefined;
      const [clusterName, clusterEndpoint] = [
        textAt("clusterName"),
        textAt("controlPlane", "endpoint"),
      ];
      Object.assign(
        machine,
        defined({ clusterName, clusterEndpoint, installer: installImage(active) }),
      );
    },
  });
