import { createHash } from "node:crypto";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesRecipe, MachineRecipe } from "../recipe/types";
import { kubernetesName, labels, onNode, podTolerations, unprivileged } from "./pods";
import { outlasting } from "./timeouts";

/**
 * The gate of one machine: a Job that requests one unit of the GPU resource through the device plugin, on that machine,
 * and computes on it. Its image must exit with 0 only when the card computed right.
 *
 * A Job cannot be changed, so it runs again exactly when what it tests is another: its name ends in a hash of the driver,
 * the machine's GPU configuration and the release. A new name also lets the new Job run before the old one goes, and
 * leaves what waits for the gate alone.
 *
 * @param limit Seconds until the test must have passed, with the wait for the device plugin and the image.
 */
export function smokeTest(
  name: string,
  recipe: KubernetesRecipe,
  machine: MachineRecipe,
  limit: number,
  opts: pulumi.CustomResourceOptions,
): k8s.batch.v1.Job {
  const tested = whatIsTested(recipe, machine);
  const hash = createHash("sha256").update(JSON.stringify(tested)).digest("hex").slice(0, 8);
  return new k8s.batch.v1.Job(
    `${name}-smoke-test-${machine.name}`,
    {
      metadata: {
        name: `${kubernetesName("gpu-smoke-test", machine.name).slice(0, 54)}-${hash}`,
        namespace: recipe.release.namespace,
        labels: labels("gpu-smoke-test"),
        annotations: {
          "talos-gpu/talos": machine.talosVersion,
          "talos-gpu/driver": machine.driverVersion ?? "none",
          "talos-gpu/release": `${recipe.release.chart} ${recipe.release.version}`,
        },
      },
      spec: {
        backoffLimit: 3, // a pod that comes between the plugin's restarts fails at admission (UnexpectedAdmissionError)
        activeDeadlineSeconds: limit,
        template: { metadata: { labels: labels("gpu-smoke-test") }, spec: testPod(recipe, machine) },
      },
    },
    pulumi.mergeOptions(opts, { customTimeouts: outlasting(limit) }),
  );
}

/** Everything that, when it changes, makes an earlier pass worthless. */
function whatIsTested(recipe: KubernetesRecipe, machine: MachineRecipe): unknown[] {
  return [
    [machine.name, machine.talosVersion, machine.schematicId, machine.driverVersion],
    [machine.kernelModules, machine.sysctls, machine.containerdPart],
    [recipe.release, recipe.sharingConfig, recipe.runtimeClass, recipe.resourceName, recipe.smokeTestImage],
  ];
}

function testPod(recipe: KubernetesRecipe, machine: MachineRecipe): k8s.types.input.core.v1.PodSpec {
  return {
    runtimeClassName: recipe.runtimeClass.name,
    nodeSelector: onNode(machine.name),
    tolerations: podTolerations(recipe.tolerations),
    // After an upgrade the workloads hold the cards again: the test borrows one of theirs for its minute (preemption),
    // instead of waiting for a card that never comes free.
    priorityClassName: "system-cluster-critical",
    restartPolicy: "Never", // keeps a failed pod's log
    automountServiceAccountToken: false,
    containers: [
      {
        name: "smoke-test",
        image: recipe.smokeTestImage,
        securityContext: unprivileged,
        // What CUDA said is then in the pod's status, where the doctor reads it even when the log is gone.
        terminationMessagePolicy: "FallbackToLogsOnError",
        resources: { limits: { [recipe.resourceName]: "1" } },
      },
    ],
  };
}
