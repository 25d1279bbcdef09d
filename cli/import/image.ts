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

/** Known content of a node's image. */
export interface ImageContent {
  /** Whether it contains NVIDIA's extensions; undefined if unknown. */
  nvidia?: boolean;
  branch?: DriverBranch;
  flavour?: ModuleFlavour;
  /** Extensions that are not NVIDIA's. */
  extensions: string[];
  /** All extensions in their listed order; undefined if the list is unknown. */
  listed?: string[];
  kernelArgs: string[];
  /** Platform and Secure Boot, if the installer's name shows them. */
  platform?: string;
  secureBoot?: boolean;
  overlay?: OverlaySpec;
  customization?: CustomizationSpec;
  /** ID of the image's schematic, if the schematic's content is unknown. */
  unknown?: string;
  /** The installer image, if no Image Factory built it. */
  installer?: string;
  notes: FieldFinding[];
}

/**
 * Schematics that contain only NVIDIA's extensions, by their ID. An ID is a hash of the content, so these schematics
 * are hashed here to recognize an ID.
 */
const nvidiaAloneById = new Map(
  Object.values(DriverBranch).flatMap((branch) =>
    Object.values(ModuleFlavour).flatMap((flavour) => {
      const pair = [modulesExtension(flavour, branch), toolkitExtension(branch)];
      const former = pair.map(
        (name) => Object.keys(unsuffixedNames).find((old) => branchedName(old) === name) ?? name,
      );
      // The ID depends on the order of the extensions. The Factory's page sorts them; a handwritten schematic may not.
      const orders = [pair, former].flatMap((names) => [names, names.toReversed()]);
      const ids = orders.map((extensions) => schematicOf({ extensions, kernelArgs: [] }).id);
      return ids.map((id) => [id, { branch, flavour }] as const);
    }),
  ),
);

/** Name of Talos' own installer, without extensions. */
const official = /^ghcr\.io\/siderolabs\/installer(?:$|[:@])/;

const plain = schematicOf({ extensions: [], kernelArgs: [] }).id;

/**
 * Content of a node's image, from the node's schematic or from the schematic's ID in the image's URL.
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
  const unlikeWritten =
    schematic === undefined ? "" : ", because its ID differs from the ID of the field `schematic`";
  const unknown: FieldFinding = {
    field: `machines.${hostname}.extensions`,
    problem: `the content of ${content} is unknown${unlikeWritten}`,
    why: "without this content the stack lacks the image's driver, extensions and kernel arguments. The plan uses the card's default branch and flavour, and the update stops if the machine runs another driver",
    remedy: `pass the schematic's file (--schematic FILE), or ask the Image Factory (--factory). Or run \`talosctl -n ${address} get extensions\` and \`talosctl -n ${address} read /proc/cmdline\`, and set the machine's driver.branch, driver.flavour, extensions and kernelArgs`,
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
  const nvidiaExtensions = extensions.flatMap((name) => nvidiaExtension(name) ?? []);
  const branch = nvidiaExtensions.flatMap((extension) => extension.branch ?? [])[0];
  const flavour = nvidiaExtensions.flatMap((extension) => extension.flavour ?? [])[0];
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

/**
 * Whether the stack derives an extension from card and driver. It derives the extensions of the kernel modules and the
 * toolkit. The stack file keeps the extensions of the fabric manager and GDRCopy, which the stack does not derive for
 * every card.
 */
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
            why: "without factoryUrl, a stack uses installers of factory.talos.dev",
            remedy: `if this registry is an Image Factory, set factoryUrl to its URL. Otherwise set machines.${hostname}.installerImage to the installer`,
          },
        ],
  };
}

/** Notes about parts of a schematic for which a stack has no field. */
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
      "the image of the stack would lack this part";
    return {
      field: `machines.${hostname}`,
      problem: `its schematic has ${part}, for which a stack has no field`,
      why,
      remedy:
        "make sure that the machine works without this part, or leave the machine out of the stack",
    };
  });
}

/**
 * What happens if the next image lacks a part of the schematic. Source: siderolabs/talos, pkg/imager/profile;
 * image-factory, pkg/schematic/schematic.go.
 */
const effectOfLack: Record<string, string> = {
  overlay:
    "the image of the stack would lack the overlay, and a board that needs an overlay would not boot",
  meta: "only disk images contain META values, so the machine already got these values at its installation",
};
