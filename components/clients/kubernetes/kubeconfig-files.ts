import * as fs from "node:fs";
import * as path from "node:path";
import { stringify } from "yaml";
import { boundedYaml } from "../../recipe/rules/yaml";
import { isMapping, listAt } from "../../recipe/mapping";

type Mapping = Record<string, unknown>;

/** Lists of a kubeconfig, each with the field in which an item of the list has its content. */
const lists = { clusters: "cluster", contexts: "context", users: "user" } as const;

/**
 * The kubeconfig that kubectl merges from files. If several files set the current context, or have an entry of the same
 * name, the first of these files counts. Missing files are skipped. A relative path in a file is relative to that
 * file's folder (client-go, tools/clientcmd/loader.go, Load, ResolvePaths and GetAuthInfoFileReferences). A single file
 * without relative paths stays unchanged, byte for byte.
 *
 * @throws Error if no file exists or one cannot be read. The message gives the reason, and quotes nothing from a file.
 */
export function kubeconfigOfFiles(files: readonly string[]): string {
  const contents = [...new Set(files)].map(readIfThere).filter((content) => content !== undefined);
  if (contents.length === 0) throw new Error(missingText(files));
  const [first] = contents;
  const parts = contents.map(partOf);
  if (contents.length === 1 && !parts[0]!.hasRelativePath) return first!.text;
  return stringify(merged(parts.map(({ config }) => config)), { lineWidth: 0 });
}

/**
 * The kubeconfig of the files that a variable such as KUBECONFIG lists. The variable separates paths like PATH does.
 */
export const kubeconfigOfVariable = (value: string): string =>
  kubeconfigOfFiles(value.split(path.delimiter).filter(Boolean));

interface Content {
  file: string;
  text: string;
}

function readIfThere(file: string): Content | undefined {
  try {
    return { file, text: fs.readFileSync(file, "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new Error(
      code === "EISDIR" ? `${file} is a folder` : `${code ?? "error"}: ${file} cannot be read`,
      {
        cause: error,
      },
    );
  }
}

function missingText(files: readonly string[]): string {
  const [first, ...otherFiles] = files;
  if (first === undefined) return "it lists no file";
  return otherFiles.length === 0
    ? `ENOENT: there is no file ${first}`
    : `ENOENT: none of these files exists: ${files.join(", ")}`;
}

interface Part {
  config: Mapping;
  hasRelativePath: boolean;
}

/** The content of a file, with absolute paths. An empty file has no content. */
function partOf({ file, text }: Content): Part {
  let config: unknown;
  try {
    config = boundedYaml(text);
  } catch (error) {
    throw new Error(`${file} is not YAML`, { cause: error }); // the parser's message quotes the text
  }
  if (config === null || config === undefined) return { config: {}, hasRelativePath: false };
  if (!isMapping(config)) throw new Error(`${file} contains no cluster, so it is not a kubeconfig`);
  const folder = path.dirname(path.resolve(file));
  let hasRelativePath = false;
  const resolve = (holder: unknown, key: string): void => {
    if (!isMapping(holder)) return;
    const value = holder[key];
    if (typeof value !== "string" || value === "" || path.isAbsolute(value)) return;
    holder[key] = path.join(folder, value);
    hasRelativePath = true;
  };
  for (const { cluster } of listAt(config, "clusters")) resolve(cluster, "certificate-authority");
  for (const { user } of listAt(config, "users")) {
    for (const key of ["client-certificate", "client-key", "tokenFile"]) resolve(user, key);
    const exec = isMapping(user) ? user["exec"] : undefined;
    // A command without a path separator is found in PATH.
    if (isMapping(exec) && String(exec["command"]).includes(path.sep)) resolve(exec, "command");
  }
  return { config, hasRelativePath };
}

function merged(parts: readonly Mapping[]): Mapping {
  const firstOfEachName = (key: string, member: string): Mapping[] => {
    const entriesWithMember = parts
      .flatMap((part) => listAt(part, key))
      .filter((entry) => isMapping(entry[member]));
    return entriesWithMember.filter(
      ({ name }, index) => entriesWithMember.findIndex((entry) => entry["name"] === name) === index,
    );
  };
  const entries = Object.entries(lists).map(
    ([key, member]) => [key, firstOfEachName(key, member)] as const,
  );
  return {
    apiVersion: "v1",
    kind: "Config",
    ...Object.fromEntries(entries),
    "current-context": parts.map((part) => part["current-context"]).find(Boolean) ?? "",
  };
}
