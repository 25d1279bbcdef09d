import { type Clock, someAtATime } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import {
  imageRelease,
  kubernetesImages,
  type KubernetesPart,
} from "../../clients/talos/configuration-text";
import type { Machine } from "../../clients/talos/talos-machine";
import { fitsVariable } from "../../clients/longest-variable";
import { controlPlaneStepFinding } from "../../recipe/effect/findings";
import { defined } from "../../recipe/mapping";
import { parseDuration } from "../../recipe/rules/duration";
import type { Report } from "../progress";
import type { PulledImages, PullImagesTask, UpgradeTask } from "../task";
import { type Puller, pullImage } from "./pull";

/** A component of Kubernetes, with an image of it. */
export type PartImage = [part: KubernetesPart, image: string];

/** Images of the components of Kubernetes that a machine of that role runs. */
export function imagesOf(
  text: string,
  role: UpgradeTask["role"],
): Partial<Record<KubernetesPart, string>> {
  const { kubelet, ...controlPlaneImages } = kubernetesImages(text);
  return { ...(role === "controlplane" ? controlPlaneImages : {}), ...defined({ kubelet }) };
}

/**
 * Pulls images of components of Kubernetes, except those that the machine already has.
 *
 * @param limit milliseconds for all of them.
 * @param isThere whether the machine has an image.
 * @throws Failure if the machine could not pull an image.
 */
export async function pullParts(
  puller: Puller,
  images: readonly PartImage[],
  limit: number,
  isThere: (image: string, place: "disk" | "pods") => Promise<boolean>,
): Promise<void> {
  const { clock } = puller;
  const end = clock.now() + limit;
  for (const [part, image] of images) {
    const place = part === "kubelet" ? "disk" : "pods";
    if (await isThere(image, place)) continue;
    const words = {
      phase: "images" as const,
      noun: "image",
      unimplemented: `this Talos release pulls ${image} when ${part} starts`,
      why: `${part} needs this image, so the update stopped before it drained the node or applied the configuration`,
      remedy:
        "check that the image exists and that the machine reaches its registry, then run again. If the same update changes the registry, first run an update without the new Kubernetes release",
    };
    await pullImage(puller, { ...words, image, place }, Math.max(end - clock.now(), 1_000));
  }
}

/** Clients of {@link pullImages}. */
interface PullContext {
  machine(address: string): Machine;
  clock: Clock;
  reportOf(machine: string): Report;
  /**
   * Asks Kubernetes what a new release changes: whether it supports the step, and which APIs in use it lacks.
   *
   * @param kubeconfig of the cluster's administrator.
   * @param apiServers releases that the API servers run.
   */
  askKubernetes(
    kubeconfig: string,
    version: string,
    apiServers: readonly string[],
  ): Promise<FieldFinding[]>;
}

/**
 * Pulls the images of a new Kubernetes release onto all machines of the last update, before the stack changes any
 * configuration, as `talosctl upgrade-k8s` does (talos v1.13.0, pkg/cluster/kubernetes/upgrade.go, prePullImages). The
 * images are those of the running configuration, in the new release.
 *
 * First refuses a release that a control plane cannot reach in one step. The preview refuses this as well, but a user
 * may update without a preview. After a failed update, the preview does not know what runs. Then asks Kubernetes about
 * the step, which the preflight of such a stack cannot do: it runs before the stack has a kubeconfig.
 *
 * @param previous answer of the last update. Undefined on the first update that has this command: its machines have no
 * Talos on their disks yet, or an older version of this package installed them. Nothing is then pulled.
 * @throws Failure with the findings of all machines that could not pull an image, or about an unsupported step.
 */
export async function pullImages(
  { version, machines, pollSeconds }: PullImagesTask,
  previous: PulledImages | undefined,
  clients: PullContext,
): Promise<PulledImages> {
  const findings: FieldFinding[] = [];
  const answer = answerOf(version, machines);
  if (previous === undefined || previous.version === version) return answer;
  const installed = machines.filter(({ machine }) => previous.machines.includes(machine));
  const reportNotPulled = (machine: string, error: unknown): void => {
    if (!(error instanceof CallError)) throw error;
    clients.reportOf(machine)(
      `images: not pulled, so each component pulls its image when it starts (${lastLine(error)})`,
    );
  };
  const runningImages = new Map<string, Partial<Record<KubernetesPart, string>>>();
  await someAtATime(installed, async ({ machine, address, role }) => {
    try {
      const { active = "" } = await clients.machine(address).configurations();
      runningImages.set(machine, imagesOf(active, role));
    } catch (error) {
      reportNotPulled(machine, error);
    }
  });
  const apiServers = [...runningImages.values()].flatMap(
    (images) => imageRelease(images["kube-apiserver"] ?? "") ?? [],
  );
  const stepFinding = stepOf(apiServers, version);
  if (stepFinding !== undefined) throw new Failure(stepFinding);
  const controlPlane = installed.find(
    ({ machine, role }) => role === "controlplane" && runningImages.has(machine),
  );
  if (controlPlane !== undefined) {
    const clusterFindings = await findingsOfCluster(controlPlane, version, apiServers, clients);
    if (clusterFindings.length > 0) throw new Failure(...clusterFindings);
  }
  const answering = installed.filter(({ machine }) => runningImages.has(machine));
  await someAtATime(answering, async (task) => {
    const machine = clients.machine(task.address);
    const report = clients.reportOf(task.machine);
    const puller = { task, machine, clock: clients.clock, report, poll: pollSeconds * 1_000 };
    try {
      const images = imagesInRelease(runningImages.get(task.machine)!, previous.version, version);
      if (images.length > 0) report(`images: ${images.map(([, image]) => image).join(", ")}`);
      await pullParts(puller, images, parseDuration(task.limit), (image, place) =>
        machine.hasPulled(image, place),
      );
    } catch (error) {
      if (error instanceof Failure) findings.push(...error.findings);
      else reportNotPulled(task.machine, error);
    }
  });
  if (findings.length > 0) throw new Failure(...findings);
  return answer;
}

/** Findings of Kubernetes about the new release; empty if Kubernetes does not answer, which the program reports. */
async function findingsOfCluster(
  { machine, address }: PullImagesTask["machines"][number],
  version: string,
  apiServers: readonly string[],
  clients: PullContext,
): Promise<FieldFinding[]> {
  const report = clients.reportOf(machine);
  report(`images: asks Kubernetes what ${version} changes in the cluster`);
  try {
    const kubeconfig = await clients.machine(address).adminKubeconfig();
    return await clients.askKubernetes(kubeconfig, version, apiServers);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    report(
      `images: not known what Kubernetes ${version} changes in the cluster (${lastLine(error)})`,
    );
    return [];
  }
}

/** Finding about the step to `version` from the releases of the API servers; undefined if all can take it. */
function stepOf(apiServers: readonly string[], version: string): FieldFinding | undefined {
  const finding = apiServers
    .map((running) => controlPlaneStepFinding(running, tagOf(version)))
    .find((text) => text !== undefined);
  return finding && { field: "kubernetesVersion", ...finding };
}

/** The answer. If it were too long, the next update could not start. Without names, the next update pulls nothing. */
function answerOf(version: string, machines: PullImagesTask["machines"]): PulledImages {
  const answer = { version, machines: machines.map(({ machine }) => machine) };
  return fitsVariable(JSON.stringify(answer)) ? answer : { version, machines: [] };
}

/**
 * The images of one release in another release. Leaves out other images, e.g. those that a user's patch pins, and images
 * with a digest.
 */
function imagesInRelease(
  images: Partial<Record<KubernetesPart, string>>,
  from: string,
  to: string,
): PartImage[] {
  const [present, wanted] = [tagOf(from), tagOf(to)];
  return (Object.entries(images) as PartImage[]).flatMap(([part, image]): PartImage[] =>
    image.endsWith(`:${present}`) ? [[part, `${image.slice(0, -present.length)}${wanted}`]] : [],
  );
}

const tagOf = (version: string): string => (version.startsWith("v") ? version : `v${version}`);
