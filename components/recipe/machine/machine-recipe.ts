import { factsOf } from "./apart";
import { containerdPart } from "./containerd/containerd";
import { nvidiaExtension } from "../facts/extension";
import { contractOf } from "../facts/contract";
import { hostnamePatch } from "./hostname";
import type { MachineFacts } from "../facts/machine-facts";
import { ownPatch } from "./patches";
import { kernelArgsFor } from "../facts/card";
import {
  capabilitiesOf,
  injectionOf,
  usesContainerCli,
  type Release,
} from "../facts/talos-release";
import { installerImage, ownSchematic, schematicOf } from "./schematic";
import { hasStorageModule, storageModule, usesStorage } from "./storage-module";
import { gpuProviderOf } from "../facts/gpu-provider";
import { allocatableOf, atLeastOf, canSplit, migConfigName } from "../facts/sharing";
import { sharingOf } from "./own-sharing";
import { daemonLabels } from "./daemon-labels";
import type { ClusterSpec } from "../spec/index";
import { taintsOf } from "./taints";
import type { ExtensionService, KernelModule, MachineRecipe, GpuProviderName } from "../types";
import type { UserPatch } from "./user-patches";
import { majorOf } from "../facts/version";
import { defined, filled } from "../mapping";

/** Inputs that are the same for all machines of a plan. */
export interface RecipeContext {
  spec: ClusterSpec;
  release?: Release;
  mode: GpuProviderName;
  /** Whether the stack, and not the operator's validator, writes the files for which the operator's pods wait. */
  markers: boolean;
  clusterPatches: UserPatch[];
}

/** Plans one machine of a stack. */
export function machineRecipe(
  facts: MachineFacts,
  ownPatches: UserPatch[],
  context: RecipeContext,
): MachineRecipe {
  const { spec } = context;
  const { name, spec: machine, gpuCount, extensions, driverVersion } = facts;
  const { talosVersion, factoryUrl } = spec;
  const {
    address,
    role,
    configuration,
    installerImage: ownInstaller,
    overlay,
    customization,
    platform,
    secureBoot,
  } = machine;
  const injection = injectionOf(talosVersion);
  const isGpu = gpuCount > 0;
  const patches = [...context.clusterPatches, ...ownPatches];
  const schematic =
    ownInstaller === undefined
      ? schematicOf({
          extensions,
          kernelArgs: kernelArgsOf(facts),
          ...defined({ overlay, customization }),
        })
      : ownSchematic(ownInstaller);
  const image =
    ownInstaller ??
    installerImage(schematic.id, talosVersion, defined({ factoryUrl, platform, secureBoot }));
  const kernelModules = isGpu ? kernelModulesOf(facts, spec) : [];
  const sysctls = isGpu ? sysctlsOf(spec) : {};
  // Omni itself makes the schematic, with its own additions, and names the image (siderolabs/omni,
  // cluster_machine_config.go).
  const byOmni = configuration === "omni";
  const taints = taintsOf(machine);
  const sharing = sharingOf(spec, machine);
  const atLeast = atLeastOf(facts, sharing);
  const content = {
    sysctls,
    ...defined({ containerdPart: containerdPart(machine.containerd, injection).toml }),
  };
  // The kubelet registers a rebuilt node with these taints; only the API changes the taints of an existing node. For
  // Talos ≥ 1.14 Omni may make the configuration with a KubeletConfig, and Talos then refuses the field (talos
  // v1.14.0-rc.1, types/k8s/kubelet.go). Whether Omni did so is unknown, and the taints through the API do not need the
  // field.
  const kubeletDocument = byOmni && capabilitiesOf(talosVersion).documents;
  const hostname =
    configuration === "owned"
      ? hostnamePatch(name, contractOf({ ...machine, talosVersion }), patches)
      : undefined; // Adopted machines and those of Omni keep their names.
  const isGuess = context.release?.assumed || ownInstaller !== undefined;
  return {
    name,
    address,
    role,
    configuration,
    injection,
    gpuCount,
    extensions,
    schematic: schematic.yaml,
    schematicId: schematic.id,
    ...(ownInstaller === undefined ? {} : { ownImage: true as const }),
    talosVersion,
    ...defined({
      driverVersion,
      driverBranch: isGuess && driverVersion ? String(majorOf(driverVersion)) : undefined,
    }),
    installerImage: image,
    kernelModules,
    ...content,
    patches: [
      ...patches.map((patch) => patch.text),
      ...(hostname === undefined ? [] : [hostname]),
      ownPatch({
        ...(byOmni ? {} : { installerImage: image }),
        kernelModules: undeclared(kernelModules, patches),
        ...content,
        registerWithTaints: kubeletDocument ? [] : taints,
      }),
    ],
    ...defined({ uuid: machine.uuid }),
    nodeLabels: isGpu
      ? { ...withoutOperatorLabel(machine.labels, context.mode), ...gpuLabels(facts, context) }
      : { ...machine.labels },
    nodeTaints: taints,
    extensionServices: isGpu ? extensionServicesOf(talosVersion, extensions) : [],
    allocatable: allocatableOf(facts, sharing),
    ...filled({ atLeast, powerLimit: machine.powerLimit }),
  };
}

/** Kernel arguments of a machine: first the user's, then the arguments that the cards need. */
const kernelArgsOf = ({ spec, cards }: MachineFacts): string[] => [
  ...new Set([...(spec.kernelArgs ?? []), ...kernelArgsFor(cards)]),
];

/** NVIDIA's modules, in the order of their dependencies. */
function kernelModulesOf(facts: MachineFacts, spec: ClusterSpec): KernelModule[] {
  // siderolabs/docs, nvidia-fabricmanager ("an NVIDIA baseboard, like a DGX B200"); NVIDIA Fabric Manager user guide
  // (B200, B300: the subnet manager of their NVLinks). A B100 is on the same board.
  const infiniband = facts.cards.some((card) => /^B[123]00\b/.test(card.model)) ? ["ib_umad"] : [];
  const storage = usesStorage(spec) && hasStorageModule(spec.talosVersion) ? [storageModule] : [];
  return ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", ...storage, ...infiniband].map(
    (name) => ({
      name,
      ...filled({ parameters: facts.spec.moduleParameters?.[name] }),
    }),
  );
}

/**
 * The modules that the package's patch declares. The extensions blacklist NVIDIA's modules, so the configuration must
 * declare each of them (siderolabs/extensions, nvidia.conf). The function leaves out modules that a user's patch
 * declares. If two items had the same name, Talos would use the parameters of the last item, which comes from the
 * package's patch.
 */
function undeclared(modules: KernelModule[], patches: UserPatch[]): KernelModule[] {
  const declared = new Set(patches.flatMap((patch) => patch.modules.map(({ name }) => name)));
  return modules.filter(({ name }) => !declared.has(name));
}

/**
 * Sysctls for Talos ≤ 1.11: nvidia-container-cli loads a BPF device filter, which the hardened JIT refuses
 * (siderolabs/extensions#101).
 */
const sysctlsOf = (spec: ClusterSpec): Record<string, string> =>
  usesContainerCli(spec.talosVersion, factsOf(spec, spec.talosVersion))
    ? { "net.core.bpf_jit_harden": "1" }
    : {};

/** Label of a node with a card. */
export const gpuPresent = "nvidia.com/gpu.present";

/**
 * A user's labels without `nvidia.com/gpu.present`, if the GPU Operator sets this label. The operator sets the label
 * when it finds a card. The operator then replaces all `gpu.deploy` labels of the node by its own labels, which stay on
 * the node even after the stack is gone.
 */
function withoutOperatorLabel(
  labels: Record<string, string> = {},
  mode: GpuProviderName,
): Record<string, string> {
  if (!gpuProviderOf(mode).findsNodes) return labels;
  const { [gpuPresent]: _, ...otherLabels } = labels;
  return otherLabels;
}

/**
 * Labels of a GPU machine. With the GPU Operator, only the operator sets `nvidia.com/gpu.present`. If the stack set
 * this label before Node Feature Discovery's labels exist, the operator would remove it, and also every `gpu.deploy`
 * label (gpu-operator, controllers/state_manager.go).
 */
function gpuLabels(facts: MachineFacts, context: RecipeContext): Record<string, string> {
  const { markers, mode, spec } = context;
  return {
    ...(gpuProviderOf(mode).findsNodes ? {} : { [gpuPresent]: "true" }),
    // This label decides whether the operator's validator runs; the operator keeps an existing label
    // (controllers/state_manager.go). The validator must not run with the stack's marker files, because it deletes
    // them. From Talos 1.13 on it must run, because it writes them itself, even on a node with a label from 1.12.
    ...(mode === "operator"
      ? { "nvidia.com/gpu.deploy.operator-validator": String(!markers) }
      : {}),
    ...daemonLabels(facts.spec, context),
    // The operator's MIG manager runs only on nodes with MIG cards.
    ...(spec.sharing?.mig && mode === "operator" && canSplit(facts)
      ? { "nvidia.com/mig.config": migConfigName(spec.sharing.mig.profile) }
      : {}),
  };
}

/**
 * Services of NVIDIA's extensions. Source: siderolabs/extensions, nvidia-gpu, the services' YAML at v1.11.5 and
 * v1.13.9.
 */
export function extensionServicesOf(
  talosVersion: string,
  extensions: string[],
): ExtensionService[] {
  const kinds = new Set(extensions.map((name) => nvidiaExtension(name)?.kind));
  return [
    { name: "ext-nvidia-persistenced", state: "Running" },
    ...(capabilitiesOf(talosVersion).cdi === "extension"
      ? [{ name: "ext-nvidia-cdi-gen", state: "Finished" } as const]
      : []),
    ...(kinds.has("fabricmanager")
      ? [{ name: "ext-nvidia-fabricmanager", state: "Running" } as const]
      : []),
  ];
}
