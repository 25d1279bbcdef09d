import * as fs from "node:fs";
import * as path from "node:path";
import {
  boundedText,
  isBelow,
  projectRootOf,
  reasonOf,
  textBelow,
} from "../../components/lookups/bounded-file";
import { type ReadMachine, machinesOf } from "./machine-configuration";
import { defined, flat, listAt, repeated } from "../../components/recipe/mapping";
import { filePatch, mappingsIn } from "./patch";
import { environmentFiles, substitute, variablesOf } from "./substitute";
import { learn, type Schematics, schematicsIn } from "./schematics";
import { yamlFiles } from "../yaml-files";
import {
  type MachineFile,
  readTalconfig,
  type Settings,
  type Talconfig,
  withRole,
} from "./talconfig";
import type { FieldFinding } from "../../components/recipe/rules/finding";
import type { PatchFile } from "./places";
import { makerOf, type Unread, whyUnread } from "./unread";
import { isTopf, readTopf } from "./topf/topf";

/** Files that an import reads. */
export interface Source {
  config: Talconfig;
  /** Schematics whose content is known from files and comments. */
  schematics: Schematics;
  /** Where each patch stands that is in a file of its own, by its text. */
  patchFiles: Map<string, PatchFile>;
  /** Files that a talconfig names and that are not read: what they say is missing. */
  unread: Unread[];
  /** The files that are imported. */
  given: PatchFile[];
  notes: FieldFinding[];
}

/** Where schematics are looked for: in files of the folder, and of those in it. */
const beside = {
  depth: 1,
  passedOver: /^(?:\.|node_modules$)/,
  names: /\.ya?ml(?:\.j2)?$/,
  most: 300,
  largest: 64 * 1024,
};

/** The user's options in addition to the files. */
export interface Said {
  /** Files of variables. Default: those that talhelper reads. */
  environmentFiles: string[] | undefined;
  schematicFiles: string[];
  /** Variables that come before those of files. */
  environment: NodeJS.ProcessEnv;
  /**
   * Folders besides that of the project in which the files may be that a talconfig.yaml or topf.yaml names. Default
   * none.
   */
  roots?: readonly string[];
}

/**
 * Reads a talconfig.yaml, a topf.yaml, or configurations of machines.
 *
 * @throws Error naming what cannot be read.
 */
export function readSource(files: string[], said: Said): Source {
  const texts = files.map((file) => contentOf(file, "FILE"));
  const given = files.map((file, index): PatchFile => ({
    file: path.resolve(file),
    text: texts[index]!,
  }));
  const schematics: Schematics = new Map();
  for (const folder of new Set(files.map((file) => path.dirname(file))))
    for (const file of schematicFilesNear(folder))
      learn(schematics, schematicsIn(contentOf(file, "FILE")));
  for (const file of said.schematicFiles) {
    const found = schematicsIn(contentOf(file, "--schematic"));
    if (found.length === 0)
      throw new Error(
        `--schematic: ${file} holds none (no customization), so it tells nothing; name a schematic's file`,
      );
    learn(schematics, found);
  }
  const machines = files.flatMap((file, index) => machinesOf(texts[index]!, file));
  if (machines.length > 0)
    return { ...ofMachines(machines), schematics, patchFiles: new Map(), unread: [], given };
  if (files.length > 1)
    throw new Error(
      "FILE: several are there, and not all are configurations of machines; give one talconfig.yaml or topf.yaml",
    );
  if (isTopf(texts[0]!)) {
    const { schematics: named, ...read } = topfOf(files[0]!, texts[0]!, said);
    learn(schematics, named);
    return { ...read, schematics, given };
  }
  return { ...talconfigOf(files[0]!, texts[0]!, said), schematics, given, notes: [] };
}

/**
 * Files that may hold a schematic: of a folder, and of the folders `schematics` next to it and further up in the
 * project.
 */
function schematicFilesNear(folder: string): string[] {
  const root = projectRootOf(folder);
  const files = yamlFiles(folder, beside);
  for (let at = path.resolve(folder); at !== root;) {
    at = path.dirname(at);
    files.push(...yamlFiles(path.join(at, "schematics"), beside));
  }
  return files;
}

/** A topf.yaml with its patches: what it names is read where it is part of the project. */
function topfOf(file: string, text: string, said: Said): ReturnType<typeof readTopf> {
  const roots = [...(said.roots ?? []), projectRootOf(path.dirname(file))];
  return readTopf(file, text, {
    textOf: (name) => textOfProject(roots, name),
    isOfProject: (folder) =>
      roots.some(
        (root) => isBelow(root, folder) && isBelow(fs.realpathSync(root), fs.realpathSync(folder)),
      ),
    environment: said.environment,
  });
}

/**
 * A talconfig with its patches, as talhelper reads it: variables filled in, files read. Unreadable files are reported
 * and skipped.
 */
function talconfigOf(
  file: string,
  text: string,
  said: Said,
): Pick<Source, "config" | "patchFiles" | "unread"> {
  const folder = path.dirname(file);
  const roots = [...(said.roots ?? []), projectRootOf(folder)];
  const unread: Unread[] = [];
  /** Text of a file that is part of the project, unless it cannot be read. */
  const textOf = (field: string, name: string): string | undefined => {
    try {
      const read = textOfProject(roots, name);
      const reason = whyUnread(read);
      if (reason === undefined) return read;
      unread.push({ field, file: name, reason });
    } catch (error) {
      unread.push({ field, file: name, reason: reasonOf(error) });
    }
    return undefined;
  };
  const beside = environmentFiles
    .map((name) => path.join(folder, name))
    .filter((name) => fs.existsSync(name));
  const environmentTexts =
    said.environmentFiles?.map((name) => contentOf(name, "--env-file")) ??
    beside.flatMap((name) => textOf("variables", path.resolve(name)) ?? []);
  const variables = Object.assign(
    { ...said.environment },
    ...environmentTexts.map(variablesOf),
  ) as Record<string, string>;
  const config = readTalconfig(substitute(text, variables));
  const patchFiles = new Map<string, PatchFile>();
  // Some people write the path of a patch alone, without the `@` by which talhelper knows it.
  const isPath = (text: string): boolean =>
    /^[\w./-]+\.ya?ml$/.test(text.trim()) &&
    roots.some((root) => isBelow(root, path.resolve(folder, text.trim())));
  const isFile = (text: string): boolean => text.startsWith("@");
  const named = (text: string, field: string): PatchFile | undefined => {
    const file = path.resolve(folder, text.replace(/^@/, "").trim());
    const read = textOf(field, file);
    return read === undefined ? undefined : { file, text: substitute(read, variables) };
  };
  const patch = (text: string): string[] => {
    if (!isFile(text) && !isPath(text)) return [text];
    const from = named(text, "patches");
    if (from === undefined) return [];
    patchFiles.set(from.text, from);
    return [from.text];
  };
  // talhelper reads the contents of files where it reads patches (talhelper, pkg/talos/nodeconfig.go and
  // pkg/substitute).
  const machineFile = (file: MachineFile): MachineFile => {
    const { content = "" } = file;
    if (!isFile(content)) return file;
    const from = named(content, "machineFiles");
    const whole = { ...file, content: from?.text ?? "" };
    if (from === undefined) return whole;
    patchFiles.set(filePatch(whole), from);
    return whole;
  };
  const settings = <T extends Pick<Settings, "patches" | "machineFiles">>(value: T): T => ({
    ...value,
    ...defined({
      patches: value.patches?.flatMap(patch),
      machineFiles: value.machineFiles?.map(machineFile),
    }),
  });
  const { controlPlane, worker } = config;
  const whole: Talconfig = {
    ...settings(config),
    ...defined({
      controlPlane: controlPlane && settings(controlPlane),
      worker: worker && settings(worker),
    }),
    nodes: config.nodes.map(settings),
  };
  const { count, characters } = patchesIn(whole);
  const tooMuch =
    count > mostPatches
      ? `${count} patches together`
      : characters > mostCharacters
        ? `patches of ${characters} characters together`
        : undefined;
  if (tooMuch !== undefined)
    throw new Error(
      `nodes: have ${tooMuch}, with those of their role and of all nodes, and no more than ${mostPatches} of ${mostCharacters} characters are read; each is put together with all others; give a talconfig.yaml with fewer`,
    );
  return { config: whole, patchFiles, unread };
}

/**
 * The most patches of all nodes together: a thousand nodes with five each of a thousand characters. They take some
 * seconds.
 */
const mostPatches = 5_000;
const mostCharacters = 5_000_000;

function patchesIn(config: Talconfig): { count: number; characters: number } {
  const lengthOf = (patches: readonly string[]): number =>
    patches.reduce((sum, patch) => sum + patch.length, 0);
  const { patches: shared = [] } = config;
  const sharedLength = lengthOf(shared);
  let [count, characters] = [0, 0];
  for (const node of config.nodes) {
    const { patches = [], machineFiles = [] } = withRole(config, node);
    count += shared.length + patches.length + machineFiles.length;
    characters += sharedLength + lengthOf(patches);
    characters += lengthOf(machineFiles.map(({ content = "" }) => content));
  }
  return { count, characters };
}

/** Text of a file that another names, within these folders: it may be a stranger's, and findings quote what is read. */
function textOfProject(roots: readonly string[], file: string): string {
  const root = roots.find((one) => isBelow(one, file)) ?? roots.at(-1)!;
  return textBelow(root, file);
}

function ofMachines(machines: ReadMachine[]): Pick<Source, "config" | "notes"> {
  const twice = repeated(machines.map(({ node }) => node.hostname));
  if (twice !== undefined)
    throw new Error(
      `FILE: two machines are called ${twice}, so one of them would be lost; give each its own name`,
    );
  const versions = new Set(machines.flatMap(({ talosVersion }) => talosVersion ?? []));
  const version = versions.size === 1 ? [...versions][0] : undefined;
  return {
    config: { ...defined({ talosVersion: version }), nodes: machines.map(({ node }) => node) },
    notes: flat<FieldFinding>([
      version !== undefined && {
        field: "talosVersion",
        problem: `is ${version}, as in machine.install.image`,
        why: "`talosctl upgrade` leaves that field as it was, so the machines may run a newer one",
        remedy: "look with `talosctl version`, and name the one that they are to run (--talos)",
      },
      machines.map(
        ({ namedAfterFile, node }) =>
          namedAfterFile && {
            field: `machines.${node.hostname}`,
            problem: "has the name of its file, because its configuration names no host",
            why: "the update looks for a node of that name",
            remedy: "write the node's name, as `kubectl get nodes` has it",
          },
      ),
    ]),
  };
}

/** Text of a file, which a field names. */
export function contentOf(file: string, field: string): string {
  try {
    return boundedText(file);
  } catch (error) {
    const remedy = makerOf(file) ?? "name a file that can be read";
    throw new Error(
      `${field}: ${file} cannot be read (${reasonOf(error)}); what it says would be lost; ${remedy}`,
      {
        cause: error,
      },
    );
  }
}

/** Whether a text is a talconfig.yaml of talhelper's: others have lists of nodes, too. */
export function isTalconfig(text: string): boolean {
  if (!text.includes("ipAddress")) return false; // so that not every file of a repository is read as YAML for it
  const nodes = mappingsIn(text).flatMap((value) => listAt(value, "nodes"));
  return nodes.some((node) => "hostname" in node && "ipAddress" in node);
}

/** Whether a text describes machines for a tool that makes their configurations. */
export const namesMachines = (text: string): boolean => isTalconfig(text) || isTopf(text);
