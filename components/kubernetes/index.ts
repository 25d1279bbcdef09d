import type * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { smokeTestNames } from "../recipe/cluster/smoke-test-names";
import type { KubernetesRecipe, MachineRecipe, Plan } from "../recipe/types";
import type { Secrets } from "../credentials/access";
import { gpuMonitoring } from "./monitoring";
import { keepOnDelete, ownedName } from "./pods";
import { powerLimits } from "./power-limit";
import { reconciling } from "./reconcile";
import { gpuRelease } from "./release";
import { type ReplacedWith, replacedWith } from "./replaced-with";
import { smokeTest, testPriority, testRequest } from "./smoke-test";
import { type SmokeTest, testsPassed, untested } from "./tests-passed";
import { clusterLimits } from "./timeouts";
import { validationMarkers } from "./validation-markers";

/** Resources that are ready before a workload may use a GPU. */
interface Gate {
  /** Ready once every smoke test that can run has passed or was given up; undefined without a GPU machine. */
  tests: command.local.Command | undefined;
  /** The GPU machines that are away, which `tests` does not wait for. */
  away: string[];
  powerLimits: k8s.apps.v1.DaemonSet[];
}

/**
 * The machines for which the objects in Kubernetes wait, in two stages: first those of `upgrade.first`, if there are
 * any, then the others.
 */
export interface Stages {
  /** Resources that the first step waits for: the machines with loaded drivers. */
  dependsOn: pulumi.Resource[];
  /**
   * When upgrades left nodes cordoned for their smoke tests, by node name (`Upgraded.cordonedAt`). Default: no node
   * stays cordoned.
   */
  cordonedAt?: Map<string, pulumi.Output<string>>;
  /**
   * Creates the machines of the second stage, which wait for the smoke tests of `upgrade.first`. Returns the resources
   * to wait for, by the node name of each GPU machine. Default: there is no second stage.
   */
  rest?: (tested: pulumi.Resource) => Map<string, pulumi.Resource[]>;
}

/** What the objects in Kubernetes depend on. */
export interface StackContext extends Stages {
  /** Resource whose replacement also replaces the GPU provider. Default: none. */
  exposure?: pulumi.Resource;
  /**
   * Credentials. The gate, which waits for the smoke tests, uses their kubeconfig. If they have no kubeconfig, the gate
   * uses the file that KUBECONFIG names.
   */
  secrets?: Secrets;
  /** Restores missing or changed objects. Default: an update touches only objects that the stack changes. */
  reconcile?: ReturnType<typeof reconciling>;
}

/**
 * Creates the resources that offer the GPUs in the cluster, in this order: the namespace, the objects that the release
 * requires, the release, the smoke tests, and the gate. The gate is the resource that waits for the smoke tests. Pulumi
 * deletes these resources in the opposite order. Each step depends only on the previous one, so the number of
 * dependencies does not grow with the number of machines. With `upgrade.first`, the steps up to the smoke tests of the
 * first stage wait only for the machines of this stage. Then follow the other machines and their tests, and last the
 * gate.
 */
export function gpuStack(
  name: string,
  plan: Plan,
  {
    dependsOn: ahead,
    cordonedAt,
    rest,
    exposure,
    secrets = {},
    reconcile = reconciling(name, undefined, secrets),
  }: StackContext,
  opts: pulumi.CustomResourceOptions,
): Gate {
  const recipe = plan.kubernetes;
  const limits = clusterLimits(plan.spec.timeouts);
  const gpuMachines = plan.machines.filter((machine) => machine.gpuCount > 0);

  const prepareStep = reconcile.step("prepared");
  const namespace = gpuNamespace(name, recipe, prepareStep.with({ ...opts, dependsOn: ahead }));
  const withExposure = replacedWith(exposure);
  const inNamespace = { ...opts, dependsOn: namespace ?? ahead, ...withExposure.opts };
  const preparedOpts = prepareStep.with(inNamespace);
  const prepared = [
    runtimeClass(name, recipe, withExposure, preparedOpts),
    ...validationMarkers(name, recipe, withExposure, preparedOpts),
  ].filter((resource) => resource !== undefined);
  const putBackResource = prepareStep.putBack(opts);
  const afterPrepared = {
    ...keepOnDelete(recipe),
    dependsOn: [...prepared, ...(putBackResource ? [putBackResource] : [])],
  };
  // Another tool installs an external release; the gate waits until the nodes offer GPUs.
  const release = recipe.external
    ? undefined
    : gpuRelease(
        name,
        recipe.release,
        limits.release,
        pulumi.mergeOptions(inNamespace, afterPrepared),
        { reconcileToken: reconcile.token, withExposure },
      );
  const afterRelease = release
    ? { ...opts, dependsOn: release }
    : pulumi.mergeOptions({ ...opts, dependsOn: namespace ?? ahead }, afterPrepared);
  const releaseStep = reconcile.step("released");
  const firstStep = rest ? reconcile.step("first") : releaseStep;
  gpuMonitoring(name, plan, firstStep.with(afterRelease));
  if (gpuMachines.length === 0) {
    releaseStep.putBack(afterRelease);
    return { powerLimits: [], tests: undefined, away: [] };
  }
  const priority = testPriority(name, firstStep.with(afterRelease)).metadata.name;
  const testGpuRequest = testRequest(name, recipe, firstStep.with(afterRelease));
  const names = smokeTestNames(gpuMachines.map((machine) => machine.name));
  const isAway = (machine: MachineRecipe): boolean =>
    plan.spec.away?.includes(machine.name) ?? false;
  const createTest = (
    machine: MachineRecipe,
    testOpts: pulumi.CustomResourceOptions,
  ): SmokeTest => {
    // The test of a machine that is away does not change either.
    const options = isAway(machine) ? { ...testOpts, ignoreChanges: ["*"] } : testOpts;
    const resource = ownedName(name, names.get(machine.name)!);
    const requests = { priority, testGpuRequest };
    return { machine, job: smokeTest(resource, recipe, machine, limits.gate, requests, options) };
  };
  const gateOf = (smokeTests: SmokeTest[], mustPass: boolean) => {
    const putBack = (mustPass ? firstStep : releaseStep).putBack(afterRelease);
    const { token: reconcileToken } = reconcile;
    const gateArgs = {
      recipe,
      // No test can run on a machine that is away: its pod would stay Pending until the gate's limit.
      smokeTests: smokeTests.filter(({ machine }) => !isAway(machine)),
      limit: limits.gate,
      secrets,
      mustPass,
      cordonedAt: mustPass ? cordonedAt : undefined,
      putBack,
      reconcileToken,
    };
    return testsPassed(mustPass ? `${name}-first` : name, gateArgs, opts);
  };
  const firstMachines = rest
    ? gpuMachines.filter(({ name: machine }) => plan.spec.upgrade?.first?.includes(machine))
    : gpuMachines;
  const firstTests = new Map(
    firstMachines.map((machine) => [
      machine.name,
      createTest(machine, firstStep.with(afterRelease)),
    ]),
  );
  const waitedFor = rest?.(gateOf([...firstTests.values()], true)) ?? new Map<string, never>();
  const smokeTests = gpuMachines.map((machine) => {
    const predecessors = waitedFor.get(machine.name);
    const testOpts =
      predecessors === undefined
        ? afterRelease
        : pulumi.mergeOptions(afterRelease, { dependsOn: predecessors });
    return firstTests.get(machine.name) ?? createTest(machine, releaseStep.with(testOpts));
  });
  // The pods of the power limits become ready only on machines with a driver.
  const afterAllMachines = rest
    ? pulumi.mergeOptions(afterRelease, { dependsOn: [...waitedFor.values()].flat() })
    : afterRelease;
  const timeouts = { customTimeouts: { create: `${limits.gate}s`, update: `${limits.gate}s` } };
  const powerLimitResources = powerLimits(
    name,
    recipe,
    gpuMachines,
    releaseStep.with(pulumi.mergeOptions(afterAllMachines, timeouts)),
  );
  return {
    powerLimits: powerLimitResources,
    tests: gateOf(smokeTests, false),
    away: gpuMachines.filter(isAway).map((machine) => machine.name),
  };
}

/**
 * The namespace of the GPU release, with its Pod Security labels. They allow host paths, which the operands mount: by
 * default Talos enforces `baseline` in every namespace but `kube-system` (talos pkg/machinery/config: default admission
 * control). The labels must exist before the chart is installed, because the chart's Node Feature Discovery workers
 * start before the operator could label the namespace.
 *
 * @returns undefined if the stack does not create the namespace, e.g. `kube-system`.
 */
function gpuNamespace(
  name: string,
  recipe: KubernetesRecipe,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.Namespace | undefined {
  if (recipe.namespaceLabels === undefined) return undefined;
  return new k8s.core.v1.Namespace(
    `${name}-namespace`,
    { metadata: { name: recipe.namespace, labels: recipe.namespaceLabels } },
    { ...opts, ...keepOnDelete(recipe) },
  );
}

/**
 * The RuntimeClass that makes containerd start a pod with NVIDIA's runtime. The device plugin's chart creates none. The
 * GPU Operator creates this class itself (gpu-operator controllers/object_controls.go), so the stack must not create it
 * too.
 *
 * @returns undefined if the stack does not create the class.
 */
function runtimeClass(
  name: string,
  recipe: KubernetesRecipe,
  { dependent }: ReplacedWith,
  opts: pulumi.CustomResourceOptions,
): k8s.node.v1.RuntimeClass | undefined {
  if (recipe.runtimeClass.owner !== "component") return undefined;
  return new k8s.node.v1.RuntimeClass(
    `${name}-runtime-class`,
    {
      metadata: { name: recipe.runtimeClass.name },
      handler: dependent(recipe.runtimeClass.handler),
    },
    { ...opts, ...keepOnDelete(recipe) },
  );
}

/**
 * An output that resolves only after the gate. A resource that uses the output depends on the gate's resources. The
 * output is made from their URNs, so a preview already knows its value.
 */
export function afterGate<T>(gate: Gate, value: T): pulumi.Output<T> {
  const urns = [...(gate.tests ? [gate.tests] : []), ...gate.powerLimits].map(
    (resource) => resource.urn,
  );
  return pulumi.all(urns).apply((): unknown => value) as pulumi.Output<T>;
}

/** Whether every smoke test has passed; false without a GPU machine, and if a GPU machine is away. */
export function passed({ tests, away }: Gate): pulumi.Output<boolean> {
  if (tests === undefined) return pulumi.output(false);
  return untested(tests).apply(
    (machines) => away.length === 0 && Object.keys(machines).length === 0,
  );
}
