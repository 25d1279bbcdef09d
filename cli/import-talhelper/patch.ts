import { type Document, isMap, isScalar, isSeq } from "yaml";
import { talosDocuments } from "../../components/recipe/machine/talos-schema/yaml";
import type { Note } from "./note";

/** A patch without what the recipe says by itself. */
export interface CarriedPatch {
  /** What is left of it as YAML; undefined when nothing is, or when it cannot be carried. */
  text?: string;
  /** Whether it loads NVIDIA's modules or brings their extensions. */
  speaksOfNvidia: boolean;
  /** Labels and taints of the node that it sets. */
  labels: Record<string, string>;
  taints: Record<string, string>;
  notes: Note[];
}

/**
 * Takes out of a patch what follows from the stack: NVIDIA's kernel modules, the sysctl of its container toolkit, the
 * installer. Labels and taints become the machine's, since they go through the Kubernetes API.
 *
 * @param field where the patch stands, for what has to be said of it
 */
export function carryPatch(text: string, field: string): CarriedPatch {
  const carried: CarriedPatch = { speaksOfNvidia: text.includes("nvidia"), labels: {}, taints: {}, notes: [] };
  const leftOut = (problem: string, remedy: string): CarriedPatch => ({
    ...carried,
    notes: [{ field, problem, why: "it is not in the stack; the machine keeps what it has of it", remedy }],
  });
  const unfilled = unfilledIn(text);
  if (unfilled !== undefined) return leftOut(unfilled.problem, unfilled.remedy);
  const documents = talosDocuments(text);
  if (documents.some(({ errors }) => errors.length > 0)) return leftOut("is no YAML", "mend it");
  if (documents.some(({ contents }) => isSeq(contents))) {
    return leftOut("is a list of operations (JSON 6902)", "write it as a piece of configuration (strategic merge)");
  }
  if (documents.some(({ contents }) => isMap(contents) && isMap(contents.get("sops")))) {
    return leftOut("is encrypted by SOPS", "write what it says, unless it is secret: then leave it to talhelper");
  }
  for (const document of documents) takeOut(document, carried, field);
  const left = documents.filter(({ contents }) => isMap(contents) && contents.items.length > 0);
  return left.length === 0 ? carried : { ...carried, text: left.map(String).join("---\n") };
}

/**
 * What talhelper would fill in a text: variables, and since v3.0.39 Go templates (talhelper, pkg/substitute/envsubst.go,
 * pkg/templating/template.go). Undefined where there is nothing.
 */
export function unfilledIn(text: string): Pick<Note, "problem" | "remedy"> | undefined {
  if (/\$\{[^}]+\}/.test(text))
    return {
      problem: "holds a variable of talhelper's",
      remedy: "write its value, unless it is secret: then leave it to talhelper",
    };
  if (text.includes("{{"))
    return { problem: "holds a template of talhelper's", remedy: "write what `talhelper genconfig` makes of it" };
  return undefined;
}

/** A taint as a stack says it: to Talos, a value without a colon is the effect (talos v1.12.6, controllers/k8s/node_taint_spec.go). */
export const taintText = (text: string): string => (text.includes(":") ? text : `:${text}`);

function takeOut(document: Document, carried: CarriedPatch, field: string): void {
  const tell = (problem: string, remedy: string): void => {
    carried.notes.push({ field, problem, why: "it is not in the stack; the machine keeps what it has of it", remedy });
  };
  if (!isMap(document.contents) || document.has("kind")) return;
  Object.assign(carried.labels, take(document, ["machine", "nodeLabels"]));
  Object.assign(carried.taints, take(document, ["machine", "nodeTaints"]));
  const modules = document.getIn(["machine", "kernel", "modules"]);
  if (isSeq(modules)) {
    const withParameters = modules.items.filter(
      (item) => isMap(item) && /^nvidia(_|$)/.test(String(item.get("name"))) && item.has("parameters"),
    );
    if (withParameters.length > 0)
      tell("gives NVIDIA's modules parameters", "write the module with its parameters into a patch of the stack");
    modules.items = modules.items.filter((item) => !(isMap(item) && /^nvidia(_|$)/.test(String(item.get("name")))));
    if (modules.items.length === 0) remove(document, ["machine", "kernel", "modules"]);
  }
  remove(document, ["machine", "sysctls", "net.core.bpf_jit_harden"]);
  if (document.hasIn(["machine", "install", "extensions"]))
    tell("has machine.install.extensions", "write those that are official under `extensions` of the machine");
  remove(document, ["machine", "install", "image"]);
  remove(document, ["machine", "install", "extensions"]);
}

function take(document: Document, path: string[]): Record<string, string> {
  const node = document.getIn(path);
  if (!isMap(node)) return {};
  remove(document, path);
  const text = (value: unknown): string => (isScalar(value) && value.value === null ? "" : String(value));
  return Object.fromEntries(node.items.map(({ key, value }) => [String(key), text(value)]));
}

/** Deletes a value, and the mappings that are empty without it. */
function remove(document: Document, path: string[]): void {
  if (!document.hasIn(path)) return;
  document.deleteIn(path);
  const above = path.slice(0, -1);
  const parent = above.length > 0 ? document.getIn(above) : undefined;
  if (isMap(parent) && parent.items.length === 0) remove(document, above);
}
