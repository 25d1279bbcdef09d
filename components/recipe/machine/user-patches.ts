import type { Document } from "yaml";
import { remembering } from "../memory";
import { talosDocuments, valueOfDocument } from "../rules/yaml";
import type { ClusterSpec, MachineSpec } from "../spec/index";
import { parseTaint, taintsOf, taintText } from "./taints";
import type { KernelModule, NodeTaint } from "../types";
import { asText, isMapping, listAt, mappingAt, valueAt } from "../mapping";

/** A user's patch, with the facts that the recipe and the checks need. */
export interface UserPatch {
  /** Path of the patch in the stack, e.g. `machines.gpu-1.patches[0]`. */
  field: string;
  text: string;
  /** The document with `machine` and `cluster`; empty if the patch lacks it. */
  config: Record<string, unknown>;
  /** All documents of the patch, as Talos reads them. */
  documents: readonly Document[];
  /** Kinds of the other documents, e.g. `KernelModuleConfig`. */
  kinds: string[];
  /** Paths of the files that the patch writes. */
  files: { op: string; path: string; content: string }[];
  /** Kernel modules under machine.kernel.modules, and those of KernelModuleConfig documents. */
  modules: Required<KernelModule>[];
  /** Values under machine.sysctls, by key. */
  sysctls: Record<string, string>;
  /** Labels that Talos sets on the node: from machine.nodeLabels and from a KubeNodeConfig. */
  nodeLabels: [key: string, value: string][];
  /** Labels that the kubelet sets when it registers the node (`--node-labels`). */
  kubeletLabels: [key: string, value: string][];
  /**
   * Taints that Talos sets on the node, as `value:Effect` by key: from machine.nodeTaints and from a KubeNodeConfig.
   */
  nodeTaints: [key: string, text: string][];
  /**
   * Taints that Talos sets on the node, or that the kubelet sets when it registers the node. The list lacks taints that
   * cannot be read.
   */
  taints: NodeTaint[];
  /** Host names that the patch sets. */
  hostnames: string[];
  /**
   * Reason why the text is not a strategic-merge patch: `yaml` (not YAML), `json6902` (a list of operations), `shape`
   * (not a mapping).
   */
  flaw?: { kind: "yaml" | "json6902" | "shape"; detail: string };
}

/**
 * Reads a user's patch. Never fails: if the text cannot be read as a patch, `flaw` says why, and the other fields are
 * empty.
 */
export const readPatch = (text: string, field: string): UserPatch => ({ ...read(text), field });

/**
 * Taints that a node may have because of the stack. This package sets and removes the taints of the field `taints`.
 * Talos or the kubelet sets the taints of patches. The package's pods on GPU machines tolerate all of them.
 */
export function taintsWithPatches(
  { patches = [] }: Pick<ClusterSpec, "patches">,
  machine: MachineSpec,
): NodeTaint[] {
  const texts = [...patches, ...(machine.patches ?? [])];
  return [...taintsOf(machine), ...texts.flatMap((text) => readPatch(text, "").taints)];
}

const read = remembering((text: string): Omit<UserPatch, "field"> => {
  const emptyPatch = {
    text,
    documents: [],
    config: {},
    kinds: [],
    files: [],
    modules: [],
    sysctls: {},
    nodeLabels: [],
    kubeletLabels: [],
    nodeTaints: [],
    taints: [],
    hostnames: [],
  };
  const documents = talosDocuments(text);
  const error = documents.flatMap((document) => document.errors)[0];
  if (error)
    return {
      ...emptyPatch,
      flaw: { kind: "yaml", detail: (error.message.split("\n")[0] ?? "").replace(/:$/, "") },
    };
  const values = documents
    .map(valueOfDocument)
    .filter((value) => value !== null && value !== undefined);
  if (values.some((value) => Array.isArray(value)))
    return { ...emptyPatch, flaw: { kind: "json6902", detail: "a list of operations" } };
  const otherValue = values.find((value) => !isMapping(value));
  if (otherValue !== undefined)
    return { ...emptyPatch, flaw: { kind: "shape", detail: `a ${typeof otherValue}` } };
  const maps = values.filter(isMapping);
  const config = maps.find((value) => value["kind"] === undefined) ?? {};
  const documentsOfKind = (kind: string): Record<string, unknown>[] =>
    maps.filter((value) => value["kind"] === kind);
  const kubelets = [mappingAt(config, "machine", "kubelet"), ...documentsOfKind("KubeletConfig")];
  /** Labels or taints that Talos sets on the node, by key: from `machine`, or from a separate document. */
  const nodeEntries = (machineField: string, documentField: string): [string, string][] =>
    [
      mappingAt(config, "machine", machineField),
      ...documentsOfKind("KubeNodeConfig").map((node) => mappingAt(node, documentField)),
    ]
      .flatMap((texts) => Object.entries(texts))
      .map(([key, text]) => [key, asText(text)]);
  const nodeTaints = nodeEntries("nodeTaints", "taints").map(([key, text]): [string, string] => [
    key,
    taintText(text),
  ]);
  return {
    text,
    documents,
    config,
    kinds: maps.flatMap((value) => (typeof value["kind"] === "string" ? [value["kind"]] : [])),
    // An item with `$patch: delete` writes no file.
    files: listAt(config, "machine", "files")
      .filter((file) => file["$patch"] !== "delete")
      .map((file) => ({
        op: asText(file["op"]),
        path: asText(file["path"]),
        content: asText(file["content"]),
      })),
    modules: [
      ...listAt(config, "machine", "kernel", "modules"),
      ...documentsOfKind("KernelModuleConfig"),
    ].map((module) => ({
      name: asText(module["name"]),
      parameters: Array.isArray(module["parameters"]) ? module["parameters"].map(asText) : [],
    })),
    sysctls: Object.fromEntries(
      Object.entries(mappingAt(config, "machine", "sysctls")).map(([key, value]) => [
        key,
        asText(value),
      ]),
    ),
    nodeLabels: nodeEntries("nodeLabels", "labels"),
    kubeletLabels: kubelets.flatMap((kubelet) =>
      labelsOfArgument(mappingAt(kubelet, "extraArgs")["node-labels"]),
    ),
    nodeTaints,
    taints: [
      ...nodeTaints.map(([key, text]) => parseTaint(key, text)),
      ...kubelets.flatMap((kubelet) => [
        ...["extraConfig", "config"]
          .flatMap((key) => listAt(kubelet, key, "registerWithTaints"))
          .map(asTaint),
        ...textsOfArgument(mappingAt(kubelet, "extraArgs")["register-with-taints"]).map(
          taintOfArgument,
        ),
      ]),
    ].filter((taint) => taint !== undefined),
    hostnames: [
      valueAt(config, "machine", "network", "hostname"),
      ...documentsOfKind("HostnameConfig").map((document) => document["hostname"]),
    ]
      .map(asText)
      .filter((name) => name !== ""),
  };
});

/** Reads the labels in the kubelet's argument `--node-labels`: `a=b,c=d`, or a list of such texts. */
const labelsOfArgument = (argument: unknown): [string, string][] =>
  textsOfArgument(argument).map((pair) => {
    const [key = "", ...value] = pair.split("=");
    return [key, value.join("=")];
  });

/** The parts of an argument with several values, which are separated by commas or form a list. */
function textsOfArgument(argument: unknown): string[] {
  const texts = (Array.isArray(argument) ? argument : [argument])
    .map(asText)
    .filter((text) => text !== "");
  return texts.flatMap((text) => text.split(",")).map((text) => text.trim());
}

/** Reads a taint in the kubelet's argument `--register-with-taints`: `key=value:Effect` or `key:Effect`. */
function taintOfArgument(text: string): NodeTaint | undefined {
  const [, key = "", rest = ""] = /^([^=:]+)=?(.*)$/.exec(text) ?? [];
  return parseTaint(key, rest);
}

/** Reads a taint of `registerWithTaints` in the kubelet's configuration. */
const asTaint = ({ key, value, effect }: Record<string, unknown>): NodeTaint | undefined =>
  parseTaint(asText(key), `${asText(value)}:${asText(effect)}`);
