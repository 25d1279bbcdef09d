import { isMapping, valueAt } from "../../components/recipe/mapping";
import { customizationPath, type KernelModule } from "../../components/recipe/index";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";
import type { Problem as Note } from "../../components/clients/failure";
import { isEncrypted } from "./substitute";

/** NVIDIA's part of a patch or of a machine's configuration. All else stays where it is. */
export interface NvidiaPart {
  /** Whether it loads NVIDIA's modules or brings their extensions. */
  speaksOfNvidia: boolean;
  /** NVIDIA's modules that have parameters. */
  modules: KernelModule[];
  /** Labels and taints of the node, which go through the Kubernetes API. */
  labels: Record<string, string>;
  taints: Record<string, string>;
  /** TOML of containerd, where it speaks of NVIDIA's runtime, of the default one, or of the folders of CDI. */
  containerd?: string;
  notes: Note[];
}

/**
 * Reads NVIDIA's part out of a patch or a configuration.
 *
 * @param field where it stands, for what has to be said of it
 */
export function nvidiaPart(text: string, field: string): NvidiaPart {
  const part: NvidiaPart = { speaksOfNvidia: false, modules: [], labels: {}, taints: {}, notes: [] };
  const documents = talosDocuments(text);
  const values = documents.map(valueOfDocument);
  const unreadable = documents.some(({ errors }) => errors.length > 0) ? "is no YAML" : undefined;
  const operations = values.some(Array.isArray) ? "is a list of operations (JSON 6902)" : undefined;
  const problem = unreadable ?? operations;
  if (problem !== undefined && /nvidia/i.test(withoutComments(text)))
    part.notes.push({
      ...{ field, problem, why: "it speaks of NVIDIA, and nobody can tell what comes of it" },
      remedy: "write what it says of NVIDIA into the stack",
    });
  for (const value of values.filter(isMapping)) take(value, part, field);
  return part;
}

const withoutComments = (text: string): string => text.replaceAll(/(^|\s)#[^\n]*/g, "");

function take(value: Record<string, unknown>, part: NvidiaPart, field: string): void {
  const kind = value["kind"];
  const machine = isMapping(value["machine"]) ? value["machine"] : {};
  if (kind === undefined) {
    for (const item of listAt(machine, "kernel", "modules")) takeModule(item, part);
    takeTexts(machine["nodeLabels"], part.labels);
    takeTexts(machine["nodeTaints"], part.taints);
    for (const file of listAt(machine, "files")) if (file["path"] === customizationPath) takeContainerd(file, part);
    const images = listAt(machine, "install", "extensions").map(({ image }) => String(image));
    if (images.some((image) => image.includes("nvidia"))) part.speaksOfNvidia = true;
    if (images.length > 0)
      part.notes.push({
        field,
        problem: "has machine.install.extensions",
        why: "the stack's image has none of them, and Talos ≥ 1.11 does not read them",
        remedy: "write those that are official, and not NVIDIA's, under `extensions` of the machine",
      });
  } else if (kind === "KernelModuleConfig") takeModule(value, part);
  else if (kind === "KubeNodeConfig") {
    takeTexts(value["labels"], part.labels);
    takeTexts(value["taints"], part.taints);
  }
}

function takeModule(item: Record<string, unknown>, part: NvidiaPart): void {
  const name = String(item["name"]).replaceAll("-", "_");
  if (!/^nvidia(_|$)/.test(name)) return;
  part.speaksOfNvidia = true;
  const parameters = Array.isArray(item["parameters"]) ? item["parameters"].map(String) : [];
  if (parameters.length > 0) part.modules.push({ name, parameters });
}

function takeContainerd(file: Record<string, unknown>, part: NvidiaPart): void {
  const content = plainText(file["content"]);
  if (/nvidia|default_runtime_name|cdi_spec_dirs/.test(withoutComments(content))) part.containerd = content;
}

function takeTexts(value: unknown, into: Record<string, string>): void {
  if (isMapping(value)) for (const [key, text] of Object.entries(value)) into[key] = plainText(text);
}

/** A scalar as text; nothing where something else is. */
export const plainText = (value: unknown): string =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";

/** The documents of a text that are mappings, as Talos reads them. */
export const mappingsIn = (text: string): Record<string, unknown>[] =>
  talosDocuments(text).map(valueOfDocument).filter(isMapping);

/** The mappings of a list at a path of keys. */
export function listAt(value: unknown, ...path: string[]): Record<string, unknown>[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isMapping) : [];
}

/**
 * What talhelper would fill in a text: variables without a value here, and since v3.0.39 Go templates (talhelper,
 * pkg/substitute/envsubst.go, pkg/templating/template.go). Undefined where there is nothing.
 */
export function unfilledIn(text: string): Pick<Note, "problem" | "remedy"> | undefined {
  if (/\$\{[^}]+\}/.test(text))
    return {
      problem: "holds a variable of talhelper's",
      remedy: "write its value, or give the file of variables (--env-file)",
    };
  if (isEncrypted(text))
    return {
      problem: "is encrypted by SOPS",
      remedy: "write what it says, unless it is secret: then leave it to talhelper",
    };
  if (text.includes("{{"))
    return { problem: "holds a template of talhelper's", remedy: "write what `talhelper genconfig` makes of it" };
  return undefined;
}

/** A taint as a stack says it: to Talos, a value without a colon is the effect (talos v1.12.6, controllers/k8s/node_taint_spec.go). */
export const taintText = (text: string): string => (text.includes(":") ? text : `:${text}`);
