import type * as command from "@pulumi/command";
import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { Plan } from "../recipe/types";
import { gpuMonitoring } from "./monitoring";
import { gpuNamespace } from "./namespace";
import { powerLimits } from "./power-limit";
import { gpuRelease } from "./release";
import { runtimeClass } from "./runtime-class";
import { smokeTest, testPriority } from "./smoke-test";
import { testsPassed, untested } from "./tests-passed";
import { clusterLimits } from "./timeouts";
import { validationMarkers } from "./validation-markers";

/** What must be seen to hold before a workload may have a GPU: every resource of it is ready only then. */
export interface Gate {
  smokeTests: k8s.batch.v1.Job[];
  /** Ready once every smoke test is over; undefined without a GPU machine. */
  tests: command.local.Command | undefined;
  powerLimits: k8s.apps.v1.DaemonSet[];
}

/**
 * What exposes the GPUs in the cluster, in order: namespace, what the release needs, the release, and the gate. Destroyed
 * in the opposite order. Each step waits for the one before it alone, so that a step's dependencies do not grow with the
 * number of machines.
 *
 * @param machines What the first step waits for: the machines, with their drivers up.
 * @param exposure With it, what offers the GPUs is replaced. Default: with nothing.
 * @param kubeconfig Content of the kubeconfig that the gate looks with. Default: of the file that KUBECONFIG names.
 */
export function gpuStack(
  name: string,
  plan: Plan,
  machines: pulumi.Input<pulumi.Resource[]>,
  opts: pulumi.CustomResourceOptions,
  exposure?: pulumi.Resource,
  kubeconfig?: pulumi.Input<string>,
): Gate {
  const recipe = plan.kubernetes;
  const limits = clusterLimits(plan.spec.timeouts);
  const gpuMachines = plan.machines.filter((machine) => machine.gpuCount > 0);

  const namespace = gpuNamespace(name, recipe, { ...opts, dependsOn: machines });
  const within = { ...opts, dependsOn: namespace ?? machines, ...(exposure && { replaceWith: [exposure] }) };
  const prepared = [runtimeClass(name, recipe, within), ...validationMarkers(name, recipe, within)].filter(
    (resource) => resource !== undefined,
  );
  const release = gpuRelease(
    name,
    recipe.release,
    limits.release,
    pulumi.mergeOptions(within, { dependsOn: prepared }),
  );
  const released = { ...opts, dependsOn: release };
  gpuMonitoring(name, plan.spec.monitoring, recipe, released);
  const limited = powerLimits(name, recipe, gpuMachines, released);
  if (gpuMachines.length === 0) return { powerLimits: limited, smokeTests: [], tests: undefined };
  const priority = testPriority(name, released);
  const smokeTests = gpuMachines.map((machine) =>
    smokeTest(name, recipe, machine, limits.gate, priority.metadata.name, released),
  );
  const tests = testsPassed(name, { recipe, machines: gpuMachines, smokeTests, limit: limits.gate, kubeconfig }, opts);
  return { powerLimits: limited, smokeTests, tests };
}

/**
 * A value that resolves only after the gate, and makes whoever uses it depend on the gate. A preview knows it already: it
 * hangs on the URNs of the gate's resources, not on what their provider will say.
 */
export function behind<T>(gate: Gate, value: T): pulumi.Output<T> {
  const urns = [...(gate.tests ? [gate.tests] : []), ...gate.powerLimits].map((resource) => resource.urn);
  return pulumi.all(urns).apply((): unknown => value) as pulumi.Output<T>;
}

/** Whether every smoke test has passed; false without a GPU machine. */
export function passed({ tests }: Gate): pulumi.Output<boolean> {
  if (tests === undefined) return pulumi.output(false);
  return untested(tests).apply((machines) => Object.keys(machines).length === 0);
}
