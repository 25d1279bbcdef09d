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
 * The PriorityClass of all smoke tests, which never preempts pods. Without this class a test would get the cluster's
 * default priority, and could preempt a pod with a lower priority to get its GPU. The name contains a hash of the
 * stack, because a PriorityClass is cluster-wide and several stacks may share the cluster.
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
      description: "Smoke tests of GPU machines: they use a free unit, and never preempt a pod",
    },
    opts,
  );
}

/** A claim of one card, for the tests of all machines; undefined if the tests request an extended resource. */
export const testRequest = (
  name: string,
  { resourceName: resourceOrClass, namespace }: KubernetesRecipe,
  opts: pulumi.CustomResourceOptions,
): GpuRequest | undefined =>
  isDeviceClass(resourceOrClass)
    ? gpuRequest(
        `${name}-smoke-test`,
        "gpu-smoke-test",
        { resourceOrClass, claim: {}, namespace },
        opts,
      )
    : undefined;

/**
 * The smoke test of one machine: a Job that computes on one card of this machine. It requests one unit of the GPU
 * resource, or claims one card. Its image exits with 0 only if the card computed correctly. A second container requests
 * no card, and reports which cards it sees.
 *
 * A Job is immutable, so Pulumi replaces it if it failed, or if a tested value has changed: the Job's pod has a hash of
 * the driver, the machine's GPU configuration and the release. Pulumi generates a new name each time, so the new Job
 * runs before the old one is deleted. The replacement does not replace the resources that wait for the test.
 *
 * @param name Name of the resource, short enough for the digits that Pulumi adds.
 * @param limit Seconds within which the test must pass. They include the wait for the device plugin and for the image.
 * @param of The results of `testPriority` and `testRequest`.
 */
export function smokeTest(
  name: string,
  recipe: KubernetesRecipe,
  machine: MachineRecipe,
  limit: number,
  {
    priority: priorityClassName,
    testGpuRequest: testRequestOfGpu,
  }: { priority: pulumi.Input<string>; testGpuRequest?: GpuRequest | undefined },
  opts: pulumi.CustomResourceOptions,
): k8s.batch.v1.Job {
  const testedParts = whatIsTested(recipe, machine);
  const hash = shortHash(JSON.stringify(testedParts, withoutRollout), 8);
  return new k8s.batch.v1.Job(
    name,
    {
      metadata: {
        namespace: recipe.namespace,
        labels: labels("gpu-smoke-test"),
        annotations: {
          // The gate may replace a failed test, and then owns its fields as well; Pulumi must still be able to change
          // them.
          "pulumi.com/patchForce": "true",
          "pulumi.com/waitFor": "jsonpath={.metadata.uid}",
          "talos-gpu/talos": machine.talosVersion,
          "talos-gpu/driver": machine.driverVersion ?? "none",
          "talos-gpu/release": `${recipe.release.chart} ${recipe.release.version}`,
        },
      },
      spec: {
        // A pod that starts during a restart of the plugin fails at admission (UnexpectedAdmissionError). A pod that
        // starts before the MIG manager has split the card again fails as well.
        backoffLimit: splitOf(recipe, machine) ? 6 : 3,
        // A minute after the gate's limit, because the gate's message says more about the cause.
        activeDeadlineSeconds: limit + 60,
        template: {
          metadata: { labels: labels("gpu-smoke-test"), annotations: { "talos-gpu/tests": hash } },
          spec: { ...testPod(recipe, machine, testRequestOfGpu), priorityClassName },
        },
      },
    },
    { ...opts, customTimeouts: outlasting(limit) },
  );
}

/** Leaves out how a chart replaces pods: a card works the same afterwards. */
const withoutRollout = (key: string, value: unknown): unknown =>
  key === "updateStrategy" || key === "rollingUpdate" ? undefined : value;

/** Everything that the test tests: if any of these values changes, the test must run again. */
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

/** How MIG splits the machine's cards; undefined if the cards are whole, e.g. because they cannot use MIG. */
function splitOf(
  { mig }: KubernetesRecipe,
  { nodeLabels }: MachineRecipe,
): KubernetesRecipe["mig"] {
  return nodeLabels["nvidia.com/mig.config"] === undefined ? undefined : mig;
}

/**
 * The GPU resource that the test requests. It is the resource that the workloads request, if the machine offers this
 * resource. Otherwise it is another resource of the machine, e.g. whole cards in a cluster with MIG devices.
 */
export const resourceOf = (
  { resourceName }: KubernetesRecipe,
  { allocatable }: MachineRecipe,
): string =>
  resourceName in allocatable ? resourceName : (Object.keys(allocatable).sort()[0] ?? resourceName);

type Container = k8s.types.input.core.v1.Container;

function testPod(
  recipe: KubernetesRecipe,
  machine: MachineRecipe,
  request: GpuRequest | undefined,
): k8s.types.input.core.v1.PodSpec {
  const mig = splitOf(recipe, machine);
  const runtimeClassName = askingClass(recipe);
  const container = {
    image: recipe.smokeTestImage,
    securityContext: unprivileged,
    // CUDA's output is then in the pod's status, where `doctor` reads it even after the log is gone.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: {
      ...testMemory,
      ...(request?.resources ?? {
        limits: { ...testMemory.limits, [resourceOf(recipe, machine)]: "1" },
      }),
    },
  };
  return {
    ...(runtimeClassName === "" ? {} : { runtimeClassName }),
    ...request?.pod,
    // Talos sets the host name label to the node's name.
    nodeSelector: { "kubernetes.io/hostname": machine.name, ...(mig ? split : {}) },
    tolerations: [...podTolerations(recipe.tolerations), cordon],
    restartPolicy: "Never", // keeps a failed pod's log
    automountServiceAccountToken: false,
    ...(mig?.only === undefined ? {} : { initContainers: [sliceCheck(mig.only, container)] }),
    containers: [{ name: "smoke-test", ...container }, onlooker(recipe)],
  };
}

/**
 * Requests and limit of the test, which many clusters demand of every container. A CUDA program that computed on one
 * card had at most 148 MB in memory, 41 MB of them its own (on an H200 with driver 580.159.04, 2026-11-30).
 */
const testMemory = {
  requests: { cpu: "10m", memory: "64Mi" },
  limits: { memory: "1Gi" },
};

/**
 * Toleration of a cordoned node, which the pods of DaemonSets get from Kubernetes. All tests have it, because a Job is
 * immutable: an edit of `upgrade.first` would otherwise replace Jobs.
 */
const cordon = {
  key: "node.kubernetes.io/unschedulable",
  operator: "Exists",
  effect: "NoSchedule",
};

/**
 * A container of the same image that requests no card and reports which cards it sees. With NVIDIA's runtime, an image
 * that sets NVIDIA_VISIBLE_DEVICES=all sees every card, and the update warns about that. Without NVIDIA's runtime, the
 * container must see no card, or the test fails.
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
    resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "128Mi" } },
  };
}

/**
 * Node label that the MIG manager sets when it has finished (NVIDIA/mig-parted, pkg/mig/reconfigure); until then the
 * pod stays Pending.
 */
const split = { "nvidia.com/mig.config.state": "success" };

/**
 * An init container that fails if the pod's device is not a MIG device of this profile. The node label alone does not
 * prove this: a reboot removes the MIG devices and keeps the label, and after a change of the profile the old label
 * stays for a moment. The check and the test use the same device, because the kubelet gives the devices of init
 * containers to the pod's containers.
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
