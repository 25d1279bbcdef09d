import { isDeepStrictEqual } from "node:util";
import { imageArgs } from "../facts/data/since.json";
import { branchedName, nvidiaExtension, soundsLikeNvidia } from "../facts/extension";
import type { DriverSpec, DropSpec, OverlaySpec } from "../spec/index";
import { flat, type Nested } from "../mapping";
import { moduleParameterIn, splitKernelArgs } from "./kernel-args";
import { installerKind, readSchematic, type SchematicContent } from "./schematic";
import type { FieldFinding } from "../rules/finding";
import { type BootArgsContext, keepArgsOfGrub } from "./grub/remedies";
import type { BootPartition } from "./boot-partition";
import { type BootDemands, unbootable } from "./secure-boot";

/**
 * Parts of a machine that a new image may remove. A part that could not be read is undefined, and does not count as a
 * loss.
 */
export interface RunningImage extends BootDemands {
  /** Schematic in the image (YAML); undefined if the image is not from an Image Factory. */
  schematic?: string;
  /** Versions of the image's extensions, by the names in their manifests. */
  extensions: Record<string, string>;
  /** Kernel's command line. */
  commandLine?: string;
  /**
   * Arguments that the boot loader reads from the machine's configuration (`machine.install.extraKernelArgs`). A new
   * image does not remove them.
   */
  configuredArgs: string[];
  /**
   * Kernel arguments of the active configuration, if the boot loader uses only these. Absent if the boot loader uses
   * the image's arguments.
   */
  bootArgs?: string[];
  /**
   * Whether the active or the staged configuration sets both `extraKernelArgs` and `grubUseUKICmdline` under
   * `machine.install`, on the platform `metal`. Default: no.
   */
  hasArgsConflict?: boolean;
  /** E.g. `metal`. */
  platform?: string;
  /** Partition for the machine's images; absent if the partition is unknown. */
  bootPartition?: BootPartition;
}

/** `T` whose fields may also be undefined. */
type Loose<T> = { [field in keyof T]: T[field] | undefined };

/** Content of the machine's next image. */
export interface NextImage extends Omit<SchematicContent, "overlay"> {
  overlay?: Loose<OverlaySpec>;
  /**
   * Installer image; undefined if the user names an image, because that image also decides platform, Secure Boot,
   * arguments and overlay.
   */
  installer?: string;
  /** Whether the machine has GPUs, so that the stack chooses NVIDIA's modules and toolkit. */
  gpu: boolean;
  /** Fields of `driver` that the stack does not set, so that their values follow from the card. Default: none. */
  driverFieldsFromCard?: readonly DriverField[] | undefined;
}

/** Field of a driver that a stack may set. */
export type DriverField = keyof DriverSpec;

/**
 * Names in Talos' list of extensions that are no real extensions: the schematic's entry, and the entry for module
 * dependencies (talos, pkg/imager and pkg/machinery/extensions).
 */
const virtual = new Set(["schematic", "modules.dep"]);

/**
 * Extensions whose name in the manifest differs from the official name: manifest name to official name (image-factory,
 * internal/profile/profile.go, extensionNameAlias).
 */
export const renamed: Record<string, string> = {
  "siderolabs/v4l-uvc": "siderolabs/v4l-uvc-drivers",
  "siderolabs/usb-modem": "siderolabs/usb-modem-drivers",
  "siderolabs/gasket": "siderolabs/gasket-driver",
  "siderolabs/talos-vmtoolsd": "siderolabs/vmtoolsd-guest-agent",
  "siderolabs/xe-guest-utilities": "siderolabs/xen-guest-agent",
};

/**
 * Whether Talos itself sets a kernel argument. On cloud platforms Talos sets `net.ifnames=0`, for the old names of
 * network interfaces (talos, pkg/machinery/platforms).
 */
const isOfTalos = (arg: string, platform = "metal"): boolean =>
  imageArgs.keys.includes(arg.split("=")[0]!) ||
  (arg === "net.ifnames=0" && !["metal", "nocloud"].includes(platform));

/** An extension's official name. */
export function officialName(name: string): string {
  const full = name.includes("/") ? name : `siderolabs/${name}`;
  return renamed[full] ?? full;
}

/**
 * Official names of the extensions that a machine runs. They come from the schematic or, if there is no schematic, from
 * the extensions' manifests.
 */
export function runningExtensions({
  schematic,
  extensions,
}: Pick<RunningImage, "schematic" | "extensions">): string[] {
  const read = schematic === undefined ? undefined : readSchematic(schematic);
  const names = read?.extensions ?? Object.keys(extensions).filter((name) => !virtual.has(name));
  return [...new Set(names.map(officialName))].sort();
}

/**
 * Kernel arguments that a machine has from its image. They come from the schematic or, if there is no schematic, from
 * the command line without Talos' own arguments. The function leaves out arguments of the configuration, because a new
 * image does not remove them. It also leaves out arguments without effect, e.g. those of a schematic that GRUB ignores.
 */
export function runningKernelArgs(running: RunningImage): string[] {
  const { schematic, commandLine, configuredArgs, platform, bootArgs } = running;
  const read = schematic === undefined ? undefined : readSchematic(schematic);
  const args =
    read === undefined
      ? splitKernelArgs(commandLine ?? "").filter((arg) => !isOfTalos(arg, platform))
      : read.kernelArgs.filter(hasEffect).flatMap(splitKernelArgs);
  const configured = new Set(configuredArgs.flatMap(splitKernelArgs));
  const byGrub = bootArgs !== undefined && commandLine !== undefined;
  const inForce = new Set(splitKernelArgs(commandLine ?? ""));
  return [...new Set(args)].filter(
    (arg) => hasEffect(arg) && !configured.has(arg) && (!byGrub || inForce.has(arg)),
  );
}

/**
 * Whether an argument of an image has an effect. `talos.platform` does not count, because `otherLosses` compares the
 * platform.
 */
const hasEffect = (arg: string): boolean =>
  moduleParameterIn(arg) === undefined && !arg.startsWith("talos.platform=");

/**
 * Findings for parts of the running image that the next image lacks, although the stack does not list them under
 * `drop`.
 *
 */
export function losses(
  context: BootArgsContext,
  running: RunningImage,
  next: NextImage,
  drop: Loose<DropSpec> = {},
): FieldFinding[] {
  const { machine } = context;
  const field = `machines.${machine}`;
  const extensions = lostExtensions(running, next, drop);
  const runs = extensions.map((name) => withVersion(name, running.extensions));
  return flat<FieldFinding>([
    extensions.length > 0
      ? {
          field: `${field}.extensions`,
          problem: `the machine runs ${runs.join(", ")}, which its next image lacks`,
          why: "after the reboot the machine would lack the functions of these extensions, e.g. storage, network or microcode",
          remedy: `list them under ${field}.extensions, or under ${field}.drop.extensions to lose them on purpose: [${extensions.join(", ")}]`,
        }
      : undefined,
    otherDriver(field, running, next),
    next.installer !== undefined && otherLosses(context, running, next, next.installer, drop),
    next.installer !== undefined && unbootable(machine, running, next.installer),
  ]);
}

/**
 * Finding for a change of the driver that the stack did not request. If the stack does not set branch and flavour, they
 * follow from the card. But the user may have chosen another branch or flavour before, e.g. for a program that needs
 * the CUDA of one branch.
 */
function otherDriver(field: string, running: RunningImage, next: NextImage): Nested<FieldFinding> {
  const runningDriver = driverIn(runningExtensions(running));
  const nextDriver = driverIn(next.extensions);
  if (runningDriver === undefined || nextDriver === undefined) return undefined;
  const changedParts = (next.driverFieldsFromCard ?? []).filter(
    (part) => runningDriver[part] !== nextDriver[part],
  );
  if (changedParts.length === 0) return undefined;
  const asYaml = (driver: Required<DriverSpec>): string =>
    `{${changedParts.map((part) => `${part}: ${driver[part]}`).join(", ")}}`;
  return {
    field: `${field}.driver`,
    problem: `the machine runs NVIDIA's driver of branch ${runningDriver.branch} with ${runningDriver.flavour} modules, but its next image has branch ${nextDriver.branch} with ${nextDriver.flavour} modules. The stack does not set the driver's ${changedParts.join(" and ")}`,
    why: "a program may need the current driver, and the stack does not request a different driver",
    remedy: `set ${field}.driver to ${asYaml(runningDriver)} to keep it, or to ${asYaml(nextDriver)} to change it on purpose`,
  };
}

/** Branch and flavour of NVIDIA's kernel modules in a list of extensions; undefined if the list has no such modules. */
function driverIn(extensions: readonly string[]): Required<DriverSpec> | undefined {
  for (const name of extensions) {
    const { kind, branch, flavour } = nvidiaExtension(branchedName(name)) ?? {};
    if (kind === "modules" && branch && flavour) return { branch, flavour };
  }
  return undefined;
}

function otherLosses(
  context: BootArgsContext,
  running: RunningImage,
  next: NextImage,
  installer: string,
  drop: Loose<DropSpec>,
): Nested<FieldFinding> {
  const field = `machines.${context.machine}`;
  const keptArgs = new Set(
    [...next.kernelArgs, ...(drop.kernelArgs ?? [])].flatMap(splitKernelArgs),
  );
  const args = runningKernelArgs(running).filter((arg) => !keptArgs.has(arg));
  const { overlay, embeddedMachineConfiguration } =
    (running.schematic === undefined ? undefined : readSchematic(running.schematic)) ?? {};
  const kind = installerKind(installer);
  const { platform } = running;
  const nextOverlay =
    next.overlay === undefined
      ? "none"
      : next.overlay.name === overlay?.name && next.overlay.image === overlay?.image
        ? "other options for this overlay"
        : `${next.overlay.name ?? "an overlay without a name"} of ${next.overlay.image ?? "no image"}`;
  return [
    args.length > 0
      ? {
          field: `${field}.kernelArgs`,
          problem: `the machine's kernel was started with ${args.join(" ")}, which its next image lacks`,
          why: "after the reboot the kernel may set up devices, consoles or memory differently",
          remedy: `to lose them on purpose, list them under ${field}.drop.kernelArgs: ${JSON.stringify(args)}. To keep them, ${keepArgs(context, running, args)}`,
        }
      : undefined,
    overlay !== undefined && !drop.overlay && !isDeepStrictEqual(overlay, next.overlay)
      ? {
          field: `${field}.overlay`,
          problem: `the machine's image has the overlay ${overlay.name} of ${overlay.image}, but its next image has ${nextOverlay}`,
          why: "the board may not boot without this overlay",
          remedy: `set ${field}.overlay to ${JSON.stringify(overlay)}, or ${field}.drop.overlay: true to lose it on purpose`,
        }
      : undefined,
    embeddedMachineConfiguration === true && !drop.embeddedMachineConfiguration
      ? {
          field: `${field}.drop`,
          problem:
            "a machine configuration is embedded in the machine's image, but its next image has none",
          why: "settings that are only in the embedded configuration would be gone after the reboot, and a stack cannot embed one",
          remedy: `put its settings into ${field}.patches, and set ${field}.drop.embeddedMachineConfiguration: true`,
        }
      : undefined,
    kind?.platform !== undefined &&
    platform !== undefined &&
    platform !== kind.platform &&
    !drop.platform
      ? {
          field: `${field}.platform`,
          problem: `the machine runs on platform ${platform}, but its next image is for ${kind.platform}`,
          why: "the machine would look for its network and its metadata in the wrong place",
          remedy: `set ${field}.platform: ${platform}, or ${field}.drop.platform: true to change it on purpose`,
        }
      : undefined,
  ];
}

/**
 * Remedy that keeps a machine's kernel arguments. If the machine boots with GRUB, the remedy names the configuration,
 * because GRUB uses the arguments there.
 */
const keepArgs = (context: BootArgsContext, { bootArgs }: RunningImage, args: string[]): string =>
  bootArgs === undefined
    ? `list them under machines.${context.machine}.kernelArgs`
    : keepArgsOfGrub(context, args);

/**
 * Extensions that a machine would lose. For a GPU machine, NVIDIA's modules and toolkit do not count, because the stack
 * chooses them.
 */
function lostExtensions(running: RunningImage, next: NextImage, drop: Loose<DropSpec>): string[] {
  const keptExtensions = new Set(
    [...next.extensions, ...(drop.extensions ?? [])].map(officialName),
  );
  const keepsFabricManager = [...keptExtensions].some((name) => /fabric-?manager/.test(name));
  return runningExtensions(running).filter((name) => {
    if (keptExtensions.has(name)) return false;
    if (/fabric-?manager/.test(name)) return !keepsFabricManager;
    return !(next.gpu && soundsLikeNvidia(name) && !/gdrdrv/.test(name));
  });
}

function withVersion(official: string, manifests: Record<string, string>): string {
  const [, version = ""] =
    Object.entries(manifests).find(([extension]) => officialName(extension) === official) ?? [];
  return `${official} ${version}`.trim();
}
