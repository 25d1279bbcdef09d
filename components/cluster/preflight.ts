import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import type { Credential } from "../credentials/credentials";
import { stackMark } from "../kubernetes/guard";
import { omniTaskOf } from "../machine/configuration";
import type { PreflightTask } from "../program/preflight/task";
import { runProgram } from "../machine/program-resource";
import { imageOf } from "../machine/upgrade-task";
import { capabilitiesOf } from "../recipe/facts/talos-release";
import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import { defined } from "../recipe/mapping";
import { shortHash } from "../recipe/short-hash";
import { namespacesMade, plannedVolumes } from "../recipe/stack/workloads";
import { neededObjects } from "../recipe/stack/workloads/needed";
import type { Plan } from "../recipe/types";

/**
 * How long the preflight waits for the Kubernetes API: enough for a control plane that still reboots after an update
 * was killed.
 */
export const PATIENCE = "3m";

/**
 * Limit of the whole preflight: the wait for Kubernetes or for an image that the Factory must build, and the retries.
 */
const LIMIT = "15m";

/**
 * Runs the machine program's `preflight`. Before the first reboot, it checks everything that the update needs later.
 * Every machine waits for the preflight. It runs again only if the chart, the credentials, the names of needed
 * namespaces and Secrets, or something that may reboot a machine changes.
 *
 * @param schematics IDs of the machines' schematics as plain outputs; they resolve once the Image Factory has the
 *   schematics.
 */
export function preflight(
  name: string,
  plan: Plan,
  secrets: Secrets,
  schematics: Record<string, pulumi.Output<string>>,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource {
  const task = pulumi.all(schematics).apply(() => JSON.stringify(taskOf(name, plan)));
  const { bootstrap } = plan.spec;
  const withOmni = plan.machines.some(({ configuration }) => configuration === "omni");
  const neededCredentials: Credential[] = [
    // A stack that bootstraps its cluster creates both credentials itself.
    ...(bootstrap ? [] : (["talosconfig", "kubeconfig"] as const)),
    ...(withOmni ? (["omniEndpoint", "omniServiceAccountKey"] as const) : []),
  ];
  // A changed `reconcileToken` may also reboot a machine.
  const programUse = {
    verb: "preflight",
    task,
    neededCredentials,
    secrets,
    limit: LIMIT,
    reconcileToken: plan.spec.reconcileToken,
  };
  return runProgram(`${name}-preflight`, programUse, opts);
}

/**
 * The preflight's task. It leaves out machines on which the stack still installs Talos, because they run nothing that
 * could be lost.
 */
function taskOf(name: string, plan: Plan): Omit<PreflightTask, "pollSeconds"> {
  const { spec, kubernetes } = plan;
  const { release, namespace } = kubernetes;
  const { chart, version, repository } = release;
  const mark = stackMark();
  const machines = plannedMachines(plan);
  const talosMachines = machines.filter(isDriven);
  const workloadNamespaces = namespacesMade(spec).map(
    (workloadNamespace) => workloadNamespace.namespace,
  );
  if (kubernetes.leaderWorkerSet) workloadNamespaces.push(kubernetes.leaderWorkerSet.namespace);
  const namespaces =
    kubernetes.namespaceLabels === undefined
      ? workloadNamespaces
      : [namespace, ...workloadNamespaces];
  const needs = neededObjects(spec, namespaces);
  return {
    machines: spec.bootstrap ? [] : talosMachines.map(machineToAsk),
    omni: machines.filter((machine) => !isDriven(machine)).map(omniTaskOf),
    installers: [...new Set(talosMachines.map(({ installerImage }) => installerImage))].sort(),
    ...(kubernetes.external
      ? {}
      : {
          chart: { name: chart, version, repository },
          installs: {
            field: gpuProviderOf(kubernetes.mode).field,
            release: release.name,
            namespace: release.namespace,
          },
        }),
    kubernetes: spec.bootstrap !== true,
    ...defined({ release: spec.bootstrap ? undefined : releaseOf(talosMachines, plan) }),
    namespaces: namespaces.sort(),
    volumes: plannedVolumes(spec).map(({ resource, ...volume }) => ({
      ...volume,
      owner: `${mark.valuePrefix}${name}-${resource}`,
    })),
    mark,
    // Left out if empty, which keeps the tasks of older package versions unchanged.
    ...(needs.length === 0 ? {} : { needs }),
    ...(kubernetes.runtimeClass.handler === ""
      ? { removedRuntimeClass: { name: "nvidia", exceptNamespace: release.namespace } }
      : {}),
    drain: spec.upgrade?.drain ?? true,
    limit: PATIENCE,
  };
}

/**
 * The wanted Kubernetes release of the owned machines. `settingsHash` is a hash of their whole configurations, because
 * the stack always applies a whole configuration. So any change of a configuration also resets a release that was
 * changed by hand.
 */
function releaseOf(
  machines: readonly DrivenMachine[],
  { spec: { kubernetesVersion: version, reconcileToken } }: Plan,
): PreflightTask["release"] {
  const owned = machines.filter(({ configuration }) => configuration === "owned");
  if (version === undefined || owned.length === 0) return undefined;
  const configurations = owned.map(({ name, role, contract, patches }) => [
    name,
    role,
    contract,
    patches,
  ]);
  return {
    version,
    ofControlPlanes: owned.some(({ role }) => role === "controlplane"),
    settingsHash: shortHash(JSON.stringify([version, reconcileToken, configurations]), 16),
  };
}

/** A machine (`owned` or `adopted`): this stack, and not Omni, manages its configuration and its image. */
type DrivenMachine = PlannedMachine & {
  configuration: PreflightTask["machines"][number]["configuration"];
};

const isDriven = (machine: PlannedMachine): machine is DrivenMachine =>
  machine.configuration !== "omni";

function machineToAsk(machine: DrivenMachine): PreflightTask["machines"][number] {
  const {
    address,
    configuration,
    schematicId,
    installerImage,
    ownImage,
    patches,
    talosVersion,
    drop,
    driverFieldsFromCard,
  } = machine;
  return {
    machine: machine.name,
    address,
    configuration,
    talosVersion,
    schematicId,
    installerImage,
    image: imageOf(machine),
    ...defined({
      ownImage: ownImage || undefined,
      drop,
      driverFieldsFromCard,
      contract: configuration === "owned" ? machine.contract : undefined,
      handler: capabilitiesOf(talosVersion).toolkit === "extension" ? undefined : (false as const),
    }),
    gpu: machine.gpuCount > 0,
    settingsHash: shortHash(
      JSON.stringify([schematicId, installerImage, talosVersion, patches, drop]),
      16,
    ),
  };
}
