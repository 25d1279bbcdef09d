import { factsOf } from "./apart";
import { containerdPart } from "./containerd/containerd";
import { nvidiaExtension } from "../facts/extension";
import { contractOf } from "../facts/contract";
import { hostnamePatch } from "./hostname";
import type { MachineFacts } from "../facts/machine-facts";
import { ownPatch } from "./patches";
import { kernelArgsFor } from "../facts/card";
import { capabilitiesOf, eraOf, usesContainerCli, type Release } from "../facts/talos-release";
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

/** Inputs that all machines of a plan have in common. */
export interface RecipeContext {
  spec: ClusterSpec;
  release?: Release;
  mode: GpuProviderName;
  /** Whether marker files stand in for the operator's validator. */
  markers: boolean;
  clusterPatches: UserPatch[];
}

/** All that follows for one machine. */
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
    installerImage: own,
    overlay,
    customization,
    platform,
    secureBoot,
  } = machine;
  const era = eraOf(talosVersion);
  const isGpu = gpuCount > 0;
  const patches = [...context.clusterPatches, ...ownPatches];
  const schematic =
    own === undefined
      ? schematicOf({
          extensions,
          kernelArgs: kernelArgsOf(facts),
          ...defined({ overlay, customization }),
        })
      : ownSchematic(own);
  const image =
    own ??
    installerImage(schematic.id, talosVersion, defined({ factoryUrl, platform, secureBoot }));
  const kernelModules = isGpu ? kernelModulesOf(facts, spec) : [];
  const sysctls = isGpu ? sysctlsOf(spec) : {};
  // Omni makes the schematic with what it puts in by itself, and names the image (siderolabs/omni,
  // cluster_machine_config.go).
  const byOmni = configuration === "omni";
  const taints = taintsOf(machine);
  const sharing = sharingOf(spec, machine);
  const atLeast = atLeastOf(facts, sharing);
  const content = {
    sysctls,
    ...defined({ containerdPart: containerdPart(machine.containerd, era).toml }),
  };
  // The kubelet registers a rebuilt node with these taints; an existing node is changed only through the API.
  // Omni makes the configuration of Talos ≥ 1.14 with a KubeletConfig, which makes the field an error; whether it did
  // is unknown (talos v1.14.0-rc.1, types/k8s/kubelet.go), and the API's taints do without.
  const kubeletDocument = byOmni && capabilitiesOf(talosVersion).documents;
  const hostname =
    configuration === "owned"
      ? hostnamePatch(name, contractOf({ ...machine, talosVersion }), patches)
      : undefined; // the user named the others
  const isGuess = context.release?.assumed || own !== undefined;
  return {
    name,
    address,
    role,
    configuration,
    era,
    gpuCount,
    extensions,
    schematic: schematic.yaml,
    schematicId: schematic.id,
    ...(own === undefined ? {} : { ownImage: true as const }),
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
      ? { ...withoutOperators(machine.labels, context.mode), ...gpuLabels(facts, context) }
      : { ...machine.labels },
    nodeTaints: taints,
    extensionServices: isGpu ? extensionServicesOf(talosVersion, extensions) : [],
    allocatable: allocatableOf(facts, sharing),
    ...filled({ atLeast, powerLimit: machine.powerLimit }),
  };
}

/** The user's arguments, then those that the cards need. */
const kernelArgsOf = ({ spec, cards }: MachineFacts): string[] => [
  ...new Set([...(spec.kernelArgs ?? []), ...kernelArgsFor(cards)]),
];

/** NVIDIA's modules, in the order in which they need each other. */
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
 * The modules that our patch declares. The extensions blacklist NVIDIA's, so each must be declared
 * (siderolabs/extensions, nvidia.conf). One that a user's patch already declares is left to it: of two items with a
 * name the last one's parameters win, and ours come last.
 */
function undeclared(modules: KernelModule[], patches: UserPatch[]): KernelModule[] {
  const declared = new Set(patches.flatMap((patch) => patch.modules.map(({ name }) => name)));
  return modules.filter(({ name }) => !declared.has(name));
}

/**
 * Talos ≤ 1.11: nvidia-container-cli loads a BPF device filter that the hardened JIT refuses
 * (siderolabs/extensions#101).
 */
const sysctlsOf = (spec: ClusterSpec): Record<string, string> =>
  usesContainerCli(spec.talosVersion, factsOf(spec, spec.talosVersion))
    ? { "net.core.bpf_jit_harden": "1" }
    : {};

/** Label of a node with a card. */
export const gpuPresent = "nvidia.com/gpu.present";

/**
 * A user's labels without the one that the operator sets itself once a card is found: it takes away every earlier
 * `gpu.deploy` label of a node, and then owns what it writes in their place, also after the stack is gone.
 */
function withoutOperators(
  labels: Record<string, string> = {},
  mode: GpuProviderName,
): Record<string, string> {
  if (!gpuProviderOf(mode).findsNodes) return labels;
  const { [gpuPresent]: _, ...others } = labels;
  return others;
}

/**
 * Labels of a GPU machine. In operator mode the operator itself sets `nvidia.com/gpu.present`. If we set it before
 * Node Feature Discovery's labels exist, the operator would remove it and every `gpu.deploy` label again
 * (gpu-operator, controllers/state_manager.go).
 */
function gpuLabels(facts: MachineFacts, context: RecipeContext): Record<string, string> {
  const { markers, mode, spec } = context;
  return {
    ...(gpuProviderOf(mode).findsNodes ? {} : { [gpuPresent]: "true" }),
    // Whether the operator's validator runs; the operator keeps an existing label (controllers/state_manager.go). It
    // must not run with our marker files, which it deletes; from Talos 1.13 on it writes them, and must, also on a
    // node that was labelled by hand on 1.12.
    ...(mode === "operator"
      ? { "nvidia.com/gpu.deploy.operator-validator": String(!markers) }
      : {}),
    ...daemonLabels(facts.spec, context),
    // The MIG manager runs on nodes with such cards alone, and it is the operator's.
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
