import * as path from "node:path";
import { stringify } from "yaml";
import { wayOfChart } from "../../components/recipe/facts/way";
import type { ClusterSpec, ExternalSpec, GpuSpec, MachineSpec } from "../../components/recipe/index";
import { branchedName, nvidiaExtension } from "../../components/recipe/facts/extension";
import { asText, defined, isMapping, valueAt } from "../../components/recipe/mapping";
import { isChartSource } from "../../components/recipe/outside/external";
import { readOutside } from "../../components/recipe/outside/index";
import { customizationPath, readSchematic } from "../../components/recipe/index";
import { lineOfText, type Piece } from "./lines";
import { unnamed } from "../stack-text";
import { exposure } from "../import/convert";
import { imageOf } from "../import/image";
import { machinesOf } from "../import/machine-configuration";
import { containersOf } from "./pods";
import { readPatch } from "../../components/recipe/machine/user-patches";
import { taintText } from "../../components/recipe/machine/taints";
import { mappingsIn } from "../import/patch";
import { schematicsIn } from "../import/schematics";
import { isTalconfig, readSource } from "../import/source";
import { type Talconfig, withRole } from "../import/talconfig";

/** Something that a file says, as the stack that says the same. */
export interface Subject {
  /** Without a release: the release is the caller's to name, unless the files name one. */
  spec: Partial<ClusterSpec>;
  /** What a field of the stack was made of, by its path; the longest path that fits counts. */
  pieces: Map<string, Piece>;
  /** Only findings of these fields are about the files; the rest of the stack was made up. */
  about: RegExp;
}

/** A file that was read. */
export interface ReadFile {
  name: string;
  text: string;
}

const gpu: GpuSpec = { model: unnamed };

/**
 * What files say of GPUs on Talos. Files of other kinds say nothing.
 *
 * @param flawed is told of a file that names what cannot be read.
 * @param card of the machines whose files do not tell it. Default: none that is known.
 */
export function subjectsOf(
  files: readonly ReadFile[],
  environment: NodeJS.ProcessEnv,
  flawed: (file: string, problem: string) => void,
  card: GpuSpec = gpu,
): Subject[] {
  const subjects: Subject[] = [];
  for (const file of files.filter(({ text }) => isTalconfig(text))) {
    try {
      subjects.push(ofTalconfig({ file: file.name, line: 1, text: file.text }, environment));
    } catch (error) {
      flawed(file.name, `is not looked at: ${(error as Error).message}`);
    }
  }
  // A patch that a talconfig names was judged with it, on that cluster's release.
  const judged = new Set(subjects.flatMap(({ pieces }) => [...pieces.values()].map(({ file }) => path.resolve(file))));
  const others = files.filter(({ name, text }) => !judged.has(path.resolve(name)) && !isTalconfig(text));
  const charts = byFolder(others).flatMap((folder) => ofCharts(folder, others, flawed));
  const external = charts.length === 1 ? charts[0]!.spec.external! : unknownRelease;
  const machines = [...subjects, ...others.flatMap(ofFile)].map((subject) => ({
    ...subject,
    spec: subject.spec.workloads === undefined ? { ...subject.spec, external } : subject.spec,
  }));
  const all = [...machines, ...charts];
  return card === gpu ? all : all.map((subject) => ({ ...subject, spec: withCard(subject.spec, card) }));
}

/** A machine that no file names. */
const madeUp: ClusterSpec["machines"] = {
  node: { address: "192.0.2.1", role: "worker", configuration: "adopted", gpus: [gpu] },
};

/** What offers the cards of machines where no file says it. */
const unknownRelease: ExternalSpec = { kind: "devicePlugin" };

function withCard(spec: Partial<ClusterSpec>, card: GpuSpec): Partial<ClusterSpec> {
  const machines = Object.entries(spec.machines ?? {}).map(([name, machine]): [string, MachineSpec] => [
    name,
    { ...machine, ...(machine.gpus?.length ? { gpus: [card] } : {}) },
  ]);
  return { ...spec, machines: Object.fromEntries(machines) };
}

/** Files of one folder belong together: a HelmRelease and its repository, say. */
function byFolder(files: readonly ReadFile[]): ReadFile[][] {
  const folders = new Map<string, ReadFile[]>();
  for (const file of files) {
    const folder = path.dirname(file.name);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders.values()];
}

/** Fields of a machine's configuration, beside which nothing else stands (talos, pkg/machinery/config/types/v1alpha1, Config). */
const rootKeys = ["version", "debug", "persist", "machine", "cluster"];

function isPatch(value: Record<string, unknown>): boolean {
  if (value["kind"] !== undefined) return value["apiVersion"] === "v1alpha1";
  const keys = Object.keys(value);
  return keys.every((key) => rootKeys.includes(key)) && (isMapping(value["machine"]) || isMapping(value["cluster"]));
}

/** A text without what SOPS adds at the end of each document, and takes away when it decrypts the file; each line stays where it is. */
const withoutSops = (text: string): string =>
  text.replace(/^sops:\n(?:[ \t].*\n?|\n)*/gm, (part) => part.replace(/.+/g, ""));

function ofFile({ name, text }: ReadFile): Subject[] {
  // talhelper makes one dollar of two (`$$patch: delete`).
  const whole: Piece = { file: name, line: 1, text: withoutSops(text.replaceAll("$$", "$")) };
  const values = mappingsIn(whole.text);
  const machines = machinesOf(whole.text, name);
  if (machines.length > 0)
    return machines.map(({ node, talosVersion }) => {
      const own: Partial<MachineSpec> = { role: node.controlPlane ? "controlplane" : "worker" };
      const inner = node.patches![0]!;
      const piece = { ...whole, line: inner === whole.text ? 1 : lineOfText(text, inner), text: inner };
      return ofMachines([{ name: node.hostname, own, pieces: [piece] }], talosVersion);
    });
  if (values.length > 0 && values.every(isPatch))
    return [ofMachines([{ name: "machine", own: { role: "controlplane" }, pieces: [whole] }])];
  if (values.some(isOfOmni)) return [ofOmni(values.filter(isOfOmni), whole)];
  if (values.some((value) => isMapping(value["customization"]) && value["kind"] === undefined))
    return schematicsIn(text)
      .slice(0, 1)
      .map((raw) => ofSchematic(raw, whole));
  return values.flatMap((value) => ofPod(value, whole));
}

/** Documents of Omni's cluster template (siderolabs/omni, client/pkg/template/internal/models). */
const isOfOmni = (value: Record<string, unknown>): boolean =>
  value["apiVersion"] === undefined &&
  ["Cluster", "ControlPlane", "Workers", "Machine"].includes(String(value["kind"]));

/** The machines of a cluster template: each document's that is about some, with the cluster's own patches and extensions. */
function ofOmni(documents: Record<string, unknown>[], whole: Piece): Subject {
  const listOf = (value: Record<string, unknown>, key: string): unknown[] =>
    Array.isArray(value[key]) ? value[key] : [];
  const extensionsOf = (value: Record<string, unknown>): string[] => listOf(value, "systemExtensions").map(String);
  const piecesOf = (value: Record<string, unknown>): Piece[] =>
    listOf(value, "patches").flatMap((patch) => {
      const inline = valueAt(patch, "inline");
      const text = isMapping(inline) ? stringify(inline) : asText(inline);
      // One in a file beside it is judged as any patch.
      return text === "" ? [] : [{ file: whole.file, line: lineOfText(whole.text, text), text }];
    });
  const [cluster = {}] = documents.filter(({ kind }) => kind === "Cluster");
  const first = documents.filter(({ kind }) => kind === "ControlPlane").flatMap((value) => listOf(value, "machines"));
  const machines = documents.flatMap((value, index): Machine[] => {
    if (value["kind"] === "Cluster") return [];
    const pieces = piecesOf(value);
    const extensions = [...extensionsOf(cluster), ...extensionsOf(value)];
    const hasGpu = /nvidia/.test([...extensions, ...pieces.map(({ text }) => text)].join());
    const role = value["kind"] === "ControlPlane" || first.includes(value["name"]) ? "controlplane" : "worker";
    const own = {
      role,
      gpus: hasGpu ? [gpu] : [],
      extensions,
      kernelArgs: listOf(value, "kernelArgs").map(String),
    } as const;
    return [{ name: `machine-${index}`, own, pieces, image: whole }];
  });
  return ofMachines(machines, asText(valueAt(cluster, "talos", "version")) || undefined, piecesOf(cluster));
}

interface Machine {
  name: string;
  own: Partial<MachineSpec>;
  pieces: Piece[];
  /** What extensions and kernel arguments are from. */
  image?: Piece;
}

const everywhere = /^machines\.|^patches\b|^talosVersion\b/;

/** Machines whose configuration is these texts. */
function ofMachines(machines: Machine[], version?: string, shared: Piece[] = []): Subject {
  const pieces = new Map<string, Piece>(shared.map((piece, index) => [`patches[${index}]`, piece]));
  const entries = machines.map(({ name, own, pieces: texts, image }): [string, MachineSpec] => {
    const field = `machines.${name}`;
    if (image) pieces.set(field, image);
    texts.forEach((piece, index) => pieces.set(`${field}.patches[${index}]`, piece));
    const parts = [...texts, ...shared].flatMap((piece) => containerdIn(piece.text).map((extra) => ({ extra, piece })));
    const last = parts.at(-1);
    if (last) pieces.set(`${field}.containerd`, last.piece);
    const { role = "worker" } = own;
    return [
      name,
      {
        ...{ address: "192.0.2.1", configuration: "adopted", gpus: [gpu], ...own, role },
        ...(texts.length > 0 ? { patches: texts.map(({ text }) => text) } : {}),
        ...defined({ containerd: last && { extra: last.extra } }),
      },
    ];
  });
  return {
    spec: {
      ...(version === undefined ? {} : { talosVersion: version.startsWith("v") ? version : `v${version}` }),
      machines: Object.fromEntries(entries),
      ...(shared.length > 0 ? { patches: shared.map(({ text }) => text) } : {}),
    },
    pieces,
    about: everywhere,
  };
}

/** Containerd's part in a text. */
function containerdIn(text: string): string[] {
  return readPatch(text, "").files.flatMap(({ path: at, content }) => (at === customizationPath ? [content] : []));
}

function ofTalconfig(whole: Piece, environment: NodeJS.ProcessEnv): Subject {
  const { config, schematics, patchFiles } = readSource([whole.file], {
    environmentFiles: undefined,
    schematicFiles: [],
    environment,
  });
  const pieceOf = (text: string): Piece => {
    const file = patchFiles.get(text);
    if (file !== undefined) return { file, line: 1, text: withoutSops(text) };
    return { file: whole.file, line: lineOfText(whole.text, text), text };
  };
  const machines = config.nodes.map((node): Machine => {
    const full = withRole(config, node);
    const image = imageOf(full, schematics);
    const own = ownOf(full, image);
    return { name: node.hostname, own, pieces: (full.patches ?? []).map(pieceOf), image: whole };
  });
  const version = /\$\{|ENC\[/.test(config.talosVersion ?? "") ? undefined : config.talosVersion;
  const subject = ofMachines(machines, version, (config.patches ?? []).map(pieceOf));
  subject.pieces.set("talosVersion", whole);
  return subject;
}

function ownOf(node: Talconfig["nodes"][number], image: ReturnType<typeof imageOf>): Partial<MachineSpec> {
  const loads = (node.kernelModules ?? []).some(({ name }) => /^nvidia/.test(name));
  const hasGpu =
    image.nvidia === true || loads || (node.patches ?? []).some((text) => /^\s*-?\s*name:\s*nvidia/m.test(text));
  const taints = Object.fromEntries(Object.entries(node.nodeTaints ?? {}).map(([key, text]) => [key, taintText(text)]));
  return {
    role: node.controlPlane ? "controlplane" : "worker",
    gpus: hasGpu ? [gpu] : [],
    extensions: image.listed ?? [],
    kernelArgs: image.kernelArgs,
    ...(node.machineSpec?.secureboot || image.secureBoot ? { secureBoot: true } : {}),
    ...(Object.keys(taints).length > 0 ? { taints } : {}),
  };
}

function ofSchematic(raw: Record<string, unknown>, whole: Piece): Subject {
  const content = readSchematic(JSON.stringify(raw));
  const extensions = (content?.extensions ?? []).map(branchedName);
  const gpus = extensions.some((name) => nvidiaExtension(name) !== undefined) ? [gpu] : [];
  const own = { gpus, extensions, kernelArgs: content?.kernelArgs ?? [] };
  return ofMachines([{ name: "schematic", own, pieces: [], image: whole }]);
}

/**
 * Releases of NVIDIA's charts, which something else than a stack installs.
 *
 * @param files of a folder.
 * @param others all files, for what those of the folder name in another one.
 */
function ofCharts(
  files: readonly ReadFile[],
  others: readonly ReadFile[],
  flawed: (file: string, problem: string) => void,
): Subject[] {
  const inFolder = new Set(files.map(({ name }) => name));
  const { releases: alone } = readOutside(files);
  const wanted = alone.flatMap(({ missing }) => missing.map(({ name }) => path.basename(name)));
  const elsewhere = others.filter(
    ({ name, text }) => !inFolder.has(name) && wanted.some((word) => name.endsWith(`/${word}`) || text.includes(word)),
  );
  const { releases } = elsewhere.length === 0 ? { releases: alone } : readOutside([...files, ...elsewhere]);
  // Keys such as `image` and `resources` are in the values of any chart: a file of values is named after its own.
  const isNvidias = ({ by, place }: { by: string; place: { file: string } }): boolean =>
    by !== "values" || /nvidia|gpu-operator/i.test(place.file);
  return releases
    .filter((one) => inFolder.has(one.place.file) && isNvidias(one))
    .map((release): Subject => {
      const { chart, version, namespace, values, place, places, missing } = release;
      // Of a Secret nobody can have the text; and a chart's repository says no values: a pull request may have the release alone.
      for (const what of missing.filter((one) => one.kind !== "Secret" && !isChartSource(one)))
        flawed(
          place.file,
          `names the ${what.kind} ${what.name}, which is not among the files: what it says is not judged`,
        );
      const pieceOf = (file: string): Piece => ({
        ...{ file, line: 1 },
        text: [...files, ...elsewhere].find(({ name }) => name === file)?.text ?? "",
      });
      const holders = [...new Set(Object.values(places).map(({ file }) => file))];
      return {
        spec: {
          machines: madeUp,
          external: {
            read: {
              ...{ kind: wayOfChart(chart).field, values, ...defined({ version, namespace }) },
              missing,
              places: Object.fromEntries(Object.entries(places).map(([at, { file, line }]) => [at, `${file}:${line}`])),
            },
          },
        },
        pieces: new Map([
          ["external", pieceOf(place.file)],
          ...holders.map((file, index) => [`external.files[${index}]`, pieceOf(file)] as const),
        ]),
        about: /^external\b/,
      };
    });
}

/** Containers that ask for a GPU. */
function ofPod(value: Record<string, unknown>, whole: Piece): Subject[] {
  return containersOf(value).map((pod) => ({
    spec: {
      machines: madeUp,
      ...exposure(undefined),
      workloads: { pods: { pod } },
    },
    pieces: new Map([["workloads", whole]]),
    about: /^workloads\./,
  }));
}

/** A file's name as a person reads it: from the working folder where it is below that. */
export function shortName(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith("..") ? file : relative;
}
