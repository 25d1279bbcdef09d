import * as semver from "semver";
import { waitOrFail } from "../../clients/clock";
import {
  controlPlaneParts,
  imageRelease,
  type KubernetesPart,
} from "../../clients/talos/configuration-text";
import { isTransient } from "../../clients/failure";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import type { UpgradeTask } from "../task";
import { imagesOf, type PartImage, pullParts } from "./kubernetes-images";
import { patiently, type Run, upTo } from "./run";

// A new Kubernetes release on a machine, in the order of `talosctl upgrade-k8s` (talos v1.13.0
// pkg/cluster/kubernetes/upgrade.go): the images are pulled first, and then the program waits until each part runs and
// is ready. Pulumi orders the machines: each control plane waits for the one before, and workers wait for all control
// planes.

/** A kubelet's message about a CNI that is not installed yet. A stack may install its CNI after the machines. */
const NO_NETWORK = /NetworkPluginNotReady/;

/**
 * Whether this update also changes the machine's Kubernetes release. This is so if the stack owns the machine's
 * configuration and contains a control plane. Otherwise the owner of the control planes changes the release.
 */
const bringsKubernetes = ({ configuration, role, otherControlPlanes }: UpgradeTask): boolean =>
  configuration === "owned" && (role === "controlplane" || otherControlPlanes.length > 0);

/**
 * Pulls the images that a staged configuration changes. Otherwise a component of Kubernetes would pull its image when
 * it starts, and be down during the pull. On the only control plane, the Kubernetes API would also be down.
 */
export async function pullKubernetes(run: Run): Promise<void> {
  const { task, machine } = run;
  if (!bringsKubernetes(task)) return;
  const { active = "", persistent = active } = await patiently(run, () => machine.configurations());
  const runningImages = imagesOf(active, task.role);
  const changedImages = Object.entries(imagesOf(persistent, task.role)).filter(
    ([part, image]) => runningImages[part as KubernetesPart] !== image,
  ) as PartImage[];
  if (changedImages.length === 0) return;
  const limit = limitOf("images", run.limits);
  const imageNames = changedImages.map(([, image]) => image).join(", ");
  await run.phases.run("images", `${imageNames}, ${upTo(limit)}`, () =>
    pullParts(run, changedImages, limit, (image, place) =>
      patiently(run, () => machine.hasPulled(image, place)),
    ),
  );
}

/**
 * Whether a running image may have the wanted release. False only if both image references name a release, and these
 * releases differ.
 */
function isRelease(runningImage: string, plannedImage: string): boolean {
  const [runningRelease, plannedRelease] = [imageRelease(runningImage), imageRelease(plannedImage)];
  return (
    runningRelease === undefined ||
    plannedRelease === undefined ||
    runningRelease === plannedRelease
  );
}

/**
 * Components of Kubernetes on the machine that do not run in the release of the machine's configuration, or are not
 * ready, one text each.
 */
async function missingParts(run: Run): Promise<string[]> {
  const { task, machine, cluster } = run;
  const { kubelet, ...plannedImages } = imagesOf(
    (await machine.configurations()).active ?? "",
    task.role,
  );
  const isWanted = (part: keyof typeof plannedImages): boolean => plannedImages[part] !== undefined;
  const parts = controlPlaneParts.filter(isWanted);
  const containers = parts.length > 0 ? await machine.staticPods() : [];
  const partProblems = parts.flatMap((part) => {
    const image = plannedImages[part]!;
    const container = containers.find(({ name }) => name === part);
    if (container === undefined) return [`Talos reports no ${part}`];
    if (!isRelease(container.image, image))
      return [`${part} runs ${imageRelease(container.image)!}, not yet ${imageRelease(image)!}`];
    return container.ready ? [] : [`${part} ${imageRelease(image) ?? ""} is not ready`];
  });
  const release = imageRelease(kubelet ?? "");
  return cluster === undefined || release === undefined
    ? partProblems
    : [...partProblems, ...(await nodeProblems(cluster, task.machine, release))];
}

/**
 * Why the node does not run a kubelet of at least this release, or is not ready; empty if the node runs such a kubelet
 * and is ready. A later release is no problem, because an image's tag may be older than the kubelet in the image.
 */
async function nodeProblems(
  cluster: NonNullable<Run["cluster"]>,
  name: string,
  release: string,
): Promise<string[]> {
  const node = await cluster.node(name);
  if (node === undefined) return [`Kubernetes has no node ${name}`];
  const [runningVersion, plannedVersion] = [semver.parse(node.kubelet), semver.parse(release)];
  if (
    runningVersion !== null &&
    plannedVersion !== null &&
    semver.lt(runningVersion, plannedVersion)
  )
    return [`the kubelet runs ${node.kubelet}, not yet ${release}`];
  if (node.ready || NO_NETWORK.test(node.unready)) return [];
  return [`node ${name} is not ready${node.unready === "" ? "" : ` (${node.unready})`}`];
}

/**
 * Whether all components of Kubernetes on the machine already run as the machine's configuration says. False if the
 * machine or Kubernetes does not answer; `awaitKubernetes` then waits.
 */
export async function runsKubernetes(run: Run): Promise<boolean> {
  if (!bringsKubernetes(run.task)) return true;
  try {
    return (await missingParts(run)).length === 0;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return false;
  }
}

/**
 * Waits until each component of Kubernetes on the machine runs in the release of the machine's configuration, and is
 * ready. It only reads, so the next run can continue a killed run.
 *
 * @throws Failure at the limit. The update then does not change the machines that come after this one.
 */
export async function awaitKubernetes(run: Run): Promise<void> {
  const { task, clock, poll, report } = run;
  if (await runsKubernetes(run)) return;
  const limit = limitOf("kubernetes", run.limits);
  const parts =
    task.role === "controlplane" ? `${controlPlaneParts.join(", ")} and kubelet` : "kubelet";
  const description = `waiting ${upTo(limit)} for ${parts} to run the configured Kubernetes release`;
  await run.phases.run("kubernetes", description, () =>
    waitOrFail(
      clock,
      {
        limit,
        poll,
        look: async () => {
          const problems = await missingParts(run);
          return problems.length === 0 ? { done: true } : { not: problems.join(", ") };
        },
        onMissing: (missing) => report(`kubernetes: ${missing}`),
      },
      (_, last) => ({
        field: `machines.${task.machine}`,
        problem: `Kubernetes on this machine does not agree with the machine's configuration: ${last} (after ${formatDuration(limit)})`,
        why: "the update changes the next machine only after this machine runs the new release. Machines that were changed earlier keep the new release",
        remedy: `look at ${placesOf(task)}, repair the cause and run again: the program then waits again`,
      }),
    ),
  );
  report(`kubernetes: ready in the configured release: ${parts}`);
}

const placesOf = ({ role, address }: UpgradeTask): string =>
  role === "controlplane"
    ? `\`talosctl -n ${address} get staticpodstatuses\`, \`talosctl -n ${address} containers --kubernetes\` and \`talosctl -n ${address} logs kubelet\``
    : `\`talosctl -n ${address} logs kubelet\``;
