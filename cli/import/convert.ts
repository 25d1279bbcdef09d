import { stringify } from "yaml";
import {
  type ClusterSpec,
  type DriverSpec,
  type GpuSpec,
  type KernelModule,
  type MachineSpec,
} from "../../components/recipe/index";
import { eraOf } from "../../components/recipe/facts/talos-release";
import { gpuPresent } from "../../components/recipe/machine/machine-recipe";
import { moduleParameterIn } from "../../components/recipe/machine/kernel-args";
import { defined, filled, flat, repeated } from "../../components/recipe/mapping";
import { newestExposure } from "../discover/exposure";
import { stackText, toDo, unnamed } from "../stack-text";
import { taintText } from "../../components/recipe/machine/taints";
import { saidInTheEnd } from "./operations";
import type { PlaceOf } from "./places";
import { filePatch, nvidiaPart, type NvidiaPart, unfilledIn } from "./patch";
import { partInForce, writersNote } from "./containerd-writers";
import { imageOf, type ImageContent } from "./image";
import type { Schematics } from "./schematics";
import { nodeName, type Talconfig, type TalconfigNode, withRole } from "./talconfig";
import type { FieldFinding } from "../../components/recipe/rules/finding";

/** A stack made of a talconfig or of machine configurations, and what is left to its user. */
export interface Imported {
  /** Content of the stack file; `talosVersion` is missing if it is unknown. */
  spec: Partial<ClusterSpec> & Pick<ClusterSpec, "machines">;
  notes: FieldFinding[];
  /** Nodes that are not in the stack, because no file shows that they have a GPU. */
  leftOut: string[];
}

type Factory = NonNullable<Talconfig["imageFactory"]>;

interface ReadNode {
  node: TalconfigNode;
  image: ImageContent;
  /** Of its own patches, then of those for all. */
  parts: NvidiaPart[];
  gpus: GpuSpec[] | undefined;
}

/**
 * The stack of the nodes with a GPU: those that load NVIDIA's modules, have its extensions, or for which a card is
 * named.
 *
 * @param gpus cards by node name
 * @param schematics whose content is known
 * @param placeOf returns the place of a patch. Default: no place is known.
 * @throws Error when a card is named for a node that is not there, and when no node has a GPU.
 */
export function convert(
  config: Talconfig,
  gpus: Record<string, GpuSpec[]>,
  schematics: Schematics = new Map(),
  placeOf: PlaceOf = () => undefined,
): Imported {
  const hosts = config.nodes.map(({ hostname }) => hostname);
  const names = config.nodes.map((own) => nodeName(withRole(config, own), config.patches));
  const strangers = Object.keys(gpus).filter(
    (name) => !names.includes(name) && !hosts.includes(name),
  );
  if (strangers.length > 0)
    throw new Error(
      `--gpu: there is no node ${strangers.join(", ")} to have the card; take one of ${names.join(", ")}`,
    );
  const twice = repeated(names);
  if (twice !== undefined)
    throw new Error(
      `nodes: two would be the node ${twice}, so one of them would be lost; give each a name of its own`,
    );

  const sharedTexts = config.patches ?? [];
  const sharedSaid = saidInTheEnd(sharedTexts);
  const shared = sharedTexts.map((text, index) =>
    nvidiaPart(text, `patches[${index}]`, placeOf, sharedSaid[index]),
  );
  const nodes = config.nodes.map((own, index) => {
    const hostname = names[index]!;
    return readNode(
      { ...withRole(config, own), hostname },
      gpus[hostname] ?? gpus[own.hostname],
      schematics,
      sharedTexts,
      placeOf,
    );
  });
  const chosen = nodes.filter(isGpuNode);
  if (chosen.length === 0)
    throw new Error(
      `FILE: no node loads NVIDIA's modules or has its extensions, so the stack would have no machine; name the card of one: --gpu '${names[0] ?? "NODE"}=MODEL' (its nodes are ${names.join(", ")})`,
    );
  const drivers = new Set(chosen.flatMap(({ image }) => JSON.stringify(driverOf(image)) ?? []));
  // An unknown driver is not guessed from that of another machine.
  const isShared = drivers.size === 1 && chosen.every(({ image }) => image.unknown === undefined);
  const driver = isShared ? chosen.map(({ image }) => driverOf(image)).find(Boolean) : undefined;
  const version = versionOf(config.talosVersion);
  // Arguments of an image take effect with a UKI alone (checks/images.ts).
  const noUki = Number(/^v1\.(\d+)/.exec(version.is ?? "")?.[1] ?? Infinity) < 10;
  return {
    spec: {
      ...defined({ talosVersion: version.is }),
      ...factoryOf(config.imageFactory),
      machines: Object.fromEntries(
        chosen.map((read) => {
          const own = defined({
            driver: isShared ? undefined : (driverOf(read.image) ?? blank(read)),
          });
          return [read.node.hostname, { ...machineOf(read, shared, noUki, version.is), ...own }];
        }),
      ),
      ...defined({ driver }),
      ...exposure(version.is),
    },
    notes: [
      ...version.notes,
      ...(config.imageFactory?.installerURLTmpl === undefined
        ? []
        : [
            {
              field: "factoryUrl",
              problem:
                "talconfig makes the installers' names by a template of its own (installerURLTmpl)",
              why: "the stack makes them as the Image Factory has them, and the machines would pull from there",
              remedy: "make sure that the Factory serves them under its own names",
            },
          ]),
      ...shared.flatMap((part) => part.notes),
      ...chosen.flatMap((read) => notesOf(read, shared, noUki, version.is)),
    ],
    leftOut: nodes.filter((read) => !isGpuNode(read)).map(({ node }) => node.hostname),
  };
}

/** Schematics with unknown content, of nodes that may be in the stack. */
export function unknownSchematics(config: Talconfig, schematics: Schematics): string[] {
  return [
    ...new Set(
      config.nodes.flatMap((own) => imageOf(withRole(config, own), schematics).unknown ?? []),
    ),
  ];
}

/**
 * All that talhelper patches into a node's configuration: the modules and files of fields of their own come before
 * its patches.
 */
export const patchesOf = ({
  kernelModules: modules,
  machineFiles = [],
  patches = [],
}: TalconfigNode): string[] => [
  ...(modules === undefined ? [] : [stringify({ machine: { kernel: { modules } } })]),
  ...machineFiles.map(filePatch),
  ...patches,
];

function readNode(
  node: TalconfigNode,
  gpus: GpuSpec[] | undefined,
  schematics: Schematics,
  shared: string[],
  placeOf: PlaceOf,
): ReadNode {
  const own = patchesOf(node);
  const said = saidInTheEnd([...own, ...shared]);
  const parts = own.map((text, index) =>
    nvidiaPart(text, `machines.${node.hostname}`, placeOf, said[index]),
  );
  return { node, image: imageOf(node, schematics), parts, gpus };
}

const isGpuNode = ({ image, parts, gpus }: ReadNode): boolean =>
  gpus !== undefined || image.nvidia === true || parts.some((part) => part.speaksOfNvidia);

/**
 * @param shared parts of patches for all nodes, which come after the node's own (talhelper, pkg/generate/config.go).
 * @param noUki whether kernel arguments of an image have no effect without Secure Boot.
 */
function machineOf(
  { node, image, parts, gpus }: ReadNode,
  shared: NvidiaPart[],
  noUki: boolean,
  version: string | undefined,
): MachineSpec {
  const all = [...parts, ...shared];
  // The stack or the operator sets this one itself.
  const { [gpuPresent]: _, ...labels } = knownOf(
    Object.assign({}, node.nodeLabels, ...all.map((part) => part.labels)) as Record<string, string>,
  );
  const said = knownOf(Object.assign({}, node.nodeTaints, ...all.map((part) => part.taints)));
  const taints = Object.fromEntries(
    Object.entries(said).map(([key, text]) => [key, taintText(text)]),
  );
  const { ours, others } = parametersOf(all, image);
  const kernelArgs = image.kernelArgs.filter(isOfImage);
  const extra = partInForce(all, version);
  const { mode } = node.machineSpec ?? {};
  const [, named] = image.kernelArgs.flatMap((arg) => /^talos\.platform=(.+)$/.exec(arg) ?? []);
  const platform = mode === undefined || mode === "metal" ? (image.platform ?? named) : mode;
  const secure = isSecure(node, image);
  return {
    // A host's name stands where no file tells the address, and a note asks for it.
    address: addressIn(node) ?? node.hostname,
    role: node.controlPlane ? "controlplane" : "worker",
    configuration: "adopted",
    gpus: gpus ?? [{ model: unnamed }],
    ...filled({
      labels,
      taints,
      extensions: image.extensions,
      kernelArgs: noUki && !secure ? undefined : kernelArgs,
      moduleParameters: ours,
      platform: platform === "metal" || image.installer ? undefined : platform,
      secureBoot: secure && !image.installer ? true : undefined,
      overlay: image.overlay,
      customization: image.customization,
      installerImage: image.installer && withRelease(image.installer, version),
      patches:
        others.length > 0 ? [stringify({ machine: { kernel: { modules: others } } })] : undefined,
      containerd: extra === undefined ? undefined : { extra },
    }),
  };
}

/** An installer with its tag: talhelper puts the release there (talhelper, pkg/talos/nodeconfig.go, installerURL). */
const withRelease = (image: string, version: string | undefined): string =>
  /[:@][^/]*$/.test(image) || version === undefined ? image : `${image}:${version}`;

const isSecure = (node: TalconfigNode, image: ImageContent): boolean =>
  node.machineSpec?.secureboot === true || image.secureBoot === true;

/**
 * Parameters of the modules that a stack loads, and modules of NVIDIA's that it does not load. Of a name Talos takes
 * the last list; what stood among the kernel arguments counts where no list does.
 */
function parametersOf(
  parts: NvidiaPart[],
  { kernelArgs }: ImageContent,
): { ours: Record<string, string[]>; others: KernelModule[] } {
  const lists = new Map<string, string[]>();
  for (const { module, parameter } of kernelArgs.flatMap((arg) => moduleParameterIn(arg) ?? []))
    lists.set(module, [...(lists.get(module) ?? []), parameter]);
  for (const { name, parameters = [] } of parts.flatMap(({ modules }) => modules))
    // Talos puts blanks between them, and the kernel takes them apart there.
    lists.set(
      name,
      parameters.flatMap((text) => text.match(/(?:"[^"]*"|[^\s"])+/g) ?? []),
    );
  const isOurs = (name: string): boolean => /^nvidia(?:_uvm|_drm|_modeset)?$/.test(name);
  const entries = [...lists];
  return {
    ours: Object.fromEntries(entries.filter(([name]) => isOurs(name))),
    others: entries
      .filter(([name]) => !isOurs(name))
      .map(([name, parameters]) => ({ name, parameters })),
  };
}

/** The address that a file tells; of several the first. */
function addressIn({ ipAddress }: TalconfigNode): string | undefined {
  const [first = ""] = ipAddress.split(",").map((text) => text.trim());
  return first === "" || unfilledIn(first) !== undefined ? undefined : first;
}

const isVariable = (text: string): boolean => text.includes("${");

/** Labels or taints without those that talhelper fills in. */
const knownOf = (texts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => unfilledIn(text) === undefined));

/** Branch and flavour of the driver in an image. The flavour that the card would have anyway is left to it. */
const driverOf = ({ branch, flavour }: ImageContent): DriverSpec | undefined =>
  branch && { branch, ...defined({ flavour }) };

/** A driver to be filled in, of a machine with an unknown image: the plan asks for it. */
const blank = ({ image }: ReadNode): DriverSpec | undefined =>
  image.unknown === undefined ? undefined : {};

/** The device plugin up to Talos 1.12, where it needs least; the operator from 1.13 on, whose CDI it speaks. */
export function exposure(
  talosVersion = "v1.12.0",
): Pick<ClusterSpec, "devicePlugin" | "gpuOperator"> {
  const node = { address: "192.0.2.1", role: "worker", configuration: "adopted" } as const;
  const kinds = ["devicePlugin", "gpuOperator"] as const;
  const inOrder = eraOf(talosVersion) === "legacy" ? kinds : kinds.toReversed();
  return newestExposure({ talosVersion, machines: { node } }, inOrder);
}

/** Whether an argument stays one in a stack: parameters of modules and the platform have fields of their own. */
const isOfImage = (arg: string): boolean =>
  moduleParameterIn(arg) === undefined && !arg.startsWith("talos.platform=");

function notesOf(
  { node, image, parts, gpus }: ReadNode,
  shared: NvidiaPart[],
  noUki: boolean,
  version: string | undefined,
): FieldFinding[] {
  const others = image.kernelArgs.filter(isOfImage);
  const field = `machines.${node.hostname}`;
  const dead = image.kernelArgs.filter((arg) => moduleParameterIn(arg) !== undefined);
  const all = [...parts, ...shared];
  return flat<FieldFinding>([
    addressIn(node) === undefined && {
      field: `${field}.address`,
      problem: `${unfilledIn(node.ipAddress)?.problem ?? "is not told by the file"}, so the stack has the name ${node.hostname} in its place`,
      why: "the update reaches the machine there",
      remedy: `write its address, as \`kubectl get nodes -o wide\` prints it under INTERNAL-IP${isVariable(node.ipAddress) ? ", or give the file of variables (--env-file)" : ""}`,
    },
    gpus === undefined && {
      field: `${field}.gpus`,
      problem: "nothing says which card it has",
      why: "kernel modules, driver and resources follow from the card",
      remedy: `name it: --gpu '${node.hostname}=MODEL', or in the stack file instead of ${unnamed}; if it has no card, take it out of the stack: delete machines.${node.hostname}`,
    },
    image.notes,
    dead.length > 0 && {
      field: `${field}.moduleParameters`,
      problem: `has parameters that are kernel arguments without effect today: ${dead.join(", ")}`,
      why: "Talos loads NVIDIA's modules only with the parameters of the configuration; the stack sets them there, so they take effect",
      remedy: "leave out what you do not want",
    },
    others.length > 0 &&
      noUki &&
      !isSecure(node, image) && {
        field: `${field}.kernelArgs`,
        problem: `are left out: ${others.join(", ")}`,
        why: "up to Talos 1.9, and without Secure Boot, a machine ignores the arguments of an installer's schematic",
        remedy:
          "write those that matter under machine.install.extraKernelArgs, where the machine's configuration is kept",
      },
    partInForce(all, version) !== undefined && {
      field: `${field}.containerd`,
      problem: "is NVIDIA's part of the file that another tool writes today",
      why: "a machine takes one such file, and an update refuses to write a second one",
      remedy:
        "take the file out of the other tool's patch before the update, or this field out of the stack",
    },
    writersNote(field, all, version),
    unfilledTexts(`${field}.labels`, [node.nodeLabels ?? {}, ...all.map(({ labels }) => labels)]),
    unfilledTexts(`${field}.taints`, [node.nodeTaints ?? {}, ...all.map(({ taints }) => taints)]),
    parts.map((part) => part.notes),
  ]);
}

const unfilledTexts = (field: string, texts: Record<string, string>[]): FieldFinding[] =>
  Object.entries(Object.assign({}, ...texts) as Record<string, string>).flatMap(([key, text]) => {
    const unfilled = unfilledIn(text);
    const why = "it is not in the stack; the machine keeps what it has of it";
    return unfilled === undefined ? [] : [{ field: `${field}.${key}`, why, ...unfilled }];
  });

/** The release that all nodes run. The user is asked for an unknown one. */
function versionOf(said: string | undefined): { is?: string; notes: FieldFinding[] } {
  const why = "image, driver and all that follows depend on it";
  const remedy = "name the release that the machines are to run, e.g. --talos v1.13.6";
  const ask = (problem: string): { notes: FieldFinding[] } => ({
    notes: [{ field: "talosVersion", problem, why, remedy }],
  });
  if (said === undefined) return ask("is missing in all files");
  const unfilled = unfilledIn(said);
  if (unfilled !== undefined) return ask(`is ${said}, which no file of variables gives a value`);
  return { is: said.startsWith("v") ? said : `v${said}`, notes: [] };
}

/**
 * The Image Factory, where talconfig names another than the public one (talhelper, pkg/config/config.go,
 * ImageFactory).
 */
export function factoryOf({ registryURL, protocol = "https" }: Factory = {}): Pick<
  ClusterSpec,
  "factoryUrl"
> {
  if (registryURL === undefined || registryURL === "factory.talos.dev") return {};
  return { factoryUrl: `${protocol}://${registryURL}` };
}

/**
 * The stack file of an import.
 *
 * @param source name of the file that it was made of
 */
export function renderStack({ spec, notes }: Imported, source: string): string {
  const head = [
    `The GPU nodes of ${source}. Their configuration stays the other tool's: this stack only adds NVIDIA's part to it.`,
    "NVIDIA's modules, extensions and installer images follow from the cards, and are not repeated here.",
  ];
  return stackText(spec, { head, left: notes.map(toDo) });
}
