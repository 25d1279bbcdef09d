import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesRecipe, MachineRecipe } from "../recipe/types";
import { isDeviceClass } from "../recipe/facts/gpu-provider";
import { onlookerName } from "../recipe/cluster/smoke-test-names";
import { shortHash } from "../recipe/short-hash";
import { gpuRequest, type GpuRequest } from "./gpu-request";
import { askingClass, labels, podTolerations, unprivileged } from "./pods";
import { outlasting } from "./timeouts";

/**
 * The priority of the tests: shared by all, and it evicts no pod. Without a class of its own a test would still take
 * the unit of a pod whose priority is below the cluster's default. Its name is the stack's own: a class belongs to
 * the whole cluster, which other stacks may share.
 */
export function testPriority(
  name: string,
  opts: pulumi.CustomResourceOptions,
): k8s.scheduling.v1.PriorityClass {
  const ofStack = shortHash(`${pulumi.getProject()}/${pulumi.getStack()}/${name}`, 6);
  return new k8s.scheduling.v1.PriorityClass(
    `${name}-smoke-test-priority`,
    {
      metadata: { name: `gpu-smoke-test-${ofStack}`, labels: labels("gpu-smoke-test") },
      value: 0,
      preemptionPolicy: "Never",
      description: "Smoke tests of GPU machines: they take a free unit, and never another pod's",
    },
    opts,
  );
}

/**
 * One card by a claim, for the tests of all machines; undefined where each machine's test requests a resource of its
 * node.
 */
export const testRequest = (
  name: string,
  { resourceName: of, namespace }: KubernetesRecipe,
  opts: pulumi.CustomResourceOptions,
): GpuRequest | undefined =>
  isDeviceClass(of)
    ? gpuRequest(`${name}-smoke-test`, "gpu-smoke-test", { of, claim: {}, namespace }, opts)
    : undefined;

/**
 * The gate of one machine: a Job that asks for one unit of the GPU resource, or claims one card, on that machine,
 * and computes on it. Its image must exit with 0 only when the card computed right. A second container asks for
 * nothing, and says what it sees.
 *
 * A Job cannot be changed, so it runs again exactly when it failed or what it tests is another: its pod has a hash of
 * the driver, the machine's GPU configuration and the release. Pulumi gives it a new name each time: the new Job runs
 * before the old one goes, and what waits for the gate is left alone.
 *
 * @param name Its resource's, which leaves Pulumi room for its own part.
 * @param limit Seconds until the test must have passed, with the wait for the device plugin and the image.
 * @param of The class of `testPriority`, and what `testRequest` gives.
 */
export function smokeTest(
  name: string,
  recipe: KubernetesRecipe,
  machine: MachineRecipe,
  limit: number,
  {
    priority: priorityClassName,
    asked,
  }: { priority: pulumi.Input<string>; asked?: GpuRequest | undefined },
  opts: pulumi.CustomResourceOptions,
): k8s.batch.v1.Job {
  const tested = whatIsTested(recipe, machine);
  const hash = shortHash(JSON.stringify(tested), 8);
  return new k8s.batch.v1.Job(
    name,
    {
      metadata: {
        namespace: recipe.namespace,
        labels: labels("gpu-smoke-test"),
        annotations: {
          // The gate waits for the tests of all machines, says what keeps them from passing, and replaces a failed
          // one: its fields are then the gate's, too.
          "pulumi.com/patchForce": "true",
          "pulumi.com/waitFor": "jsonpath={.metadata.uid}",
          "talos-gpu/talos": machine.talosVersion,
          "talos-gpu/driver": machine.driverVersion ?? "none",
          "talos-gpu/release": `${recipe.release.chart} ${recipe.release.version}`,
        },
      },
      spec: {
        // A pod that comes between the plugin's restarts fails at admission (UnexpectedAdmissionError). One that
        // comes before the MIG manager has split the card again fails on it.
        backoffLimit: splitOf(recipe, machine) ? 6 : 3,
        activeDeadlineSeconds: limit + 60, // behind the gate, which says more of what is wrong than the deadline does
        template: {
          metadata: { labels: labels("gpu-smoke-test"), annotations: { "talos-gpu/tests": hash } },
          spec: { ...testPod(recipe, machine, asked), priorityClassName },
        },
      },
    },
    { ...opts, customTimeouts: outlasting(limit) },
  );
}

/** Everything that, when it changes, makes an earlier pass worthless. */
const whatIsTested = (recipe: KubernetesRecipe, machine: MachineRecipe): unknown[] => [
  [machine.name, machine.talosVersion, machine.schematicId, machine.driverVersion],
  [machine.kernelModules, machine.sysctls, machine.containerdPart],
  [
    recipe.release,
    recipe.sharingConfig,
    recipe.runtimeClass,
    resourceOf(recipe, machine),
    recipe.smokeTestImage,
  ],
  ...(splitOf(recipe, machine) ? [[recipe.mig?.config]] : []),
];

/** How the machine's cards are split; undefined where they are whole, as on a machine whose cards have no MIG. */
function splitOf(
  { mig }: KubernetesRecipe,
  { nodeLabels }: MachineRecipe,
): KubernetesRecipe["mig"] {
  return nodeLabels["nvidia.com/mig.config"] === undefined ? undefined : mig;
}

/** The cluster's resource, or the machine's own where it does not offer that: whole cards together with slices. */
export const resourceOf = (
  { resourceName }: KubernetesRecipe,
  { allocatable }: MachineRecipe,
): string =>
  resourceName in allocatable ? resourceName : (Object.keys(allocatable).sort()[0] ?? resourceName);

type Container = k8s.types.input.core.v1.Container;

function testPod(
  recipe: KubernetesRecipe,
  machine: MachineRecipe,
  asked: GpuRequest | undefined,
): k8s.types.input.core.v1.PodSpec {
  const mig = splitOf(recipe, machine);
  const runtimeClassName = askingClass(recipe);
  const container = {
    image: recipe.smokeTestImage,
    securityContext: unprivileged,
    // CUDA's output is then in the pod's status, where the doctor reads it even when the log is gone.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: asked?.resources ?? { limits: { [resourceOf(recipe, machine)]: "1" } },
  };
  return {
    ...(runtimeClassName === "" ? {} : { runtimeClassName }),
    ...asked?.pod,
    // Talos sets the host name label to the node's name.
    nodeSelector: { "kubernetes.io/hostname": machine.name, ...(mig ? split : {}) },
    tolerations: podTolerations(recipe.tolerations),
    restartPolicy: "Never", // keeps a failed pod's log
    automountServiceAccountToken: false,
    ...(mig?.only === undefined ? {} : { initContainers: [sliceCheck(mig.only, container)] }),
    containers: [{ name: "smoke-test", ...container }, onlooker(recipe)],
  };
}

/**
 * Looks for cards from the same image without asking for one, and tells what it sees. Where NVIDIA's runtime starts
 * it, an image that says NVIDIA_VISIBLE_DEVICES=all sees every card: the gate reports that. Without that runtime
 * nothing may be seen, and the test fails.
 */
function onlooker(recipe: KubernetesRecipe): Container {
  const script =
    'for card in /dev/nvidia[0-9]*; do [ ! -e "$card" ] || seen="$seen ${card#/dev/}"; done; ' +
    '[ -z "$seen" ] || { echo "sees$seen, and asked for no card" > /dev/termination-log; exit "$CODE"; }';
  return {
    name: onlookerName,
    image: recipe.smokeTestImage,
    securityContext: unprivileged,
    command: ["sh", "-c", script],
    env: [{ name: "CODE", value: askingClass(recipe) === "" ? "1" : "0" }],
  };
}

/**
 * Value that the MIG manager sets when it is done (NVIDIA/mig-parted, pkg/mig/reconfigure); until then the pod stays
 * Pending.
 */
const split = { "nvidia.com/mig.config.state": "success" };

/**
 * Fails on a card that is not split, or not that way. The label outlasts a reboot, which the slices do not, and a
 * change of the profile for a moment. It gets the very device of the test: devices of init containers are used again.
 */
function sliceCheck(profile: string, container: Omit<Container, "name">): Container {
  const script =
    'nvidia-smi -L | grep -F "MIG $PROFILE " || { echo "the device is no MIG $PROFILE"; exit 1; }';
  return {
    name: "slice",
    ...container,
    command: ["sh", "-c", script],
    env: [{ name: "PROFILE", value: profile }],
  };
}
