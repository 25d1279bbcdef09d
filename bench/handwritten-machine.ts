import { createHash } from "node:crypto";
import * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { MachineSecrets, TalosClient } from "../components/machine/credentials";
import { planCluster } from "../components/recipe";
import { addressOf, clusterOf, isOwned, nodeName } from "./cluster";

/** The texts that a user would have found out and typed, read off the plan of one machine before any clock starts. */
export const plan = planCluster(clusterOf(1));
const machine = plan.machines[0]!;
export const run = (verb: string): string => `node -e "require('talos-gpu/bin/program.js')" -- ${verb}`;
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** What a machine's resources are made with besides its index. */
export interface Common {
  name: string;
  parent: pulumi.Resource;
  schematicId: pulumi.Output<string>;
  talosconfig: pulumi.Output<string>;
  client: pulumi.Output<TalosClient>;
  machineSecrets: pulumi.Output<MachineSecrets>;
  kubeconfig: pulumi.Output<string>;
}

/** The resources of one machine, as somebody would write them by hand. */
export function oneMachine(common: Common, index: number, before: pulumi.Resource) {
  const { name, talosconfig, kubeconfig } = common;
  const node = nodeName(index);
  const address = addressOf(index);
  const own = `${name}-${node}`;
  const options = { parent: common.parent, dependsOn: [before] };
  const parent = new pulumi.ComponentResource("talos-gpu:index:GpuMachine", own, {}, options);
  const configured = isOwned(index)
    ? owned(own, node, address, common, parent)
    : adopted(own, node, address, common, parent);
  const stdin = pulumi
    .all([common.schematicId, configured.hash, configured.resource.urn])
    .apply(([schematicId, configurationHash]) =>
      JSON.stringify({
        machine: node,
        address,
        ...(isOwned(index) ? { configuration: "owned" } : {}),
        role: "worker",
        talosVersion: machine.talosVersion,
        schematicId,
        installerImage: machine.installerImage,
        image: { extensions: machine.extensions, kernelArgs: [] },
        configurationHash,
        modules: machine.kernelModules.map((module) => module.name),
        driverVersion: machine.driverVersion,
        extensionServices: machine.extensionServices,
        drain: true,
        otherControlPlanes: [],
        timeouts: { pull: "10m", drain: "5m", reboot: "30m", verify: "5m" },
      }),
    );
  const environment = { TALOS_GPU_TALOSCONFIG: talosconfig, TALOS_GPU_KUBECONFIG: kubeconfig };
  const upgrade = new command.local.Command(
    `${own}-upgrade`,
    { create: run("upgrade"), update: run("upgrade"), stdin, environment, logging: "stderr" },
    { parent, customTimeouts: { create: "1h35m", update: "1h35m", delete: "1h35m" } },
  );
  const annotations = { "pulumi.com/patchForce": "true" };
  const patch = new k8s.core.v1.NodePatch(
    `${own}-node`,
    { metadata: { name: upgrade.urn.apply(() => node), annotations, labels: machine.nodeLabels } },
    { parent },
  );
  return { node: patch, upgrade };
}

/** What GPUs need of a machine's configuration: the same on all. */
const ours = machine.patches.at(-1)!;

interface Configured {
  resource: pulumi.Resource;
  hash: pulumi.Output<string>;
}

function owned(
  own: string,
  node: string,
  address: string,
  { client, machineSecrets }: Common,
  parent: pulumi.Resource,
): Configured {
  const patches = [`apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: ${node}\n`, ours];
  const generated = talos.machine.getConfigurationOutput(
    {
      clusterName: plan.spec.clusterName!,
      clusterEndpoint: plan.spec.clusterEndpoint!,
      machineType: "worker",
      machineSecrets,
      talosVersion: plan.spec.talosVersion,
      kubernetesVersion: plan.spec.kubernetesVersion!,
      docs: false,
      examples: false,
    },
    { parent },
  );
  const configuration = pulumi.secret(generated.machineConfiguration);
  const resource = new talos.machine.ConfigurationApply(
    `${own}-configuration`,
    {
      node: address,
      endpoint: pulumi.unsecret(client.apply(({ endpoints }) => endpoints[0]!)),
      clientConfiguration: client.apply(({ configuration: current }) => current),
      machineConfigurationInput: configuration,
      configPatches: patches,
      applyMode: "staged",
      timeouts: { create: "5m", update: "5m", delete: "5m" },
    },
    { parent, customTimeouts: { create: "5m", update: "5m" } },
  );
  const hash = configuration.apply((text) => hashOf(JSON.stringify([text, ...patches])));
  return { resource, hash: pulumi.unsecret(hash) };
}

function adopted(
  own: string,
  node: string,
  address: string,
  { talosconfig }: Common,
  parent: pulumi.Resource,
): Configured {
  const resource = new command.local.Command(
    `${own}-configuration`,
    {
      create: run("adopt"),
      update: run("adopt"),
      delete: run("release"),
      stdin: JSON.stringify({ machine: node, address, patches: [ours] }),
      environment: { TALOS_GPU_TALOSCONFIG: talosconfig },
      logging: "stderr",
    },
    { parent, customTimeouts: { create: "5m", update: "5m", delete: "5m" } },
  );
  return { resource, hash: pulumi.output(hashOf(JSON.stringify([ours]))) };
}
