import type { ClusterSpec, DriverSpec, GpuSpec, MachineSpec } from "../../components/recipe/index";
import { carryPatch, type CarriedPatch } from "./patch";
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
  const { driver, notes } = driverOf(chosen);
  const shared = (config.patches ?? []).map((text, index) => carryPatch(text, `patches[${index}]`));
  const patches = textsOf(shared);
  const version = config.talosVersion;
  return {
    spec: {
      ...(version === undefined ? {} : { talosVersion: version.startsWith("v") ? version : `v${version}` }),
      ...factoryOf(config.imageFactory),
      machines: Object.fromEntries(chosen.map((read) => [read.node.hostname, machineOf(read)])),
      ...(driver === undefined ? {} : { driver }),
      ...(patches.length > 0 ? { patches } : {}),
      ...exposure(version),
    },
    notes: [
      ...(version === undefined ? [noVersion] : []),
      ...(config.imageFactory?.installerURLTmpl === undefined ? [] : [ownTemplate]),
      ...(chosen.length === 0 ? [noGpuNode] : []),
      ...notes,
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

function machineOf({ node, image, patches, gpus }: ReadNode): MachineSpec {
  const labels = Object.assign({}, node.nodeLabels, ...patches.map((patch) => patch.labels)) as Record<string, string>;
  const taints = Object.assign({}, node.nodeTaints, ...patches.map((patch) => patch.taints)) as Record<string, string>;
  const texts = textsOf(patches);
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

/** The driver is the cluster's: the nodes' images must agree. */
function driverOf(nodes: ReadNode[]): { driver?: DriverSpec; notes: Note[] } {
  const said = nodes.filter(({ image }) => image.branch !== undefined);
  const kinds = new Map(said.map(({ image: { branch, flavour } }) => [`${branch} ${flavour}`, { branch, flavour }]));
  if (kinds.size > 1) {
    const each = said.map(({ node, image }) => `${node.hostname}: ${image.branch} ${image.flavour ?? ""}`.trim());
    return {
      notes: [
        {
          field: "driver",
          problem: `the nodes have different drivers (${each.join(", ")})`,
          why: "a stack has one for all of its machines",
          remedy: "set driver.branch and driver.flavour, or make a stack of each kind",
        },
      ],
    };
  }
  const kind = [...kinds.values()][0];
  if (kind?.branch === undefined) return { notes: [] };
  // The flavour that the card would have anyway is left to it.
  return {
    driver: { branch: kind.branch, ...(kind.flavour === undefined ? {} : { flavour: kind.flavour }) },
    notes: [],
  };
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
    problem: "which card it is does not stand in talconfig",
    why: "kernel modules, driver and resources follow from the card",
    remedy: `name it: --gpu '${node.hostname}=MODEL', or in the stack file in the place of ${unnamed}`,
  };
  return [...(gpus === undefined ? [card] : []), ...image.notes, ...patches.flatMap((patch) => patch.notes)];
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
