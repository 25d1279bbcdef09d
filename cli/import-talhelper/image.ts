import { stringify } from "yaml";
import {
  DriverBranch,
  ModuleFlavour,
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
} from "../../components/recipe/facts/extension";
import type { Note } from "./note";
import type { TalconfigNode } from "./talconfig";

/** What a node's image holds, as far as talconfig tells. */
export interface ImageContent {
  /** Whether NVIDIA's extensions are in it; undefined: nobody can tell from here. */
  nvidia?: boolean;
  branch?: DriverBranch;
  flavour?: ModuleFlavour;
  /** Extensions that are not NVIDIA's. */
  extensions: string[];
  kernelArgs: string[];
  /** Platform and Secure Boot, where the installer's name tells them. */
  platform?: string;
  secureBoot?: boolean;
  overlay?: OverlaySpec;
  notes: Note[];
}

/** Schematics that hold NVIDIA's extensions alone, by ID: an ID is a hash, so only what is tried can be told. */
const known = new Map<string, { branch: DriverBranch; flavour: ModuleFlavour }>(
  Object.values(DriverBranch).flatMap((branch) =>
    Object.values(ModuleFlavour).flatMap((flavour) => {
      const pair = [modulesExtension(flavour, branch), toolkitExtension(branch)];
      // The order of the extensions is part of the ID; the Factory's page sorts them, a hand may not.
      return [pair, pair.toReversed()].map((extensions): [string, { branch: DriverBranch; flavour: ModuleFlavour }] => [
        schematicOf({ extensions, kernelArgs: [] }).id,
        { branch, flavour },
      ]);
    }),
  ),
);

/** Schematic without anything. */
const plain = schematicOf({ extensions: [], kernelArgs: [] }).id;

/** What a node's image holds, by its schematic or by the ID in its image's URL. */
export function imageOf(node: TalconfigNode): ImageContent {
  const { schematic, talosImageURL } = node;
  const installer = installerOf(node);
  // talhelper takes the schematic only where there is no URL (talhelper, pkg/talos/nodeconfig.go, installerURL).
  if (talosImageURL || schematic === undefined) {
    const told = byUrl(node);
    return { ...told, ...installer.image, notes: [...told.notes, ...installer.notes] };
  }
  const { systemExtensions, extraKernelArgs } = schematic.customization ?? {};
  const overlay = overlayOf(node);
  const extensions = (systemExtensions?.officialExtensions ?? []).map(branchedName);
  const found = extensions.flatMap((name) => nvidiaExtension(name) ?? []);
  const branch = found.flatMap((extension) => extension.branch ?? [])[0];
  const flavour = found.flatMap((extension) => extension.flavour ?? [])[0];
  return {
    nvidia: extensions.some(soundsLikeNvidia),
    ...(branch === undefined ? {} : { branch }),
    ...(flavour === undefined ? {} : { flavour }),
    extensions: extensions.filter((name) => !follows(name)),
    kernelArgs: extraKernelArgs ?? [],
    ...installer.image,
    ...(overlay === undefined ? {} : { overlay }),
    notes: [...installer.notes, ...beside(node)],
  };
}

/** Whether an extension follows from the card: modules and toolkit. The fabric manager's and GDRCopy's do not. */
function follows(name: string): boolean {
  return ["modules", "toolkit"].includes(nvidiaExtension(name)?.kind ?? "");
}

/** What the name of an installer tells, e.g. `factory.talos.dev/nocloud-installer-secureboot/ID`. */
function installerOf({ hostname, talosImageURL = "" }: TalconfigNode): {
  image: Pick<ImageContent, "platform" | "secureBoot">;
  notes: Note[];
} {
  const { registry, platform, secure } =
    /^(?<registry>[^/]+)\/(?:(?<platform>[a-z-]+)-)?installer(?<secure>-secureboot)?(?:[/:@]|$)/.exec(talosImageURL)
      ?.groups ?? {};
  const elsewhere: Note = {
    field: `machines.${hostname}`,
    problem: `its installer comes from ${registry}`,
    why: "the stack takes installers from factory.talos.dev unless it names another Image Factory",
    remedy: "write it as factoryUrl, if it is an Image Factory",
  };
  return {
    image: {
      ...(platform === undefined || platform === "metal" ? {} : { platform }),
      ...(secure === undefined ? {} : { secureBoot: true }),
    },
    notes: registry === undefined || ["factory.talos.dev", "ghcr.io"].includes(registry) ? [] : [elsewhere],
  };
}

/** Overlay of a schematic; undefined without one, and where its image or its name is missing. */
function overlayOf({ schematic }: TalconfigNode): OverlaySpec | undefined {
  return schematic === undefined ? undefined : readSchematic(stringify(schematic))?.overlay;
}

/** Parts of a schematic that a stack has no word for. */
function beside(node: TalconfigNode): Note[] {
  const { hostname, schematic } = node;
  const customization = (schematic?.customization ?? {}) as Record<string, unknown>;
  const parts = [
    ...(schematic?.["overlay"] === undefined || overlayOf(node) !== undefined ? [] : ["overlay"]),
    ...Object.keys(customization)
      .filter((key) => !["extraKernelArgs", "systemExtensions"].includes(key))
      .map((key) => `customization.${key}`),
  ];
  return parts.map((part) => ({
    field: `machines.${hostname}`,
    problem: `its schematic has ${part}, which a stack cannot say`,
    why: "the machine would get an image without it, and a board that needs an overlay does not boot then",
    remedy: "leave the machine out of the stack, or make sure that it does without",
  }));
}

function byUrl({ hostname, talosImageURL }: TalconfigNode): ImageContent {
  const nothing = { extensions: [], kernelArgs: [], notes: [] };
  if (!talosImageURL) return { ...nothing, nvidia: false };
  const id = /[0-9a-f]{64}/.exec(talosImageURL)?.[0];
  if (id === plain) return { ...nothing, nvidia: false };
  const schematic = id === undefined ? undefined : known.get(id);
  if (schematic !== undefined) return { ...nothing, nvidia: true, ...schematic };
  return {
    ...nothing,
    notes: [
      {
        field: `machines.${hostname}.extensions`,
        problem: `what is in ${id === undefined ? talosImageURL : `schematic ${id.slice(0, 12)}…`} cannot be told from its name`,
        why: "the machine gets an image of NVIDIA's extensions and of those that the stack names: others would be gone",
        remedy: `look with \`talosctl -n ${hostname} get extensions\`, and write those that are not NVIDIA's here`,
      },
    ],
  };
}
