import type { KubernetesObject } from "@kubernetes/client-node";
import { type Wait, waitOrFail } from "../../clients/clock";
import { imageRelease } from "../../clients/talos/configuration-text";
import { managingToolOf, managingToolText } from "../../clients/kubernetes/managing-tool";
import { MANAGER } from "../../clients/kubernetes/manager";
import type { KubernetesManifest } from "../../clients/talos/talos-machine";
import { isTransient, type FieldFinding } from "../../clients/failure";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { defined } from "../../recipe/mapping";
import { formatDuration } from "../../recipe/rules/duration";
import { type NodeCluster, type Run, upTo } from "./run";

// kube-proxy, CoreDNS and flannel of a cluster that this stack bootstrapped. Talos creates them once and never changes
// them (talos v1.13.0, internal/app/machined/pkg/controllers/k8s/manifest_apply.go: it skips existing objects). Their
// manifests follow the machine's configuration and the Talos release. `talosctl upgrade-k8s` applies the manifests by
// hand (pkg/cluster/kubernetes/talos_managed.go, PerformManifestsSync); the program does the same for these three.

/** Talos' names for the manifests of the addons (talos v1.13.0, controllers/k8s/manifest.go, render). */
const addonManifests: readonly (string | number)[] = [
  "05-flannel",
  "10-kube-proxy",
  "11-core-dns",
  "11-core-dns-svc",
];

/** Field manager with which Talos applies its manifests (talos v1.13.0, constants.KubernetesFieldManagerName). */
const TALOS = "talos";

/** Annotation with which Talos ≥ 1.13 marks the objects in its inventory (cli-utils v0.37.2, OwningInventoryKey). */
const inventoryAnnotation = "config.k8s.io/owning-inventory";

/**
 * Field managers of Talos' own changes: of machined (`init` is the name of its binary), of `talosctl upgrade-k8s`, and
 * of this package.
 */
const managersOfTalos: readonly string[] = [TALOS, "machined", "init", "talosctl", MANAGER];

type ManifestObject = KubernetesManifest["objects"][number];

/** A DaemonSet or Deployment of an addon. */
interface AddonWorkload {
  metadata?: { generation?: number };
  spec?: {
    replicas?: number;
    template?: { spec?: { containers?: Container[]; initContainers?: Container[] } };
  };
  status?: {
    observedGeneration?: number;
    desiredNumberScheduled?: number;
    updatedNumberScheduled?: number;
    numberAvailable?: number;
    replicas?: number;
    updatedReplicas?: number;
    availableReplicas?: number;
  };
}

interface Container {
  name: string;
  image: string;
}

/** An addon whose images differ from the machine's manifest. */
interface OutdatedAddon {
  workload: ManifestObject;
  /** Objects of the addon's manifest that no user and no other tool changed. */
  objects: ManifestObject[];
  /** The images that change, e.g. `kube-proxy v1.35.0 → v1.36.0`. */
  change: string;
}

const isWorkload = ({ kind }: ManifestObject): boolean =>
  kind === "DaemonSet" || kind === "Deployment";

/**
 * The cluster whose addons this run updates; undefined if it updates none. `talos-gpu reboot` only reboots the machine,
 * and its role in Kubernetes has no right to change the addons.
 */
const clusterForAddons = ({ task, cluster }: Run): NodeCluster | undefined =>
  task.addons && !task.reboots ? cluster : undefined;

/**
 * Whether the addons have the images of the machine's manifests. True on a machine whose task does not ask for that.
 * False if the machine or Kubernetes does not answer; `updateAddons` then waits.
 */
export async function runsAddons(run: Run): Promise<boolean> {
  const cluster = clusterForAddons(run);
  if (cluster === undefined) return true;
  try {
    return (await outdatedAddons(run, cluster)).length === 0;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return false;
  }
}

/**
 * Applies the machine's manifests of the addons whose images differ, and waits until their pods run. An addon stays as
 * it is if the cluster lacks it, or if a user or another tool changed it.
 *
 * @throws Failure if Kubernetes does not answer or refuses a request, or if an addon's pods do not run within the limit.
 */
export async function updateAddons(run: Run): Promise<void> {
  const { report } = run;
  const cluster = clusterForAddons(run);
  if (cluster === undefined) return;
  const outdated = await waitForAddons(run, async () => ({
    done: await outdatedAddons(run, cluster),
  }));
  if (outdated.length === 0) return;
  const changes = outdated.map(({ change }) => change).join(", ");
  const limitText = upTo(limitOf("addons", run.limits));
  await run.phases.run("addons", `${changes}, ${limitText}`, async () => {
    for (const object of outdated.flatMap(({ objects }) => objects))
      await waitForAddons(run, async () => ({ done: await cluster.apply(object, TALOS) }));
    await waitForAddons(
      run,
      async () => {
        const waiting: string[] = [];
        for (const { workload } of outdated)
          waiting.push(...(await unfinishedRollout(workload, cluster)));
        return waiting.length === 0 ? { done: true } : { not: waiting.join(", ") };
      },
      (missing) => report(`addons: ${missing}`),
    );
  });
}

/** Repeats a step until it is done, within the limit of the phase `addons`. */
function waitForAddons<T>(
  { task, clock, poll, limits }: Run,
  look: Wait<T>["look"],
  onMissing?: (missing: string) => void,
): Promise<T> {
  const limit = limitOf("addons", limits);
  const failureOf = (problem: string): FieldFinding => ({
    field: `machines.${task.machine}`,
    problem,
    why: "kube-proxy or CoreDNS may keep the old release, and pods may be without network or names. So the update stopped before it changed the next machine",
    remedy:
      "look at `kubectl -n kube-system get pods -o wide` and `kubectl get nodes`, repair the cause and run again",
  });
  return waitOrFail(
    clock,
    { limit, poll, look, ...defined({ onMissing }) },
    (_, last) =>
      failureOf(
        `the addons of Kubernetes do not run in their new release: ${last} (after ${formatDuration(limit)})`,
      ),
    (message) => failureOf(`Kubernetes refused a request about its addons: ${message}`),
  );
}

/** Addons in the cluster whose images differ from the machine's manifests. */
async function outdatedAddons(run: Run, cluster: NodeCluster): Promise<OutdatedAddon[]> {
  const outdated: OutdatedAddon[] = [];
  for (const { id, objects } of await run.machine.manifests()) {
    if (!addonManifests.includes(id)) continue;
    for (const workload of objects.filter(isWorkload)) {
      const live = await cluster.read(workload);
      if (live === undefined) continue;
      const change = imageChanges(live, workload as AddonWorkload);
      if (change === "") continue;
      const changer = otherChanger(live);
      if (changer === undefined)
        outdated.push({
          workload,
          change,
          objects: await unchangedByOthers(run, objects, cluster),
        });
      else
        run.report(
          `note: ${workload.metadata.name} keeps its release (${change}), because ${changer} changed it`,
        );
    }
  }
  return outdated;
}

/**
 * The objects that no user and no other tool changed, e.g. not a ConfigMap with a user's entries for CoreDNS. Each keeps
 * the mark of Talos' inventory.
 */
async function unchangedByOthers(
  run: Run,
  objects: ManifestObject[],
  cluster: NodeCluster,
): Promise<ManifestObject[]> {
  const unchanged: ManifestObject[] = [];
  for (const object of objects) {
    const live = await cluster.read(object);
    const changer = live && otherChanger(live);
    if (changer === undefined) unchanged.push(withInventory(object, live));
    else
      run.report(
        `note: ${object.kind} ${object.metadata.name} stays as it is, because ${changer} changed it`,
      );
  }
  return unchanged;
}

/** Who changed an object, apart from Talos; undefined if only Talos did. */
function otherChanger({ metadata }: KubernetesObject): string | undefined {
  const tool = managingToolOf(metadata);
  if (tool !== undefined) return managingToolText(tool);
  const entry = (metadata?.managedFields ?? []).find(
    ({ manager = "", subresource, fieldsV1 }) =>
      subresource === undefined && !managersOfTalos.includes(manager) && changesContent(fieldsV1),
  );
  return entry?.manager;
}

/** Whether managed fields contain more than metadata, the number of pods, and the time of a restart. */
function changesContent(fields: object = {}): boolean {
  return Object.entries(fields).some(([key, value]) => {
    if (key === "f:metadata" || key === "f:replicas" || key === "f:status") return false;
    return key === "f:spec" || key === "f:template" ? changesContent(value as object) : true;
  });
}

function withInventory(object: ManifestObject, live: KubernetesObject | undefined): ManifestObject {
  const inventory = live?.metadata?.annotations?.[inventoryAnnotation];
  if (inventory === undefined) return object;
  const { annotations } = object.metadata as { annotations?: Record<string, string> };
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { ...annotations, [inventoryAnnotation]: inventory },
    },
  };
}

/** The images that a manifest changes, as one text; empty if it changes none. */
function imageChanges(live: AddonWorkload, wanted: AddonWorkload): string {
  const liveImages = new Map(containersOf(live).map(({ name, image }) => [name, image]));
  return containersOf(wanted)
    .filter(({ name, image }) => liveImages.get(name) !== image)
    .map(({ name, image }) => {
      const liveImage = liveImages.get(name);
      const oldText = liveImage === undefined ? "" : `${imageRelease(liveImage) ?? liveImage} → `;
      return `${name} ${oldText}${imageRelease(image) ?? image}`;
    })
    .join(", ");
}

function containersOf({ spec }: AddonWorkload): Container[] {
  const { initContainers = [], containers = [] } = spec?.template?.spec ?? {};
  return [...initContainers, ...containers];
}

/** Why an addon's new pods do not all run yet; empty if they do. */
async function unfinishedRollout(
  workload: ManifestObject,
  cluster: NodeCluster,
): Promise<string[]> {
  const { kind, metadata } = workload;
  const live = (await cluster.read(workload)) as AddonWorkload | undefined;
  if (live === undefined) return [`Kubernetes has no ${kind} ${metadata.name}`];
  const { status = {} } = live;
  if ((status.observedGeneration ?? 0) < (live.metadata?.generation ?? 0))
    return [`Kubernetes has not begun to update ${metadata.name}`];
  const [wanted = 0, updated = 0, available = 0] =
    kind === "DaemonSet"
      ? [status.desiredNumberScheduled, status.updatedNumberScheduled, status.numberAvailable]
      : [live.spec?.replicas ?? 1, status.updatedReplicas, status.availableReplicas];
  // A Deployment also counts its old pods until they have ended.
  const old = kind === "Deployment" ? (status.replicas ?? 0) - updated : 0;
  if (updated >= wanted && available >= wanted && old <= 0) return [];
  return [
    `${metadata.name} has ${updated} new and ${available} available pods of ${wanted}${old > 0 ? `, and ${old} old pods` : ""}`,
  ];
}
