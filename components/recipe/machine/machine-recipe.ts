import { factsOf } from "./apart";
import { containerdPart } from "./containerd/containerd";
import { nvidiaExtension } from "../facts/extension";
import { contractOf, hostnamePatch } from "./hostname";
import type { MachineFacts } from "../facts/machine-facts";
import { ownPatch } from "./patches";
import { kernelArgsFor } from "../facts/card";
import { capabilitiesOf, eraOf, usesContainerCli, type Release } from "../facts/talos-release";
import { installerImage, ownSchematic, schematicOf } from "./schematic";
import { wayOf } from "../facts/way";
import { allocatableOf, atLeastOf, canSplit, migConfigName } from "../facts/sharing";
import { sharingOf } from "./own-sharing";
import { daemonLabels } from "./daemon-labels";
import type { ClusterSpec } from "../spec/index";
import { taintsOf } from "./taints";
import type { ExtensionService, KernelModule, MachineRecipe, Mode } from "../types";
import type { UserPatch } from "./user-patches";
import { defaultFactoryUrl } from "../facts/factory";
import { majorOf, parseTalosVersion } from "../facts/version";

/** What all machines of a plan have in common. */
export interface RecipeContext {
  spec: ClusterSpec;
  release?: Release;
  mode: Mode;
  /** Whether marker files stand in for the operator's validator. */
  markers: boolean;
  clusterPatches: UserPatch[];
}

/** All that follows for one machine. */
export function machineRecipe(facts: MachineFacts, ownPatches: UserPatch[], context: RecipeContext): MachineRecipe {
  const { spec } = context;
  const machine = facts.spec;
  const era = eraOf(spec.talosVersion);
  const isGpu = facts.gpuCount > 0;
  const patches = [...context.clusterPatches, ...ownPatches];
  const own = machine.installerImage;
  const schematic =
    own === undefined
      ? schematicOf({
          extensions: facts.extensions,
          kernelArgs: kernelArgsOf(facts),
          ...(machine.overlay === undefined ? {} : { overlay: machine.overlay }),
          ...(machine.customization === undefined ? {} : { customization: machine.customization }),
        })
      : ownSchematic(own);
  const image =
    own ??
    installerImage({
      factoryUrl: spec.factoryUrl ?? defaultFactoryUrl,
      schematicId: schematic.id,
      talosVersion: spec.talosVersion,
      minor: parseTalosVersion(spec.talosVersion)?.minor ?? Infinity,
      platform: machine.platform ?? "metal",
      secureBoot: machine.secureBoot ?? false,
    });
  const kernelModules = isGpu ? kernelModulesOf(facts) : [];
  const sysctls = isGpu ? sysctlsOf(spec) : {};
  const part = containerdPart(machine.containerd, era).toml;
  // Omni makes the schematic with what it puts in by itself, and names the image (siderolabs/omni, cluster_machine_config.go).
  const byOmni = machine.configuration === "omni";
  const taints = taintsOf(machine);
  const sharing = sharingOf(spec, machine);
  const atLeast = atLeastOf(facts, sharing);
  const content = { sysctls, ...(part === undefined ? {} : { containerdPart: part }) };
  // What the kubelet registers with comes back after a rebuild; a node that is there already is changed by the API alone.
  // Omni makes the configuration of Talos ≥ 1.14 with a KubeletConfig, beside which the field is an error; whether it did is
  // not known here (talos v1.14.0-rc.1, types/k8s/kubelet.go), and the API's taints do without.
  const kubeletDocument = byOmni && capabilitiesOf(spec.talosVersion).documents;
  const taintContent = taints.length === 0 || kubeletDocument ? {} : { registerWithTaints: taints };
  const hostname =
    machine.configuration === "owned"
      ? hostnamePatch(facts.name, contractOf(spec.talosVersion, machine.runningVersion), patches)
      : undefined; // somebody else named the others
  return {
    name: facts.name,
    address: machine.address,
    role: machine.role,
    configuration: machine.configuration,
    era,
    gpuCount: facts.gpuCount,
    extensions: facts.extensions,
    schematic: schematic.yaml,
    schematicId: schematic.id,
    ...(own === undefined ? {} : { ownImage: true as const }),
    talosVersion: spec.talosVersion,
    ...(facts.driverVersion === undefined ? {} : { driverVersion: facts.driverVersion }),
    ...(facts.driverVersion !== undefined && (context.release?.assumed || own !== undefined)
      ? { driverBranch: String(majorOf(facts.driverVersion)) }
      : {}),
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
        ...taintContent,
      }),
    ],
    ...(machine.uuid === undefined ? {} : { uuid: machine.uuid }),
    nodeLabels: { ...machine.labels, ...(isGpu ? gpuLabels(facts, context) : {}) },
    nodeTaints: taints,
    extensionServices: isGpu ? extensionServicesOf(spec.talosVersion, facts.extensions) : [],
    allocatable: allocatableOf(facts, sharing),
    ...(atLeast.length === 0 ? {} : { atLeast }),
    ...(machine.powerLimit === undefined ? {} : { powerLimit: machine.powerLimit }),
  };
}

/** The user's arguments, then those that the cards need. */
const kernelArgsOf = ({ spec, cards }: MachineFacts): string[] => [
  ...new Set([...(spec.kernelArgs ?? []), ...kernelArgsFor(cards)]),
];

/** NVIDIA's modules, in the order in which they need each other. */
function kernelModulesOf(facts: MachineFacts): KernelModule[] {
  // siderolabs/docs, nvidia-fabricmanager (B200); NVIDIA Fabric Manager user guide (B200, B300: the subnet manager of their NVLinks).
  const infiniband = facts.cards.some((card) => /^B[23]00\b/.test(card.model)) ? ["ib_umad"] : [];
  return ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", ...infiniband].map((name) => {
    const parameters = facts.spec.moduleParameters?.[name] ?? [];
    return { name, ...(parameters.length > 0 ? { parameters } : {}) };
  });
}

/**
 * The modules that our patch declares. The extensions blacklist NVIDIA's, so each must be declared (siderolabs/extensions, nvidia.conf).
 * One that a user's patch already declares is left to it: of two items with a name the last one's parameters win, and ours come last.
 */
function undeclared(modules: KernelModule[], patches: UserPatch[]): KernelModule[] {
  const declared = new Set(patches.flatMap((patch) => patch.modules.map(({ name }) => name)));
  return modules.filter(({ name }) => !declared.has(name));
}

/** Talos ≤ 1.11: nvidia-container-cli loads a BPF device filter that the hardened JIT refuses (siderolabs/extensions#101). */
function sysctlsOf(spec: ClusterSpec): Record<string, string> {
  return usesContainerCli(spec.talosVersion, factsOf(spec, spec.talosVersion))
    ? { "net.core.bpf_jit_harden": "1" }
    : {};
}

/**
 * Labels of a GPU machine. In operator mode `nvidia.com/gpu.present` is the operator's own: set before Node Feature
 * Discovery's labels are there, the operator would take it and every `gpu.deploy` label away again
 * (gpu-operator, controllers/state_manager.go).
 */
function gpuLabels(facts: MachineFacts, context: RecipeContext): Record<string, string> {
  const { mode, spec } = context;
  return {
    ...(wayOf(mode).findsNodes ? {} : { "nvidia.com/gpu.present": "true" }),
    ...validatorLabel(context),
    ...daemonLabels(facts.spec, context),
    // The MIG manager runs on nodes with such cards alone, and it is the operator's.
    ...(spec.sharing?.mig && mode === "operator" && canSplit(facts)
      ? { "nvidia.com/mig.config": migConfigName(spec.sharing.mig.profile) }
      : {}),
  };
}

/**
 * Whether the operator's validator runs; the operator keeps a label that is there (controllers/state_manager.go). It must not
 * beside our marker files, which it deletes; from Talos 1.13 on it writes them, and must, also on a node that somebody
 * labelled in the days of 1.12.
 */
function validatorLabel({ markers, mode }: RecipeContext): Record<string, string> {
  return mode === "operator" ? { "nvidia.com/gpu.deploy.operator-validator": markers ? "false" : "true" } : {};
}

/** Services of NVIDIA's extensions. Source: siderolabs/extensions, nvidia-gpu, the services' YAML at v1.11.5 and v1.13.9. */
function extensionServicesOf(talosVersion: string, extensions: string[]): ExtensionService[] {
  const kinds = new Set(extensions.map((name) => nvidiaExtension(name)?.kind));
  return [
    { name: "ext-nvidia-persistenced", state: "Running" },
    ...(capabilitiesOf(talosVersion).cdi === "extension"
      ? [{ name: "ext-nvidia-cdi-gen", state: "Finished" } as const]
      : []),
    ...(kinds.has("fabricmanager") ? [{ name: "ext-nvidia-fabricmanager", state: "Running" } as const] : []),
  ];
}
