import { taintsOf, describeTaint } from "../../components/recipe/machine/taints";
import type { Observations } from "../../components/diagnosis";
import type { Plan } from "../../components/recipe/index";

/** A healthy container. */
export const readyContainer = { name: "main", state: "running", ready: true };

type Pods = NonNullable<Observations["pods"]>;

/** Observations of a cluster that equals its plan. */
export function asPlanned(plan: Plan): Observations {
  const { release, namespaceLabels, runtimeClass, mode, markers } = plan.kubernetes;
  const { namespace } = release;
  const gpuMachines = plan.machines.filter(({ gpuCount }) => gpuCount > 0);
  const limits = [...new Set(gpuMachines.flatMap(({ powerLimit }) => powerLimit ?? []))];
  const daemonSetNames = [
    {
      operator: "nvidia-device-plugin-daemonset",
      devicePlugin: "nvidia-device-plugin",
      dra: "dra-driver-kubelet-plugin",
    }[mode],
    ...(markers.length > 0 ? ["nvidia-validation-markers"] : []),
    ...limits.map((watts) => `nvidia-power-limit-${watts}w`),
  ];
  const { ollama, comfyui, vllm, litellm, pods = {} } = plan.spec.workloads ?? {};
  const { machines = 1 } = vllm ?? {};
  const oneMachineServers = { ollama, comfyui, vllm: machines > 1 ? undefined : vllm, litellm };
  const servers = Object.entries(oneMachineServers).flatMap(([name, server]) =>
    server === undefined || server.active === false
      ? []
      : [{ name, namespace: server.namespace ?? name }],
  );
  const groupPods = Array.from({ length: machines > 1 ? machines : 0 }, (_, index) => ({
    namespace: "vllm",
    name: `vllm-group-0-${index}`,
    phase: "Running",
    containers: [readyContainer],
    labels: { "leaderworkerset.sigs.k8s.io/name": "vllm-group" },
  }));
  const operators = mode === "operator" ? [{ name: "gpu-operator", namespace }] : [];
  return {
    nodes: plan.machines.map((machine) => ({
      name: machine.name,
      labels: {
        ...machine.nodeLabels,
        ...(machine.gpuCount > 0
          ? { "feature.node.kubernetes.io/pci-0300_10de.present": "true" }
          : {}),
        ...Object.fromEntries(
          machine.extensions.map((extension) => [
            `extensions.talos.dev/${extension.replace(/^.*\//, "")}`,
            "1",
          ]),
        ),
      },
      allocatable: Object.fromEntries(
        Object.entries(machine.allocatable).map(([key, count]) => [key, String(count)]),
      ),
      ready: true,
      unschedulable: false,
      taints: taintsOf(plan.spec.machines[machine.name]!).map(describeTaint),
      runtimeHandlers: ["nvidia", "runc"],
      osImage: `Talos (${machine.talosVersion})`,
    })),
    machines: plan.machines.map((machine) => ({
      name: machine.name,
      talosVersion: machine.talosVersion,
      schematicId: machine.schematicId,
      installImage: machine.installerImage,
      modules: machine.kernelModules.map(({ name }) => name),
      driverVersion: machine.driverVersion ?? null,
      extensions: machine.extensions.map((name) => name.replace(/^.*\//, "")),
      stage: "running",
      staged: false,
      repeatedFiles: [],
      containerdPart: machine.containerdPart ?? "",
      services: Object.fromEntries(
        machine.extensionServices.map(({ name, state }) => [name, state]),
      ),
    })),
    daemonSets: daemonSetNames.map((name) => ({
      namespace,
      name,
      labels: {},
      nodeSelector: {},
      desired: gpuMachines.length,
      ready: gpuMachines.length,
      outdated: false,
    })),
    deployments: [...operators, ...servers].map((deployment) => ({
      ...deployment,
      desired: 1,
      ready: 1,
    })),
    jobs: gpuMachines.map(({ name }) => ({
      namespace,
      name: `gpu-smoke-test-${name}-abcdef-12345678`,
      succeeded: 1,
    })),
    namespaces: [{ name: namespace, labels: namespaceLabels ?? {} }],
    runtimeClasses: [{ name: runtimeClass.name, handler: runtimeClass.handler }],
    releases: [{ namespace, name: release.name, status: "deployed", revision: 1 }],
    pods: [
      ...podsOfDaemonSets(daemonSetNames, plan.kubernetes, gpuMachines),
      ...workloadPods(pods),
      ...groupPods,
    ],
    events: [],
  };
}

const podsOfDaemonSets = (
  daemonSetNames: string[],
  { release, runtimeClass }: Plan["kubernetes"],
  machines: Plan["machines"],
): Pods =>
  daemonSetNames.flatMap((daemonSetName) =>
    machines.map(({ name }) => ({
      namespace: release.namespace,
      name: `${daemonSetName}-${name}`,
      phase: "Running",
      node: name,
      owner: `DaemonSet/${daemonSetName}`,
      ...(runtimeClass.name === "" ? {} : { runtimeClass: runtimeClass.name }),
      containers: [readyContainer],
    })),
  );

const workloadPods = (pods: Record<string, { namespace?: string }>): Pods =>
  Object.entries(pods).map(([name, { namespace = "gpu-pods" }]) => ({
    namespace,
    name,
    phase: "Running",
    gpus: true,
    containers: [readyContainer],
  }));
