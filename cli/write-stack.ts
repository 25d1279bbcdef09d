import * as fs from "node:fs";
import * as path from "node:path";
import { type Document, isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";
import { boundedText } from "../components/lookups/bounded-file";
import { boundedDocuments, ofStacks } from "../components/recipe/rules/yaml-bounds";
import { credentialKeys } from "../components/stack/configuration";
import { selectedStack } from "./selected-stack";
import { projectAbove } from "./stack-folder";
import { placeOf, stackOption } from "./stack";
import { stackNameOf } from "../stacks/stack-file";
import { type ParsedArgs, valueOf } from "./verb";

/** Options of a verb that writes a stack file. */
export const writeOptions = {
  stack: {
    value: "NAME",
    help: "stack whose file, Pulumi.NAME.yaml, is written (default: the selected stack if it has no machines yet)",
  },
  out: { value: "FILE", help: "file to write the stack to; - means standard output" },
  force: {
    help: "overwrite the description of the cluster in the file, but keep the file's credentials and Pulumi's own entries",
  },
};

/**
 * The file to which a verb writes a stack: `--out`, else the file of `--stack`. Without both options it is the file of
 * the stack that Pulumi has selected, if this file has no machines yet.
 *
 * @returns a path, or `-` for standard output; undefined if there is no such file.
 */
export function placeToWrite(args: ParsedArgs): string | undefined {
  const [out, stack] = [valueOf(args, "out"), valueOf(args, "stack")];
  if (out !== undefined) return out;
  if (stack !== undefined) return /\.ya?ml$/.test(stack) ? stack : placeOf(stack);
  const selected = selectedStack(args.environment);
  const place = selected && placeOf(selected.name);
  return place !== undefined && contentsOf(place).isBeginning ? place : undefined;
}

/** Next step for a written stack file, in one line. */
export function nextSteps(file: string, environment: NodeJS.ProcessEnv): string {
  const stack = stackOption(file, environment);
  const plan = `Wrote ${file}. Next, see its effect: npx talos-gpu plan${stack}`;
  // Pulumi would not find this file by its name, or there is no project yet.
  if (stack.endsWith(file) || projectAbove(".") === undefined) return plan;
  const name = stackNameOf(file);
  return `${plan}; then ${stack === "" ? "pulumi preview" : `pulumi stack init ${name} && pulumi preview -s ${name}`}`;
}

/**
 * Writes a stack file. An existing file keeps all entries that do not describe the cluster: the salt of Pulumi's
 * secrets, credentials, keys of other projects.
 *
 * @param force whether to overwrite the cluster in the file. Undefined if the verb has no option `--force`.
 * @throws Error for the user if the file already describes a cluster, or cannot be written.
 */
export function writeStack(file: string, text: string, force?: boolean): void {
  const { isBeginning, keptParts: keptMembers } = contentsOf(file);
  if (!isBeginning && !force)
    throw new Error(
      `--out: ${file} already exists and was not overwritten; name another file${force === false ? ", or give --force" : ""}`,
    );
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, withKept(text, keptMembers));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      `--out: ${file} cannot be written (${code ?? message}), so nothing was changed; name another file`,
      {
        cause: error,
      },
    );
  }
}

interface Contents {
  /** Whether the file describes no cluster yet: it does not exist, or is a stack file without machines. */
  isBeginning: boolean;
  /** Entries of the file, and of its `config`, that do not describe the cluster. */
  keptParts: { members: Pair[]; config: Pair[] };
}

const noContents: Contents = { isBeginning: true, keptParts: { members: [], config: [] } };

function contentsOf(file: string): Contents {
  if (!fs.existsSync(file)) return noContents;
  let documents: readonly Document[];
  try {
    documents = boundedDocuments(boundedText(file), { merge: true }, ofStacks, true).documents;
  } catch {
    return { ...noContents, isBeginning: false };
  }
  const [document, ...otherDocuments] = documents as [Document, ...Document[]];
  if (document.contents === null && document.errors.length + otherDocuments.length === 0)
    return noContents; // comments alone
  const config: unknown = document.get("config", true);
  const configItems = isMap(config) ? config.items : [];
  const isOfCluster = ({ key }: Pair): boolean => {
    const name = isScalar(key) ? String(key.value) : "";
    return (
      (!name.includes(":") || name.startsWith("talos-gpu:")) &&
      !credentialKeys.includes(fieldOf(name))
    );
  };
  const fields = configItems.filter(isOfCluster).map(({ key }) => fieldOf(String(key)));
  const isStack =
    isMap(document.contents) &&
    document.errors.length + otherDocuments.length === 0 &&
    (isMap(config) || !isValue(config));
  return {
    isBeginning: isStack && !fields.includes("machines") && !fields.includes("pools"),
    keptParts: isMap(document.contents)
      ? {
          members: document.contents.items.filter(({ key }) => String(key) !== "config"),
          config: configItems.filter((pair) => !isOfCluster(pair)),
        }
      : noContents.keptParts,
  };
}

const fieldOf = (key: string): string => key.replace(/^talos-gpu:/, "");

/** Whether a node has a value: `config:` without a value counts as missing. */
const isValue = (node: unknown): boolean =>
  node !== undefined && !(isScalar(node) && node.value === null);

function withKept(text: string, { members, config }: Contents["keptParts"]): string {
  if (members.length + config.length === 0) return text;
  const document = parseDocument(text);
  for (const pair of config) (document.get("config", true) as YAMLMap).items.push(pair);
  for (const pair of members) (document.contents as unknown as YAMLMap).items.push(pair);
  return document.toString({ lineWidth: 0 });
}
