import * as fs from "node:fs";
import * as path from "node:path";
import {
  boundedText,
  isBelow,
  projectRootOf,
  reasonOf,
  readTextWithin,
} from "../../components/lookups/bounded-file";
import { type ReadMachine, machinesOf } from "./machine-configuration";
import { defined, flat, listAt, repeated } from "../../components/recipe/mapping";
import { filePatch, mappingsIn } from "./patch";
import { environmentFiles, substitute, variablesOf } from "./substitute";
import { addSchematics, type Schematics, schematicsIn } from "./schematics";
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
import { howToMakeFile, type Unread, whyUnread } from "./unread";
import { isTopf, readTopf } from "./topf/topf";

/** Files that an import reads. */
export interface Source {
  config: Talconfig;
  /** Schematics from files and comments, by their IDs. */
  schematics: Schematics;
  /** Source files of patches that have their own files, by the patch's text. */
  patchFiles: Map<string, PatchFile>;
  /** Files that a talconfig names and that could not be read, so their settings are missing. */
  unread: Unread[];
  /** The imported files. */
  inputFiles: PatchFile[];
  notes: FieldFinding[];
}

/** Which files of a folder and of its subfolders may hold schematics. */
const schematicFileScope = {
  depth: 1,
  skippedFolders: /^(?:\.|node_modules$)/,
  names: /\.ya?ml(?:\.j2)?$/,
  maxFiles: 300,
  maxBytes: 64 * 1024,
};

/** The user's options in addition to the files. */
export interface SourceOptions {
  /** Files of variables. Default: the files that talhelper reads by default. */
  environmentFiles: string[] | undefined;
  schematicFiles: string[];
  /** Environment variables. A variable in a file overrides the environment variable of the same name. */
  environment: NodeJS.ProcessEnv;
  /**
   * Folders outside of the project. A talconfig.yaml or topf.yaml may name files in these folders, too. Default: none.
   */
  roots?: readonly string[];
}

/**
 * Reads a talconfig.yaml, a topf.yaml, or configurations of machines.
 *
 * @throws Error naming what cannot be read.
 */
export function readSource(files: string[], options: SourceOptions): Source {
  const texts = files.map((file) => contentOf(file, "FILE"));
  const inputFiles = files.map((file, index): PatchFile => ({
    file: path.resolve(file),
    text: texts[index]!,
  }));
  const schematics: Schematics = new Map();
  for (const folder of new Set(files.map((file) => path.dirname(file))))
    for (const file of schematicFilesNear(folder))
      addSchematics(schematics, schematicsIn(contentOf(file, "FILE")));
  for (const file of options.schematicFiles) {
    const readSchematics = schematicsIn(contentOf(file, "--schematic"));
    if (readSchematics.length === 0)
      throw new Error(
        `--schematic: ${file} is no schematic (it has no customization); name a schematic's file`,
      );
    addSchematics(schematics, readSchematics);
  }
  const machines = files.flatMap((file, index) => machinesOf(texts[index]!, file));
  if (machines.length > 0)
    return {
      ...sourceOfMachines(machines),
      schematics,
      patchFiles: new Map(),
      unread: [],
      inputFiles,
    };
  if (files.length > 1)
    throw new Error(
      "FILE: if several files are given, each must be a machine's configuration; give only configurations, or one talconfig.yaml or topf.yaml",
    );
  if (isTopf(texts[0]!)) {
    const { schematics: namedSchematics, ...topfSource } = topfOf(files[0]!, texts[0]!, options);
    addSchematics(schematics, namedSchematics);
    return { ...topfSource, schematics, inputFiles };
  }
  return {
    ...talconfigOf(files[0]!, texts[0]!, options),
    schematics,
    inputFiles,
    notes: [],
  };
}

/**
 * Files that may contain a schematic: those of a folder, and those in folders `schematics` of its parent folders, up to
 * the project's root.
 */
function schematicFilesNear(folder: string): string[] {
  const root = projectRootOf(folder);
  const files = yamlFiles(folder, schematicFileScope);
  for (let parent = path.resolve(folder); parent !== root;) {
    parent = path.dirname(parent);
    files.push(...yamlFiles(path.join(parent, "schematics"), schematicFileScope));
  }
  return files;
}

/** Reads a topf.yaml with its patches. A file that the topf.yaml names is read only if it belongs to the project. */
function topfOf(file: string, text: string, options: SourceOptions): ReturnType<typeof readTopf> {
  const roots = [...(options.roots ?? []), projectRootOf(path.dirname(file))];
  return readTopf(file, text, {
    textOf: (name) => textOfProject(roots, name),
    isOfProject: (folder) =>
      roots.some(
        (root) => isBelow(root, folder) && isBelow(fs.realpathSync(root), fs.realpathSync(folder)),
      ),
    environment: options.environment,
  });
}

/**
 * Reads a talconfig with its patches as talhelper does: it fills in variables and reads the named files. Unreadable
 * files are reported and skipped.
 */
function talconfigOf(
  file: string,
  text: string,
  options: SourceOptions,
): Pick<Source, "config" | "patchFiles" | "unread"> {
  const folder = path.dirname(file);
  const roots = [...(options.roots ?? []), projectRootOf(folder)];
  const unread: Unread[] = [];
  /** Text of a file of the project; undefined if it cannot be read. */
  const textOf = (field: string, name: string): string | undefined => {
    try {
      const content = textOfProject(roots, name);
      const reason = whyUnread(content);
      if (reason === undefined) return content;
      unread.push({ field, file: name, reason });
    } catch (error) {
      unread.push({ field, file: name, reason: reasonOf(error) });
    }
    return undefined;
  };
  const nearbyEnvironmentFiles = environmentFiles
    .map((name) => path.join(folder, name))
    .filter((name) => fs.existsSync(name));
  const environmentTexts =
    options.environmentFiles?.map((name) => contentOf(name, "--env-file")) ??
    nearbyEnvironmentFiles.flatMap((name) => textOf("variables", path.resolve(name)) ?? []);
  const variables = Object.assign(
    { ...options.environment },
    ...environmentTexts.map(variablesOf),
  ) as Record<string, string>;
  const config = readTalconfig(substitute(text, variables));
  const patchFiles = new Map<string, PatchFile>();
  // Some people write only the path of a patch, and forget the `@` by which talhelper recognizes it.
  const isPath = (text: string): boolean =>
    /^[\w./-]+\.ya?ml$/.test(text.trim()) &&
    roots.some((root) => isBelow(root, path.resolve(folder, text.trim())));
  const isFile = (text: string): boolean => text.startsWith("@");
  const readNamedFile = (text: string, field: string): PatchFile | undefined => {
    const file = path.resolve(folder, text.replace(/^@/, "").trim());
    const content = textOf(field, file);
    return content === undefined ? undefined : { file, text: substitute(content, variables) };
  };
  const patch = (text: string): string[] => {
    if (!isFile(text) && !isPath(text)) return [text];
    const patchFile = readNamedFile(text, "patches");
    if (patchFile === undefined) return [];
    patchFiles.set(patchFile.text, patchFile);
    return [patchFile.text];
  };
  // talhelper reads contents of `machineFiles` in the same way as patches (talhelper, pkg/talos/nodeconfig.go and
  // pkg/substitute).
  const machineFile = (file: MachineFile): MachineFile => {
    const { content = "" } = file;
    if (!isFile(content)) return file;
    const contentFile = readNamedFile(content, "machineFiles");
    const whole = { ...file, content: contentFile?.text ?? "" };
    if (contentFile === undefined) return whole;
    patchFiles.set(filePatch(whole), contentFile);
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
      ? `${count} patches in total`
      : characters > mostCharacters
        ? `patches with ${characters} characters in total`
        : undefined;
  if (tooMuch !== undefined)
    throw new Error(
      `nodes: ${tooMuch} (shared patches count once per node); the limit is ${mostPatches} patches and ${mostCharacters} characters, since reading them takes seconds; give a talconfig.yaml with fewer or shorter patches`,
    );
  return { config: whole, patchFiles, unread };
}

/**
 * The largest number of patches of all nodes together: a thousand nodes with five patches of a thousand characters.
 * They take some seconds.
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

/**
 * Text of a file that another file names. The file must be in one of the folders `roots`: a stranger may have written
 * the name, and findings quote the text.
 */
function textOfProject(roots: readonly string[], file: string): string {
  const root = roots.find((candidate) => isBelow(candidate, file)) ?? roots.at(-1)!;
  return readTextWithin(root, file);
}

function sourceOfMachines(machines: ReadMachine[]): Pick<Source, "config" | "notes"> {
  const repeatedName = repeated(machines.map(({ node }) => node.hostname));
  if (repeatedName !== undefined)
    throw new Error(
      `FILE: two machines are called ${repeatedName}, so the stack could have only one of the two; give each machine its own name`,
    );
  const versions = new Set(machines.flatMap(({ talosVersion }) => talosVersion ?? []));
  const version = versions.size === 1 ? [...versions][0] : undefined;
  return {
    config: { ...defined({ talosVersion: version }), nodes: machines.map(({ node }) => node) },
    notes: flat<FieldFinding>([
      version !== undefined
        ? {
            field: "talosVersion",
            problem: `is ${version}, as in machine.install.image`,
            why: "`talosctl upgrade` does not change that field, so the machines may run a newer release",
            remedy:
              "check with `talosctl version`, and name the release that the machines should run (--talos)",
          }
        : undefined,
      machines.map(({ namedAfterFile, node }) =>
        namedAfterFile
          ? {
              field: `machines.${node.hostname}`,
              problem: "is named after its file, because its configuration has no host name",
              why: "the update looks for a node of that name",
              remedy: "write the node's name, as `kubectl get nodes` prints it",
            }
          : undefined,
      ),
    ]),
  };
}

/** Text of a file that an argument of the command names. */
export function contentOf(file: string, field: string): string {
  try {
    return boundedText(file);
  } catch (error) {
    const remedy = howToMakeFile(file) ?? "name a file that can be read";
    throw new Error(
      `${field}: ${file} cannot be read (${reasonOf(error)}), so its settings would be lost; ${remedy}`,
      {
        cause: error,
      },
    );
  }
}

/** Whether a text is talhelper's talconfig.yaml: its nodes have a host name and an address. */
export function isTalconfig(text: string): boolean {
  if (!text.includes("ipAddress")) return false; // so that not every file of a repository must be parsed as YAML
  const nodes = mappingsIn(text).flatMap((value) => listAt(value, "nodes"));
  return nodes.some((node) => "hostname" in node && "ipAddress" in node);
}

/** Whether a text is the input of a tool that makes machine configurations. */
export const namesMachines = (text: string): boolean => isTalconfig(text) || isTopf(text);
