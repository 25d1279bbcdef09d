import type {
  KubernetesObject,
  V1Container,
  V1DaemonSet,
  V1Deployment,
} from "@kubernetes/client-node";
import { type Wait, waitOrFail } from "../../clients/clock";
import { imageRelease } from "../../clients/talos/configuration-text";
import { managingToolOf, managingToolText } from "../../clients/kubernetes/managing-tool";
import { MANAGER } from "../../clients/kubernetes/manager";
import type {
  KubernetesManifest,
  KubernetesManifestObject,
} from "../../clients/talos/talos-machine";
import { isTransient, type FieldFinding } from "../../clients/failure";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { defined } from "../../recipe/mapping";
import { formatDuration } from "../../recipe/rules/duration";
import { type NodeCluster, patiently, type Run, upTo } from "./run";

// kube-proxy, CoreDNS and flannel of a cluster that this stack bootstrapped. Talos creates them once and never changes
// them (talos v1.13.0, internal/app/machined/pkg/controllers/k8s/manifest_apply.go: it skips existing objects). Their
// manifests follow the machine's configuration and the Talos release. `talosctl upgrade-k8s` applies the manifests by
// hand (pkg/cluster/kubernetes/talos_managed.go, PerformManifestsSync); the program does the same for these three.

/** Talos' names for the manifests of the addons (talos v1.13.0, controllers/k8s/manifest.go, render). */
const addonManifests: readonly string[] = [
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

/** An addon whose images differ from the machine's manifest. */
interface OutdatedAddon {
  /** Its DaemonSet or Deployment in the manifest. */
  workload: KubernetesManifestObject;
  /** All objects of the addon's manifest. */
  objects: KubernetesManifestObject[];
  /** The images that change, e.g. `kube-proxy v1.35.0 → v1.36.0`. */
  change: string;
  /**
   * The user or tool that changed the workload; the addon then keeps its release. Undefined if only Talos changed it.
   */
  changer: string | undefined;
}

const isWorkload = ({ kind }: KubernetesManifestObject): boolean =>
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
    const manifests = await run.machine.manifests();
    const addons = await outdatedAddons(manifests, cluster);
    if (addons.some(({ changer }) => changer === undefined)) return false;
    reportKept(run, addons);
    await warnOfRollouts(run, manifests, cluster);
    return true;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return false;
  }
}

/**
 * Applies the machine's manifests of the addons whose images differ, and waits until their pods run. An addon stays as
 * it is if the cluster lacks it, or if a user or another tool changed it.
 *
 * @throws Failure if the machine or Kubernetes does not answer, if Kubernetes refuses a request, or if an addon's pods
 *   do not run within the limit.
 */
export async function updateAddons(run: Run): Promise<void> {
  const cluster = clusterForAddons(run);
  if (cluster === undefined) return;
  const { clock, report, limits } = run;
  const limit = limitOf("addons", limits);
  const end = clock.now() + limit;
  const manifests = await patiently(run, () => run.machine.manifests());
  const addons = await waitForAddons(run, end, async () => ({
    done: await outdatedAddons(manifests, cluster),
  }));
  reportKept(run, addons);
  const outdated = addons.filter(({ changer }) => changer === undefined);
  if (outdated.length === 0) return;
  const changes = outdated.map(({ change }) => change).join(", ");
  const silentNodes = await waitForAddons(run, end, async () => ({
    done: (await cluster.nodes()).filter(({ silent }) => silent).map(({ name }) => name),
  }));
  // A node that is off keeps its old pod, which counts as unavailable. A DaemonSet with `maxUnavailable: 1` then
  // replaces no other pod (kubernetes v1.36.3, pkg/controller/daemon/update.go, rollingUpdate).
  const awaited = outdated.filter(
    ({ workload }) => silentNodes.length === 0 || workload.kind !== "DaemonSet",
  );
  for (const { workload } of outdated.filter((addon) => !awaited.includes(addon)))
    report(
      `warning: the new pods of ${workload.metadata.name} are not awaited: Kubernetes starts them when these nodes are back: ${silentNodes.join(", ")}`,
    );
  await run.phases.run("addons", `${changes}, ${upTo(limit)}`, async () => {
    for (const object of outdated.flatMap(({ objects }) => objects))
      await waitForAddons(run, end, async () => ({
        done: await applyObject(run, object, cluster),
      }));
    await waitForAddons(
      run,
      end,
      async () => {
        const rollouts: string[] = [];
        for (const { workload } of awaited)
          rollouts.push(...unfinishedRollout(workload, await cluster.read(workload)));
        return rollouts.length === 0 ? { done: true } : { not: rollouts.join(", ") };
      },
      (missing) => report(`addons: ${missing}`),
    );
  });
}

/**
 * Warns of addons that have their release, but not all of their pods. An earlier run may have failed because these pods
 * did not run. Their cause may as well have nothing to do with the update, so the run goes on.
 */
async function warnOfRollouts(
  { report }: Run,
  manifests: KubernetesManifest[],
  cluster: NodeCluster,
): Promise<void> {
  for (const { workload } of addonsIn(manifests)) {
    const live = await cluster.read(workload);
    if (live === undefined) continue;
    for (const rollout of unfinishedRollout(workload, live))
      report(`warning: ${rollout}: look at \`kubectl -n kube-system get pods -o wide\``);
  }
}

/** Reports the addons that keep their release. */
function reportKept({ report }: Run, addons: OutdatedAddon[]): void {
  for (const { workload, change, changer } of addons)
    if (changer !== undefined)
      report(
        `note: ${workload.metadata.name} keeps its release (${change}), because ${changer} changed it`,
      );
}

/** Repeats a step until it is done, at the latest until `end` on the run's clock. */
function waitForAddons<T>(
  { task, clock, poll, limits }: Run,
  end: number,
  look: Wait<T>["look"],
  onMissing?: (missing: string) => void,
): Promise<T> {
  const failureOf = (problem: string): FieldFinding => ({
    field: `machines.${task.machine}`,
    problem,
    why: "kube-proxy or CoreDNS may keep the old release, and pods may have no network or no DNS. So the update stopped before it changed the next machine",
    remedy:
      "look at `kubectl -n kube-system get pods -o wide` and `kubectl get nodes`, repair the cause and run again",
  });
  return waitOrFail(
    clock,
    { limit: end - clock.now(), poll, look, ...defined({ onMissing }) },
    (_, last) =>
      failureOf(
        `the addons of Kubernetes do not run in their new release: ${last} (after ${formatDuration(limitOf("addons", limits))})`,
      ),
    (message) => failureOf(`Kubernetes refused a request about its addons: ${message}`),
  );
}

/** Addons in the cluster whose images differ from the manifests. */
async function outdatedAddons(
  manifests: KubernetesManifest[],
  cluster: NodeCluster,
): Promise<OutdatedAddon[]> {
  const outdated: OutdatedAddon[] = [];
  for (const { workload, objects } of addonsIn(manifests)) {
    const live = await cluster.read(workload);
    if (live === undefined) continue;
    const change = imageChanges(live, workload);
    if (change !== "") outdated.push({ workload, objects, change, changer: otherChanger(live) });
  }
  return outdated;
}

/** The addons in a machine's manifests. */
const addonsIn = (manifests: KubernetesManifest[]): Pick<OutdatedAddon, "workload" | "objects">[] =>
  manifests
    .filter(({ id }) => addonManifests.includes(id))
    .flatMap(({ objects }) =>
      objects.filter(isWorkload).map((workload) => ({ workload, objects })),
    );

/**
 * Applies an object of a manifest with the mark of Talos' inventory. Does nothing if a user or another tool changed the
 * object, such as a ConfigMap with a user's entries for CoreDNS.
 */
async function applyObject(
  { report }: Run,
  object: KubernetesManifestObject,
  cluster: NodeCluster,
): Promise<void> {
  const live = await cluster.read(object);
  const changer = live && otherChanger(live);
  if (changer === undefined) await cluster.apply(withInventory(object, live), TALOS);
  else
    report(
      `note: ${object.kind} ${object.metadata.name} stays as it is, because ${changer} changed it`,
    );
}

/** The user or tool that changed an object; undefined if only Talos changed it. */
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

function withInventory(
  object: KubernetesManifestObject,
  live: KubernetesObject | undefined,
): KubernetesManifestObject {
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
function imageChanges(live: KubernetesObject, wanted: KubernetesManifestObject): string {
  const liveImages = new Map(containersOf(live).map(({ name, image }) => [name, image]));
  return containersOf(wanted)
    .filter(({ name, image }) => liveImages.get(name) !== image)
    .map(({ name, image = "" }) => {
      const liveImage = liveImages.get(name);
      const oldText = liveImage === undefined ? "" : `${imageRelease(liveImage) ?? liveImage} → `;
      return `${name} ${oldText}${imageRelease(image) ?? image}`;
    })
    .join(", ");
}

/** Containers in the pod template of a DaemonSet or Deployment. */
function containersOf(workload: KubernetesObject | KubernetesManifestObject): V1Container[] {
  const { spec } = workload as Pick<V1DaemonSet, "spec">;
  const { initContainers = [], containers = [] } = spec?.template.spec ?? {};
  return [...initContainers, ...containers];
}

/** Why some of an addon's new pods do not run yet; empty if all of them run. */
function unfinishedRollout(
  { kind, metadata }: KubernetesManifestObject,
  live: KubernetesObject | undefined,
): string[] {
  if (live === undefined) return [`Kubernetes has no ${kind} ${metadata.name}`];
  const { generation = 0 } = live.metadata ?? {};
  const { observedGeneration = 0 } = (live as V1Deployment).status ?? {};
  if (observedGeneration < generation)
    return [`Kubernetes has not begun to update ${metadata.name}`];
  const { wanted, updated, available, old } =
    kind === "DaemonSet" ? podsOfDaemonSet(live) : podsOfDeployment(live);
  if (updated >= wanted && available >= wanted && old <= 0) return [];
  return [
    `${metadata.name} has ${updated} new and ${available} available pods of ${wanted}${old > 0 ? `, and ${old} old pods` : ""}`,
  ];
}

/** Numbers of a workload's pods. */
interface PodCounts {
  wanted: number;
  updated: number;
  available: number;
  /** Old pods that have not ended yet. */
  old: number;
}

function podsOfDaemonSet({ status }: V1DaemonSet): PodCounts {
  return {
    wanted: status?.desiredNumberScheduled ?? 0,
    updated: status?.updatedNumberScheduled ?? 0,
    available: status?.numberAvailable ?? 0,
    old: 0,
  };
}

function podsOfDeployment({ spec, status }: V1Deployment): PodCounts {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status ?? {};
  return {
    wanted: spec?.replicas ?? 1,
    updated: updatedReplicas,
    available: availableReplicas,
    old: replicas - updatedReplicas,
  };
}
