import { type Document, isMap, parse, parseDocument } from "yaml";
import type { FixId } from "../../components/diagnosis";
import { findRelease, type Plan, schematicOf } from "../../components/recipe";
import {
  modulesExtension,
  nvidiaExtension,
  toolkitExtension,
} from "../../components/recipe/facts/extension";
import { daemonLabel } from "../../components/recipe/machine/daemon-labels";
import { ownPatch } from "../../components/recipe/machine/patches";
import { taintsOf, tolerates } from "../../components/recipe/machine/taints";
import { workloadsOfKind } from "../../components/recipe/stack/workloads";
import type { MachineRecipe, PodToleration } from "../../components/recipe/types";

/** Removes one fix from a plan, which is a copy that it may change. */
type Transform = (plan: Plan) => void;

/** Changes every machine of a plan. */
const eachMachine =
  (change: (machine: MachineRecipe) => void): Transform =>
  ({ machines }) =>
    machines.forEach(change);

/** Removes a label from every node. */
const withoutLabel = (key: string): Transform =>
  eachMachine(({ nodeLabels }) => void delete nodeLabels[key]);

const validatorLabel = "nvidia.com/gpu.deploy.operator-validator";

/** Transforms that remove a fix, by the fix's ID. */
export const transforms: Record<FixId, Transform> = {
  /** Keeps Talos' kernel hardening. */
  bpfJitHarden: eachMachine((machine) => {
    machine.sysctls = {};
    editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "sysctls"]));
  }),

  /** Uses a CUDA 13 image for the smoke test, with any driver. It is not verified that NVIDIA publishes this tag. */
  cudaImage: ({ kubernetes }) => {
    kubernetes.smokeTestImage = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda13.0.0";
  },

  /** Gives the device plugin an unknown strategy: the plural, a common mistake, which it refuses. */
  deviceListStrategy: ({ kubernetes: { mode, release } }) => {
    const plural = "envvars";
    if (mode === "devicePlugin") {
      release.values["deviceListStrategy"] = plural;
      return;
    }
    const { env = [] } = release.values["devicePlugin"] as {
      env?: { name: string; value: string }[];
    };
    for (const entry of env) if (entry.name === "DEVICE_LIST_STRATEGY") entry.value = plural;
  },

  /** Combines modules of lts with libraries of production. */
  driverBranches: eachMachine((machine) => {
    const mixed = machine.extensions.map((name) => {
      const extension = nvidiaExtension(name);
      if (extension?.kind === "modules")
        return modulesExtension(extension.flavour ?? "open", "lts");
      return extension?.kind === "toolkit" ? toolkitExtension("production") : name;
    });
    changeImage(machine, mixed.sort());
    const driver = findRelease(machine.talosVersion)?.drivers.lts;
    if (machine.driverVersion !== undefined && driver !== undefined) machine.driverVersion = driver;
  }),

  /** Makes the pods that read all cards as on Talos ≤ 1.14, except for their RuntimeClass. */
  managementCards: ({ kubernetes }) => {
    kubernetes.runtimeClass.handler = "nvidia";
  },

  /** Gives pods the RuntimeClass of Talos ≤ 1.14. */
  noRuntimeClass: ({ kubernetes }) => {
    kubernetes.runtimeClass.name = "nvidia";
  },

  /** Gives the operator the values for Talos 1.14. */
  operatorToolkit: ({ kubernetes: { release } }) => {
    release.values["toolkit"] = { enabled: false };
    delete release.values["cdi"];
  },

  /** Installs the operator's toolkit in the chart's default folder. */
  toolkitFolder: ({ kubernetes: { release } }) => {
    release.values["toolkit"] = { enabled: true };
  },

  /** Removes the label that the device plugin's chart requires. */
  gpuPresentLabel: withoutLabel("nvidia.com/gpu.present"),

  /** Removes the kernel modules from the configuration. */
  kernelModules: eachMachine((machine) => {
    machine.kernelModules = [];
    editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "kernel", "modules"]));
  }),

  /** Uses the chart's own MIG manager, with the operator's settings. */
  migManager: ({ kubernetes: { release } }) => {
    release.values["migManager"] = { enabled: true };
  },

  /** Pulls the models in a postStart hook, as many charts do. */
  modelsPull: ({ spec }) => {
    for (const { spec: ollama } of workloadsOfKind(spec, "ollama")) ollama.models = []; // program.ts adds the hook
  },

  /** Makes the GPU provider select nodes by a role label that no node has. */
  nodeSelector: ({ kubernetes }) => {
    const stale = { "node-role.kubernetes.io/gpu": "true" };
    kubernetes.nodeSelector = stale;
    if (kubernetes.mode === "devicePlugin") kubernetes.release.values["nodeSelector"] = stale;
  },

  /** Runs the operator's validator, which deletes the marker files. */
  operatorValidatorLabel: withoutLabel(validatorLabel),

  /** Adds the containerd part a second time, in a separate patch, like a cluster-wide patch. */
  perMachinePatch: eachMachine((machine) => {
    const { containerdPart, configuration } = machine;
    // The program that adopts a machine merges both by their path.
    if (containerdPart === undefined || configuration === "adopted") return;
    machine.patches = [
      ownPatch({ kernelModules: [], sysctls: {}, containerdPart }),
      ...machine.patches,
    ];
  }),

  /** Removes the Pod Security labels from the release's namespace. */
  privilegedNamespace: ({ kubernetes }) => {
    if (kubernetes.namespaceLabels !== undefined) kubernetes.namespaceLabels = {};
  },

  /** Leaves the RuntimeClass to an operator that is not installed. */
  runtimeClass: ({ kubernetes }) => {
    kubernetes.runtimeClass.owner = "operator";
  },

  /**
   * Gives the upgrade the schematic without extensions, which a machine of the same release already runs. So the
   * upgrade does nothing, although the configuration names the image with the driver.
   */
  schematic: eachMachine((machine) => {
    if (machine.gpuCount === 0 || machine.configuration === "omni") return;
    const { id, yaml } = schematicOf({ extensions: [], kernelArgs: [] });
    const installerImage = machine.installerImage.replace(machine.schematicId, id);
    Object.assign(machine, { schematic: yaml, schematicId: id, installerImage });
  }),

  /** Gives vLLM's pods only a container's default shared memory. */
  sharedMemory: ({ spec }) => {
    for (const { spec: vllm } of workloadsOfKind(spec, "vllm")) vllm.sharedMemory = "64Mi";
  },

  /** Sets the taints in the machine's configuration, which a worker may not apply. */
  taintThroughApi: eachMachine((machine) => {
    const taints = machine.nodeTaints;
    machine.nodeTaints = [];
    if (taints.length === 0) return;
    const taintsByKey = Object.fromEntries(
      taints.map(({ key, value, effect }) => [key, `${value ?? ""}:${effect}`]),
    );
    editOwnPatch(machine, (patch) =>
      patch.setIn(["machine", "nodeTaints"], patch.createNode(taintsByKey)),
    );
  }),

  /** Removes the tolerations for the taints of the stack's machines. */
  tolerations: ({ spec, kubernetes }) => {
    const taints = Object.values(spec.machines).flatMap(taintsOf);
    const withoutThoseOfTaints = (list: PodToleration[]): PodToleration[] =>
      list.filter((toleration) => !taints.some((taint) => tolerates(toleration, taint)));
    kubernetes.tolerations = withoutThoseOfTaints(kubernetes.tolerations);
    for (const values of tolerationLists(kubernetes.release.values))
      values["tolerations"] = withoutThoseOfTaints(values["tolerations"] as PodToleration[]);
  },

  /** Removes the program that writes the operator's marker files, and runs the operator's validator. */
  validationMarkers: (plan) => {
    plan.kubernetes.markers = [];
    withoutLabel(validatorLabel)(plan);
    withoutLabel(daemonLabel.validationMarkers)(plan);
  },
};

/** Gives a machine an image with different extensions, and changes all names of its schematic. */
function changeImage(machine: MachineRecipe, extensions: string[]): void {
  const { customization } = parse(machine.schematic) as {
    customization?: { extraKernelArgs?: string[] };
  };
  const { id, yaml } = schematicOf({
    extensions,
    kernelArgs: customization?.extraKernelArgs ?? [],
  });
  const rename = (text: string): string => text.replaceAll(machine.schematicId, id);
  Object.assign(machine, {
    extensions,
    schematic: yaml,
    schematicId: id,
    installerImage: rename(machine.installerImage),
    patches: machine.patches.map(rename),
  });
}

/** Edits the patch that this package writes for a machine, which is the last one, after the user's. */
function editOwnPatch(machine: MachineRecipe, edit: (patch: Document) => void): void {
  const patch = parseDocument(machine.patches.at(-1)!);
  edit(patch);
  machine.patches = [...machine.patches.slice(0, -1), patch.toString({ lineWidth: 0 })];
}

/** Deletes a value of a patch, and mappings that become empty. */
function deleteIn(patch: Document, path: readonly string[]): void {
  if (!patch.hasIn(path)) return;
  patch.deleteIn(path);
  for (let depth = path.length - 1; depth > 1; depth--) {
    const parent = patch.getIn(path.slice(0, depth));
    if (isMap(parent) && parent.items.length === 0) patch.deleteIn(path.slice(0, depth));
  }
}

type Values = Record<string, unknown>;

/** Every mapping of a chart's values that has a list of tolerations. */
function tolerationLists(values: Values): Values[] {
  const children = Object.values(values).filter(
    (value): value is Values => typeof value === "object" && value !== null,
  );
  return [
    ...(Array.isArray(values["tolerations"]) ? [values] : []),
    ...children.flatMap(tolerationLists),
  ];
}
