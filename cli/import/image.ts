import { stringify } from "yaml";
import {
  DriverBranch,
  ModuleFlavour,
  type CustomizationSpec,
  readSchematic,
  schematicOf,
  type OverlaySpec,
} from "../../components/recipe/index";
import {
  branchedName,
  modulesExtension,
  nvidiaExtension,
  soundsLikeNvidia,
  toolkitExtension,
  unsuffixedNames,
} from "../../components/recipe/facts/extension";
import { defined } from "../../components/recipe/mapping";
import type { RawSchematic, Schematics } from "./schematics";
import type { TalconfigNode } from "./talconfig";
import type { FieldFinding } from "../../components/recipe/rules/finding";

/** Content of a node's image, as far as talhelper's file shows it. */
export interface ImageContent {
  /** Whether NVIDIA's extensions are in it; undefined: the file does not say. */
  nvidia?: boolean;
  branch?: DriverBranch;
  flavour?: ModuleFlavour;
  /** Extensions that are not NVIDIA's. */
  extensions: string[];
  /** All of them, as they are listed; undefined where no list is known. */
  listed?: string[];
  kernelArgs: string[];
  /** Platform and Secure Boot, where the installer's name tells them. */
  platform?: string;
  secureBoot?: boolean;
  overlay?: OverlaySpec;
  customization?: CustomizationSpec;
  /** ID of its schematic, if its content is unknown. */
  unknown?: string;
  /** Its installer, where that is of no Image Factory. */
  installer?: string;
  notes: FieldFinding[];
}

/**
 * Schematics of NVIDIA's extensions alone, by their ID. An ID is a hash, so its content is known only if it was
 * hashed here.
 */
const nvidiaAloneById = new Map(
  Object.values(DriverBranch).flatMap((branch) =>
    Object.values(ModuleFlavour).flatMap((flavour) => {
      const pair = [modulesExtension(flavour, branch), toolkitExtension(branch)];
      const former = pair.map(
        (name) => Object.keys(unsuffixedNames).find((old) => branchedName(old) === name) ?? name,
      );
      // The order of the extensions is part of the ID; the Factory's page sorts them, a hand may not.
      const orders = [pair, former].flatMap((names) => [names, names.toReversed()]);
      const ids = orders.map((extensions) => schematicOf({ extensions, kernelArgs: [] }).id);
      return ids.map((id) => [id, { branch, flavour }] as const);
    }),
  ),
);

/** Talos' own installer, with nothing added. */
const official = /^ghcr\.io\/siderolabs\/installer(?:$|[:@])/;

const plain = schematicOf({ extensions: [], kernelArgs: [] }).id;

/**
 * Content of a node's image, by its schematic or by the ID in its image's URL.
 *
 * @param schematics whose content is known
 */
export function imageOf(node: TalconfigNode, schematics: Schematics): ImageContent {
  const { schematic, talosImageURL, hostname } = node;
  const installer = installerOf(node);
  const byName = { ...emptyImage, ...installer.image, notes: installer.notes };
  // talhelper takes the schematic only where there is no URL (talhelper, pkg/talos/nodeconfig.go, installerURL).
  if (!talosImageURL && schematic === undefined) return { ...byName, nvidia: false };
  const id = /\/([0-9a-f]{64})(?=$|[:@])/.exec(talosImageURL ?? "")?.[1];
  if (id === plain || official.test(talosImageURL ?? "")) return { ...byName, nvidia: false };
  if (talosImageURL && id === undefined)
    return { ...emptyImage, installer: talosImageURL, notes: [] };
  const raw = talosImageURL ? schematics.get(id ?? "") : schematic;
  if (raw !== undefined) return contentOf(hostname, raw, installer);
  const driver = nvidiaAloneById.get(id ?? "");
  if (driver !== undefined) return { ...byName, nvidia: true, ...driver };
  const address = node.ipAddress || hostname;
  const content = id === undefined ? "the schematic" : `schematic ${id.slice(0, 12)}…`;
  const unlikeWritten = schematic === undefined ? "" : ", and differs from `schematic`";
  const unknown: FieldFinding = {
    field: `machines.${hostname}.extensions`,
    problem: `what is in ${content} is not visible in its name${unlikeWritten}`,
    why: "its driver (branch and flavour), its other extensions and its kernel arguments would be lost: without `driver` the plan takes the branch and the flavour that the card gets by default, and the update stops where the machine runs another",
    remedy: `give its file (--schematic FILE); or ask the Image Factory (--factory); or look with \`talosctl -n ${address} get extensions\` and \`talosctl -n ${address} read /proc/cmdline\`, then set the machine's driver.branch and driver.flavour, extensions and kernelArgs`,
  };
  return { ...byName, ...defined({ unknown: id }), notes: [unknown, ...installer.notes] };
}

const emptyImage = { extensions: [], kernelArgs: [], notes: [] };

function contentOf(
  hostname: string,
  raw: RawSchematic,
  installer: ReturnType<typeof installerOf>,
): ImageContent {
  const content = readSchematic(stringify(raw));
  const extensions = (content?.extensions ?? []).map(branchedName);
  const found = extensions.flatMap((name) => nvidiaExtension(name) ?? []);
  const branch = found.flatMap((extension) => extension.branch ?? [])[0];
  const flavour = found.flatMap((extension) => extension.flavour ?? [])[0];
  return {
    nvidia: extensions.some(soundsLikeNvidia),
    ...defined({
      branch,
      flavour,
      overlay: content?.overlay,
      customization: content?.customization,
    }),
    extensions: extensions.filter((name) => !followsFromCard(name)),
    listed: extensions,
    kernelArgs: content?.kernelArgs ?? [],
    ...installer.image,
    notes: [...installer.notes, ...unsupportedParts(hostname, raw, content?.overlay)],
  };
}

/** Whether an extension follows from the card: modules and toolkit. The fabric manager's and GDRCopy's do not. */
const followsFromCard = (name: string): boolean =>
  ["modules", "toolkit"].includes(nvidiaExtension(name)?.kind ?? "");

/** Facts from the name of an installer, e.g. `factory.talos.dev/nocloud-installer-secureboot/ID`. */
function installerOf({ hostname, talosImageURL = "" }: TalconfigNode): {
  image: Pick<ImageContent, "platform" | "secureBoot">;
  notes: FieldFinding[];
} {
  const { registry, platform, secure } =
    /^(?<registry>[^/]+)\/(?:(?<platform>[a-z-]+)-)?installer(?<secure>-secureboot)?(?:[/:@]|$)/.exec(
      talosImageURL,
    )?.groups ?? {};
  const isPublic = registry === undefined || ["factory.talos.dev", "ghcr.io"].includes(registry);
  return {
    image: defined({
      platform: platform === "metal" ? undefined : platform,
      secureBoot: secure ? true : undefined,
    }),
    notes: isPublic
      ? []
      : [
          {
            field: `machines.${hostname}`,
            problem: `its installer comes from ${registry}`,
            why: "the stack takes installers from factory.talos.dev unless it names another Image Factory",
            remedy: `write it as factoryUrl, if it is an Image Factory; else write the whole as machines.${hostname}.installerImage`,
          },
        ],
  };
}

/** Notes of the parts of a schematic that a stack has no field for. */
function unsupportedParts(
  hostname: string,
  raw: RawSchematic,
  overlay: OverlaySpec | undefined,
): FieldFinding[] {
  const customization = (raw["customization"] ?? {}) as Record<string, unknown>;
  const parts = [
    ...(raw["overlay"] === undefined || overlay !== undefined ? [] : ["overlay"]),
    ...Object.keys(customization)
      .filter(
        (key) => !["extraKernelArgs", "systemExtensions", "bootloader", "secureboot"].includes(key),
      )
      .map((key) => `customization.${key}`),
  ];
  return parts.map((part) => {
    const why =
      effectOfLack[part.replace("customization.", "")] ??
      "the machine would get an image without it";
    return {
      field: `machines.${hostname}`,
      problem: `its schematic has ${part}, which a stack cannot say`,
      why,
      remedy: "make sure that the machine does without, or leave it out of the stack",
    };
  });
}

/**
 * Effect of a missing part. Source: siderolabs/talos, pkg/imager/profile; image-factory, pkg/schematic/schematic.go.
 */
const effectOfLack: Record<string, string> = {
  overlay:
    "the machine would get an image without it, and a board that needs an overlay does not boot then",
  meta: "it is for disk images alone: the machine has it since it was installed",
};
