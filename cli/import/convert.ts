import { stringify } from "yaml";
import {
  type ClusterSpec,
  customizationPath,
  type DriverSpec,
  type GpuSpec,
  type KernelModule,
  type MachineSpec,
} from "../../components/recipe/index";
import { injectionOf } from "../../components/recipe/facts/talos-release";
import { gpuPresent } from "../../components/recipe/machine/machine-recipe";
import { moduleParameterIn } from "../../components/recipe/machine/kernel-args";
import { defined, filled, flat, repeated } from "../../components/recipe/mapping";
import { newestExposure } from "../discover/exposure";
import { stackText, taskText, unnamed } from "../stack-text";
import { taintText } from "../../components/recipe/machine/taints";
import { finalPatchTexts } from "./operations";
import type { PlaceOf } from "./places";
import { filePatch, nvidiaPart, type NvidiaPart, unfilledIn } from "./patch";
import { partInForce, writersNote } from "./containerd-writers";
import { imageOf, type ImageContent } from "./image";
import type { Schematics } from "./schematics";
import { nodeName, type Talconfig, type TalconfigNode, withRole } from "./talconfig";
import type { FieldFinding } from "../../components/recipe/rules/finding";

/** A stack made of a talconfig or of machine configurations, with tasks for its user. */
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
  /** Parts of the node's own patches, then of the patches for all nodes. */
  parts: NvidiaPart[];
  gpus: GpuSpec[] | undefined;
}

/**
 * The stack of the nodes with a GPU: nodes that load NVIDIA's modules, have NVIDIA's extensions, or have a card in
 * `gpus`.
 *
 * @param gpus cards by node name
 * @param schematics the schematics whose content is known
 * @param placeOf returns the place of a patch. Default: no place is known.
 * @throws Error when `gpus` names an unknown node, and when no node has a GPU.
 */
export function convert(
  config: Talconfig,
  gpus: Record<string, GpuSpec[]>,
  schematics: Schematics = new Map(),
  placeOf: PlaceOf = () => undefined,
): Imported {
  const hosts = config.nodes.map(({ hostname }) => hostname);
  const names = config.nodes.map((node) => nodeName(withRole(config, node), config.patches));
  const unknownNames = Object.keys(gpus).filter(
    (name) => !names.includes(name) && !hosts.includes(name),
  );
  if (unknownNames.length > 0)
    throw new Error(
      `--gpu: there is no node ${unknownNames.join(", ")}; name one of ${names.join(", ")}`,
    );
  const repeatedName = repeated(names);
  if (repeatedName !== undefined)
    throw new Error(
      `nodes: two nodes have the name ${repeatedName}, so the stack could have only one of the two; give each node its own name`,
    );

  const sharedTexts = config.patches ?? [];
  const finalSharedTexts = finalPatchTexts(sharedTexts);
  const shared = sharedTexts.map((text, index) =>
    nvidiaPart(text, `patches[${index}]`, placeOf, finalSharedTexts[index]),
  );
  const nodes = config.nodes.map((node, index) => {
    const hostname = names[index]!;
    return readNode(
      { ...withRole(config, node), hostname },
      gpus[hostname] ?? gpus[node.hostname],
      schematics,
      sharedTexts,
      placeOf,
    );
  });
  const gpuNodes = nodes.filter(isGpuNode);
  if (gpuNodes.length === 0)
    throw new Error(
      `FILE: no node loads NVIDIA's modules or has NVIDIA's extensions, so the stack would have no machine; name the card of a node: --gpu '${names[0] ?? "NODE"}=MODEL' (the file's nodes are ${names.join(", ")})`,
    );
  const drivers = new Set(gpuNodes.flatMap(({ image }) => JSON.stringify(driverOf(image)) ?? []));
  // The driver of a machine with an unknown image stays unknown: the other machines may run a different driver.
  const isShared = drivers.size === 1 && gpuNodes.every(({ image }) => image.unknown === undefined);
  const driver = isShared ? gpuNodes.map(({ image }) => driverOf(image)).find(Boolean) : undefined;
  const version = versionOf(config.talosVersion);
  // Kernel arguments of an image take effect only with a UKI (checks/images.ts).
  const noUki = Number(/^v1\.(\d+)/.exec(version.value ?? "")?.[1] ?? Infinity) < 10;
  return {
    spec: {
      ...defined({ talosVersion: version.value }),
      ...factoryOf(config.imageFactory),
      machines: Object.fromEntries(
        gpuNodes.map((read) => {
          const ownDriver = defined({
            driver: isShared ? undefined : (driverOf(read.image) ?? emptyDriver(read)),
          });
          return [
            read.node.hostname,
            { ...machineOf(read, shared, noUki, version.value), ...ownDriver },
          ];
        }),
      ),
      ...defined({ driver }),
      ...exposure(version.value),
    },
    notes: [
      ...version.notes,
      ...(config.imageFactory?.installerURLTmpl === undefined
        ? []
        : [
            {
              field: "factoryUrl",
              problem: "talconfig sets a template for the names of installers (installerURLTmpl)",
              why: "the stack ignores this template, so the machines would pull installers under the names of factory.talos.dev",
              remedy:
                "make sure that your Factory serves installers under these names, e.g. metal-installer/SCHEMATIC:v1.13.6",
            },
          ]),
      ...shared.flatMap((part) => part.notes),
      ...gpuNodes.flatMap((read) => notesOf(read, shared, noUki, version.value)),
    ],
    leftOut: nodes.filter((read) => !isGpuNode(read)).map(({ node }) => node.hostname),
  };
}

/** IDs of the nodes' schematics whose content is unknown. */
export function unknownSchematics(config: Talconfig, schematics: Schematics): string[] {
  return [
    ...new Set(
      config.nodes.flatMap((node) => imageOf(withRole(config, node), schematics).unknown ?? []),
    ),
  ];
}

/**
 * All patches of talhelper for a node's configuration. Modules and files, which have their own fields, come before the
 * patches.
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
  const patches = patchesOf(node);
  const finalTexts = finalPatchTexts([...patches, ...shared]);
  const parts = patches.map((text, index) =>
    nvidiaPart(text, `machines.${node.hostname}`, placeOf, finalTexts[index]),
  );
  return { node, image: imageOf(node, schematics), parts, gpus };
}

const isGpuNode = ({ image, parts, gpus }: ReadNode): boolean =>
  gpus !== undefined || image.nvidia === true || parts.some((part) => part.mentionsNvidia);

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
  const allParts = [...parts, ...shared];
  // The stack or the operator sets this label itself.
  const { [gpuPresent]: _, ...labels } = knownOf(
    Object.assign({}, node.nodeLabels, ...allParts.map((part) => part.labels)) as Record<
      string,
      string
    >,
  );
  const taintTexts = knownOf(
    Object.assign({}, node.nodeTaints, ...allParts.map((part) => part.taints)),
  );
  const taints = Object.fromEntries(
    Object.entries(taintTexts).map(([key, text]) => [key, taintText(text)]),
  );
  const { nvidiaParameters: nvidiaModuleParameters, otherModules: otherKernelModules } =
    parametersOf(allParts, image);
  const kernelArgs = image.kernelArgs.filter(isOfImage);
  const extra = partInForce(allParts, version);
  const { mode } = node.machineSpec ?? {};
  const [, namedPlatform] = image.kernelArgs.flatMap(
    (arg) => /^talos\.platform=(.+)$/.exec(arg) ?? [],
  );
  const platform =
    mode === undefined || mode === "metal" ? (image.platform ?? namedPlatform) : mode;
  const isSecureBoot = isSecure(node, image);
  return {
    // Without an address in the files, the host's name is used, and a note asks for the address.
    address: addressIn(node) ?? node.hostname,
    role: node.controlPlane ? "controlplane" : "worker",
    configuration: "adopted",
    gpus: gpus ?? [{ model: unnamed }],
    ...filled({
      labels,
      taints,
      extensions: image.extensions,
      kernelArgs: noUki && !isSecureBoot ? undefined : kernelArgs,
      moduleParameters: nvidiaModuleParameters,
      platform: platform === "metal" || image.installer ? undefined : platform,
      secureBoot: isSecureBoot && !image.installer ? true : undefined,
      overlay: image.overlay,
      customization: image.customization,
      installerImage: image.installer && withRelease(image.installer, version),
      patches:
        otherKernelModules.length > 0
          ? [stringify({ machine: { kernel: { modules: otherKernelModules } } })]
          : undefined,
      containerd: extra === undefined ? undefined : { extra },
    }),
  };
}

/**
 * An installer image with the Talos release as its tag, as talhelper writes it (talhelper, pkg/talos/nodeconfig.go,
 * installerURL).
 */
const withRelease = (image: string, version: string | undefined): string =>
  /[:@][^/]*$/.test(image) || version === undefined ? image : `${image}:${version}`;

const isSecure = (node: TalconfigNode, image: ImageContent): boolean =>
  node.machineSpec?.secureboot === true || image.secureBoot === true;

/**
 * Parameters of the NVIDIA modules that every stack loads, and the other modules with their parameters. If several
 * lists name a module, Talos uses the last one. A module in no list gets its parameters from the kernel arguments.
 */
function parametersOf(
  parts: NvidiaPart[],
  { kernelArgs }: ImageContent,
): { nvidiaParameters: Record<string, string[]>; otherModules: KernelModule[] } {
  const lists = new Map<string, string[]>();
  for (const { module, parameter } of kernelArgs.flatMap((arg) => moduleParameterIn(arg) ?? []))
    lists.set(module, [...(lists.get(module) ?? []), parameter]);
  for (const { name, parameters = [] } of parts.flatMap(({ modules }) => modules))
    // Talos joins parameters with blanks, and the kernel splits them there.
    lists.set(
      name,
      parameters.flatMap((text) => text.match(/(?:"[^"]*"|[^\s"])+/g) ?? []),
    );
  const isNvidiaModule = (name: string): boolean => /^nvidia(?:_uvm|_drm|_modeset)?$/.test(name);
  const entries = [...lists];
  return {
    nvidiaParameters: Object.fromEntries(entries.filter(([name]) => isNvidiaModule(name))),
    otherModules: entries
      .filter(([name]) => !isNvidiaModule(name))
      .map(([name, parameters]) => ({ name, parameters })),
  };
}

/** The first address of a node in the files; undefined without one. */
function addressIn({ ipAddress }: TalconfigNode): string | undefined {
  const [first = ""] = ipAddress.split(",").map((text) => text.trim());
  return first === "" || unfilledIn(first) !== undefined ? undefined : first;
}

const isVariable = (text: string): boolean => text.includes("${");

/** Labels or taints without those that contain variables of talhelper. */
const knownOf = (texts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => unfilledIn(text) === undefined));

/** Branch and flavour of the driver in an image. */
const driverOf = ({ branch, flavour }: ImageContent): DriverSpec | undefined =>
  branch ? { branch, ...defined({ flavour }) } : undefined;

/** An empty driver for a machine whose image is unknown, so that the plan asks for the driver. */
const emptyDriver = ({ image }: ReadNode): DriverSpec | undefined =>
  image.unknown === undefined ? undefined : {};

/**
 * GPU provider of an imported stack. Up to Talos 1.12 it is the device plugin, which needs the fewest workarounds
 * there. From 1.13 on it is the GPU Operator, which supports Talos' CDI.
 */
export function exposure(
  talosVersion = "v1.12.0",
): Pick<ClusterSpec, "devicePlugin" | "gpuOperator"> {
  const node = { address: "192.0.2.1", role: "worker", configuration: "adopted" } as const;
  const kinds = ["devicePlugin", "gpuOperator"] as const;
  const inOrder = injectionOf(talosVersion) === "legacy" ? kinds : kinds.toReversed();
  return newestExposure({ talosVersion, machines: { node } }, inOrder);
}

/** Whether an argument belongs to `kernelArgs`. Parameters of modules and the platform have their own fields. */
const isOfImage = (arg: string): boolean =>
  moduleParameterIn(arg) === undefined && !arg.startsWith("talos.platform=");

function notesOf(
  { node, image, parts, gpus }: ReadNode,
  shared: NvidiaPart[],
  noUki: boolean,
  version: string | undefined,
): FieldFinding[] {
  const imageArgs = image.kernelArgs.filter(isOfImage);
  const field = `machines.${node.hostname}`;
  const moduleParameterArgs = image.kernelArgs.filter(
    (arg) => moduleParameterIn(arg) !== undefined,
  );
  const allParts = [...parts, ...shared];
  return flat<FieldFinding>([
    addressIn(node) === undefined
      ? {
          field: `${field}.address`,
          problem: `${unfilledIn(node.ipAddress)?.problem ?? "is missing in the file"}, so the stack uses the name ${node.hostname} instead`,
          why: "the update connects to the machine at this address",
          remedy: `write its address, as \`kubectl get nodes -o wide\` prints it under INTERNAL-IP${isVariable(node.ipAddress) ? ", or pass the file of variables (--env-file)" : ""}`,
        }
      : undefined,
    gpus === undefined
      ? {
          field: `${field}.gpus`,
          problem: "no file names its card",
          why: "kernel modules, driver and resources follow from the card",
          remedy: `name the card with --gpu '${node.hostname}=MODEL', or in the stack file instead of ${unnamed}. If the machine has no card, delete machines.${node.hostname}`,
        }
      : undefined,
    image.notes,
    moduleParameterArgs.length > 0
      ? {
          field: `${field}.moduleParameters`,
          problem: `contains ${moduleParameterArgs.join(", ")}, which have no effect today because they are kernel arguments`,
          why: "Talos takes parameters of NVIDIA's modules only from the machine's configuration. When the stack writes these parameters there, they take effect",
          remedy: "delete the parameters that you do not want",
        }
      : undefined,
    imageArgs.length > 0 && noUki && !isSecure(node, image)
      ? {
          field: `${field}.kernelArgs`,
          problem: `these arguments are left out: ${imageArgs.join(", ")}`,
          why: "up to Talos 1.9, a machine without Secure Boot ignores the arguments of an installer's schematic",
          remedy:
            "write the arguments that you need to machine.install.extraKernelArgs in the other tool's configuration",
        }
      : undefined,
    partInForce(allParts, version) !== undefined
      ? {
          field: `${field}.containerd`,
          problem: `contains NVIDIA's part of the file ${customizationPath}, which another tool writes today`,
          why: "a machine's configuration may write this file only once, so the update would stop",
          remedy:
            "before the update, delete the file from the other tool's patch, or delete this field from the stack",
        }
      : undefined,
    writersNote(field, allParts, version),
    unfilledTexts(`${field}.labels`, [
      node.nodeLabels ?? {},
      ...allParts.map(({ labels }) => labels),
    ]),
    unfilledTexts(`${field}.taints`, [
      node.nodeTaints ?? {},
      ...allParts.map(({ taints }) => taints),
    ]),
    parts.map((part) => part.notes),
  ]);
}

const unfilledTexts = (field: string, texts: Record<string, string>[]): FieldFinding[] =>
  Object.entries(Object.assign({}, ...texts) as Record<string, string>).flatMap(([key, text]) => {
    const unfilled = unfilledIn(text);
    const why = "this value is not imported, and the node keeps its current value";
    return unfilled === undefined ? [] : [{ field: `${field}.${key}`, why, ...unfilled }];
  });

/** The Talos release of all nodes. If it is unknown, a note asks the user for it. */
function versionOf(statedVersion: string | undefined): { value?: string; notes: FieldFinding[] } {
  const why = "image, driver and all checks depend on the Talos release";
  const remedy = "name the release that the machines should run, e.g. --talos v1.13.6";
  const openVersion = (problem: string): { notes: FieldFinding[] } => ({
    notes: [{ field: "talosVersion", problem, why, remedy }],
  });
  if (statedVersion === undefined) return openVersion("is missing in all files");
  const unfilled = unfilledIn(statedVersion);
  if (unfilled !== undefined)
    return openVersion(`is ${statedVersion}, a variable without a value in the files of variables`);
  return { value: statedVersion.startsWith("v") ? statedVersion : `v${statedVersion}`, notes: [] };
}

/** The Image Factory of a talconfig; empty if it is the public one (talhelper, pkg/config/config.go, ImageFactory). */
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
 * @param source name of the imported file
 */
export function renderStack({ spec, notes }: Imported, source: string): string {
  const head = [
    `The GPU nodes of ${source}. Another tool still manages their configuration: this stack only adds NVIDIA's part.`,
    "NVIDIA's modules, extensions and installer images follow from the cards, and are not repeated here.",
  ];
  return stackText(spec, { head, tasksAndNotes: notes.map(taskText) });
}
