import type { ClusterSpec, DriverSpec, GpuSpec, MachineSpec } from "../../components/recipe/index";
import { collide } from "./collide";
import { carryPatch, type CarriedPatch, taintText, unfilledIn } from "./patch";
import { imageOf, type ImageContent } from "./image";
import type { Note } from "./note";
import { type Talconfig, type TalconfigNode, withRole } from "./talconfig";

/** Model of a card that nobody has named yet. No card is called so: the checks ask for the name. */
export const unnamed = "TODO";

/** A stack made of a talconfig, and what is left to its user. */
export interface Imported {
  /** What the stack file says; `talosVersion` is missing where talconfig says none. */
  spec: Partial<ClusterSpec> & Pick<ClusterSpec, "machines">;
  notes: Note[];
}

type Factory = NonNullable<Talconfig["imageFactory"]>;

/** A node, taken apart. */
interface ReadNode {
  node: TalconfigNode;
  image: ImageContent;
  patches: CarriedPatch[];
  gpus: GpuSpec[] | undefined;
}

/**
 * The stack of a talconfig's GPU nodes: those that load NVIDIA's modules, have its extensions, or for which a card is named.
 *
 * @param gpus cards by node name
 * @throws Error when a card is named for a node that is not there.
 */
export function convert(config: Talconfig, gpus: Record<string, GpuSpec[]>): Imported {
  const names = config.nodes.map(({ hostname }) => hostname);
  const strangers = Object.keys(gpus).filter((name) => !names.includes(name));
  if (strangers.length > 0)
    throw new Error(
      `--gpu: there is no node ${strangers.join(", ")} to have the card; take one of ${names.join(", ")}`,
    );

  const nodes = config.nodes.map((own) => readNode(withRole(config, own), gpus[own.hostname]));
  const chosen = nodes.filter(isGpuNode);
  const drivers = new Set(chosen.flatMap(({ image }) => JSON.stringify(driverOf(image)) ?? []));
  const driver = drivers.size === 1 ? chosen.map(({ image }) => driverOf(image)).find(Boolean) : undefined;
  const shared = (config.patches ?? []).map((text, index) => carryPatch(text, `patches[${index}]`));
  const patches = textsOf(shared);
  // talhelper applies them after those of the node, a stack before (talhelper, pkg/generate/config.go).
  const last = chosen.some((read) => collide(textsOf(read.patches), patches));
  const version = config.talosVersion;
  return {
    spec: {
      ...(version === undefined ? {} : { talosVersion: version.startsWith("v") ? version : `v${version}` }),
      ...factoryOf(config.imageFactory),
      machines: Object.fromEntries(
        chosen.map((read) => {
          const own = drivers.size > 1 ? driverOf(read.image) : undefined;
          const after = last ? patches : [];
          return [
            read.node.hostname,
            { ...machineOf(read, shared, after), ...(own === undefined ? {} : { driver: own }) },
          ];
        }),
      ),
      ...(driver === undefined ? {} : { driver }),
      ...(patches.length > 0 && !last ? { patches } : {}),
      ...exposure(version),
    },
    notes: [
      ...(version === undefined ? [noVersion] : []),
      ...(config.imageFactory?.installerURLTmpl === undefined ? [] : [ownTemplate]),
      ...(chosen.length === 0 ? [noGpuNode] : []),
      ...shared.flatMap((patch) => patch.notes),
      ...nodes.flatMap((read) => notesOf(read)),
    ],
  };
}

function readNode(node: TalconfigNode, gpus: GpuSpec[] | undefined): ReadNode {
  const patches = (node.patches ?? []).map((text, at) => carryPatch(text, `machines.${node.hostname}.patches[${at}]`));
  const others = (node.kernelModules ?? []).filter(({ name }) => !name.startsWith("nvidia"));
  if (others.length > 0) {
    patches.push(carryPatch(JSON.stringify({ machine: { kernel: { modules: others } } }), `machines.${node.hostname}`));
  }
  return { node, image: imageOf(node), patches, gpus };
}

function isGpuNode({ node, image, patches, gpus }: ReadNode): boolean {
  const loads = (node.kernelModules ?? []).some(({ name }) => name.startsWith("nvidia"));
  return gpus !== undefined || loads || image.nvidia === true || patches.some((patch) => patch.speaksOfNvidia);
}

/**
 * @param shared patches of all nodes, whose labels and taints come after the node's own.
 * @param after texts that follow those of the node's own patches.
 */
function machineOf({ node, image, patches, gpus }: ReadNode, shared: CarriedPatch[], after: string[]): MachineSpec {
  const all = [...patches, ...shared];
  const labels = filled(Object.assign({}, node.nodeLabels, ...all.map((patch) => patch.labels)));
  const said = filled(Object.assign({}, node.nodeTaints, ...all.map((patch) => patch.taints)));
  const taints = Object.fromEntries(Object.entries(said).map(([key, text]) => [key, taintText(text)]));
  const texts = [...textsOf(patches), ...after];
  const { mode, secureboot } = node.machineSpec ?? {};
  return {
    address: node.ipAddress.split(",")[0]!.trim(),
    role: node.controlPlane ? "controlplane" : "worker",
    configuration: "adopted",
    gpus: gpus ?? [{ model: unnamed }],
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(taints).length > 0 ? { taints } : {}),
    ...(image.extensions.length > 0 ? { extensions: image.extensions } : {}),
    ...(image.kernelArgs.length > 0 ? { kernelArgs: image.kernelArgs } : {}),
    ...(mode !== undefined && mode !== "metal"
      ? { platform: mode }
      : image.platform
        ? { platform: image.platform }
        : {}),
    ...(secureboot === true || image.secureBoot ? { secureBoot: true } : {}),
    ...(image.overlay ? { overlay: image.overlay } : {}),
    ...(texts.length > 0 ? { patches: texts } : {}),
  };
}

const textsOf = (patches: CarriedPatch[]): string[] => patches.flatMap(({ text }) => text ?? []);

/** Labels or taints without those that talhelper fills in. */
const filled = (texts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => unfilledIn(text) === undefined));

/** Branch and flavour that an image tells of. The flavour that the card would have anyway is left to it. */
function driverOf({ branch, flavour }: ImageContent): DriverSpec | undefined {
  return branch === undefined ? undefined : { branch, ...(flavour === undefined ? {} : { flavour }) };
}

/** The device plugin up to Talos 1.12, where it needs least; the operator from 1.13 on, whose CDI it speaks. */
function exposure(version: string | undefined): Pick<ClusterSpec, "devicePlugin" | "gpuOperator"> {
  const minor = Number(/^v?1\.(\d+)/.exec(version ?? "")?.[1] ?? 0);
  return minor >= 13 ? { gpuOperator: { version: "v26.3.3" } } : { devicePlugin: { version: "0.17.4" } };
}

function notesOf(read: ReadNode): Note[] {
  const { node, image, patches, gpus } = read;
  const field = `machines.${node.hostname}`;
  if (!isGpuNode(read)) {
    return image.notes.map(() => ({
      field,
      problem: "is left out, as nothing says that it has a GPU",
      why: "its image has a schematic whose content cannot be told from its name",
      remedy: `if it has one, name it: --gpu '${node.hostname}=MODEL'`,
    }));
  }
  const card: Note = {
    field: `${field}.gpus`,
    problem: "talconfig does not say which card it has",
    why: "kernel modules, driver and resources follow from the card",
    remedy: `name it: --gpu '${node.hostname}=MODEL', or in the stack file in the place of ${unnamed}`,
  };
  return [
    ...(gpus === undefined ? [card] : []),
    ...image.notes,
    ...unfilledTexts(`${field}.labels`, node.nodeLabels),
    ...unfilledTexts(`${field}.taints`, node.nodeTaints),
    ...patches.flatMap((patch) => patch.notes),
  ];
}

function unfilledTexts(field: string, texts: Record<string, string> = {}): Note[] {
  return Object.entries(texts).flatMap(([key, text]) => {
    const unfilled = unfilledIn(text);
    const why = "it is not in the stack; the machine keeps what it has of it";
    return unfilled === undefined ? [] : [{ field: `${field}.${key}`, why, ...unfilled }];
  });
}

/** The Image Factory, where talconfig names another than the public one (talhelper, pkg/config/config.go, ImageFactory). */
function factoryOf({ registryURL, protocol = "https" }: Factory = {}): Pick<ClusterSpec, "factoryUrl"> {
  if (registryURL === undefined || registryURL === "factory.talos.dev") return {};
  return { factoryUrl: `${protocol}://${registryURL}` };
}

const ownTemplate: Note = {
  field: "factoryUrl",
  problem: "talconfig makes the installers' names by a template of its own (installerURLTmpl)",
  why: "the stack makes them as the Image Factory has them, and the machines would pull from there",
  remedy: "make sure that the Factory serves them under its own names",
};

const noVersion: Note = {
  field: "talosVersion",
  problem: "talconfig names no release, so talhelper takes its own newest",
  why: "image, driver and all that follows depend on it",
  remedy: "write the release that the machines shall run",
};

const noGpuNode: Note = {
  field: "machines",
  problem: "no node loads NVIDIA's modules or has its extensions",
  why: "the stack would have no machine",
  remedy: "name the card of a node: --gpu 'NODE=MODEL'",
};
