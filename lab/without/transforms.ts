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

/** Makes a plan wrong in one way: it changes the plan that it is given, which is a copy. */
type Transform = (plan: Plan) => void;

/** Changes every machine of a plan. */
const eachMachine =
  (change: (machine: MachineRecipe) => void): Transform =>
  ({ machines }) =>
    machines.forEach(change);

/** Takes a label away from every node. */
const withoutLabel = (key: string): Transform =>
  eachMachine(({ nodeLabels }) => void delete nodeLabels[key]);

const validatorLabel = "nvidia.com/gpu.deploy.operator-validator";

/** How a plan lacks each fix. */
export const transforms: Record<FixId, Transform> = {
  /** Talos' kernel hardening stays as it is. */
  bpfJitHarden: eachMachine((machine) => {
    machine.sysctls = {};
    editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "sysctls"]));
  }),

  /** The smoke test's image is of CUDA 13, whatever the driver. That NVIDIA publishes this tag is not verified. */
  cudaImage: ({ kubernetes }) => {
    kubernetes.smokeTestImage = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda13.0.0";
  },

  /** The device plugin gets a strategy that it does not know. A common slip: the plural, which it refuses. */
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

  /** Modules of lts, libraries of production. */
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

  /** The pods that look at all cards are as on Talos ≤ 1.14, but for their RuntimeClass. */
  managementCards: ({ kubernetes }) => {
    kubernetes.runtimeClass.handler = "nvidia";
  },

  /** Pods name the RuntimeClass of Talos ≤ 1.14. */
  noRuntimeClass: ({ kubernetes }) => {
    kubernetes.runtimeClass.name = "nvidia";
  },

  /** The operator has the values of Talos 1.14. */
  operatorToolkit: ({ kubernetes: { release } }) => {
    release.values["toolkit"] = { enabled: false };
    delete release.values["cdi"];
  },

  /** The operator's toolkit goes where the chart has it. */
  toolkitFolder: ({ kubernetes: { release } }) => {
    release.values["toolkit"] = { enabled: true };
  },

  /** No tool sets the label that the device plugin's chart asks for. */
  gpuPresentLabel: withoutLabel("nvidia.com/gpu.present"),

  /** The configuration declares no kernel modules. */
  kernelModules: eachMachine((machine) => {
    machine.kernelModules = [];
    editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "kernel", "modules"]));
  }),

  /** The chart's own MIG manager runs, as the operator starts it. */
  migManager: ({ kubernetes: { release } }) => {
    release.values["migManager"] = { enabled: true };
  },

  /** A postStart hook pulls the models, as in many charts. */
  modelsPull: ({ spec }) => {
    for (const { said } of workloadsOfKind(spec, "ollama")) said.models = []; // the hook is program.ts' business
  },

  /** The GPU provider selects nodes by a role that they were once given by hand, and that no node has any more. */
  nodeSelector: ({ kubernetes }) => {
    const stale = { "node-role.kubernetes.io/gpu": "true" };
    kubernetes.nodeSelector = stale;
    if (kubernetes.mode === "devicePlugin") kubernetes.release.values["nodeSelector"] = stale;
  },

  /** The operator's validator runs with the marker files, which it deletes. */
  operatorValidatorLabel: withoutLabel(validatorLabel),

  /** The containerd part comes a second time, in a patch of its own, as a patch of the whole cluster brings it. */
  perMachinePatch: eachMachine((machine) => {
    const { containerdPart, configuration } = machine;
    // Adopting merges both by their path.
    if (containerdPart === undefined || configuration === "adopted") return;
    machine.patches = [
      ownPatch({ kernelModules: [], sysctls: {}, containerdPart }),
      ...machine.patches,
    ];
  }),

  /** The release's namespace gets no Pod Security labels. */
  privilegedNamespace: ({ kubernetes }) => {
    if (kubernetes.namespaceLabels !== undefined) kubernetes.namespaceLabels = {};
  },

  /** The RuntimeClass is left to an operator that is not there. */
  runtimeClass: ({ kubernetes }) => {
    kubernetes.runtimeClass.owner = "operator";
  },

  /**
   * The upgrade gets the schematic of the plain image, which a machine of the same release runs already: it is up to date,
   * though its configuration names the image with the driver.
   */
  schematic: eachMachine((machine) => {
    if (machine.gpuCount === 0 || machine.configuration === "omni") return;
    const { id, yaml } = schematicOf({ extensions: [], kernelArgs: [] });
    const installerImage = machine.installerImage.replace(machine.schematicId, id);
    Object.assign(machine, { schematic: yaml, schematicId: id, installerImage });
  }),

  /** vLLM's pods have no more shared memory than a container of itself. */
  sharedMemory: ({ spec }) => {
    for (const { said } of workloadsOfKind(spec, "vllm")) said.sharedMemory = "64Mi";
  },

  /** The machine's configuration sets the taints, which a worker may not do. */
  taintThroughApi: eachMachine((machine) => {
    const taints = machine.nodeTaints;
    machine.nodeTaints = [];
    if (taints.length === 0) return;
    const asTalosHasThem = Object.fromEntries(
      taints.map(({ key, value, effect }) => [key, `${value ?? ""}:${effect}`]),
    );
    editOwnPatch(machine, (patch) =>
      patch.setIn(["machine", "nodeTaints"], patch.createNode(asTalosHasThem)),
    );
  }),

  /** Nothing tolerates the taints of the stack's own machines. */
  tolerations: ({ spec, kubernetes }) => {
    const taints = Object.values(spec.machines).flatMap(taintsOf);
    const others = (list: PodToleration[]): PodToleration[] =>
      list.filter((toleration) => !taints.some((taint) => tolerates(toleration, taint)));
    kubernetes.tolerations = others(kubernetes.tolerations);
    for (const values of tolerationLists(kubernetes.release.values))
      values["tolerations"] = others(values["tolerations"] as PodToleration[]);
  },

  /** No program writes the operator's marker files, and its validator runs. */
  validationMarkers: (plan) => {
    plan.kubernetes.markers = [];
    withoutLabel(validatorLabel)(plan);
    withoutLabel(daemonLabel.validationMarkers)(plan);
  },
};

/** Gives a machine an image of other extensions: what names its schematic is changed with it. */
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

/** Edits the patch that this package writes for a machine: the last one, after those of the user. */
function editOwnPatch(machine: MachineRecipe, edit: (patch: Document) => void): void {
  const patch = parseDocument(machine.patches.at(-1)!);
  edit(patch);
  machine.patches = [...machine.patches.slice(0, -1), patch.toString({ lineWidth: 0 })];
}

/** Deletes a value of a patch, and the mappings that are empty then. */
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
