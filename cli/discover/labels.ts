import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { MachineSpec } from "../../components/recipe/index";
import { filled } from "../../components/recipe/mapping";
import { readTaint } from "../../components/recipe/machine/taints";
import type { SeenMachine } from "./seen";

type Tell = (text: string) => void;

/** Labels and taints that the owner of a machine set, in the form of a stack. */
export const userLabelsAndTaints = (
  { labels, labelManagers, taints }: SeenMachine,
  note: Tell,
): Pick<MachineSpec, "labels" | "taints"> =>
  filled({
    labels: userLabels(labels, labelManagers ?? {}, note),
    taints: userTaints(taints, note),
  });

/** Field managers of each label, from `metadata.managedFields` of the node. */
export function labelManagers(entries: readonly V1ManagedFieldsEntry[]): Record<string, string[]> {
  const managers: Record<string, string[]> = {};
  for (const { manager, fieldsV1 } of entries) {
    const { "f:metadata": metadata } = (fieldsV1 ?? {}) as {
      "f:metadata"?: { "f:labels"?: Record<string, unknown> };
    };
    for (const field of Object.keys(metadata?.["f:labels"] ?? {}))
      if (field.startsWith("f:") && manager) (managers[field.slice(2)] ??= []).push(manager);
  }
  return managers;
}

/** Labels of Kubernetes, Talos, NVIDIA, clouds, upgrade controllers and this package. */
const ofTheSystem =
  /^([^/]*\.)?(kubernetes\.io|k8s\.io|talos\.dev|nvidia\.com|sidero\.dev|k3s\.io|cattle\.io)\/|^talos-gpu\/|^beta\./;

/**
 * Field managers of manual changes and of stacks. A label of any other manager is left out, because a controller or
 * Talos sets this label again.
 */
const byHand = /^(kubectl|pulumi|talos-gpu)/;

function userLabels(
  labels: Record<string, string>,
  managers: Record<string, string[]>,
  note: Tell,
): Record<string, string> {
  const candidates = Object.entries(labels).filter(([key]) => !ofTheSystem.test(key));
  const isKept = ([key]: [string, string]): boolean =>
    managers[key]?.some((name) => byHand.test(name)) ?? true;
  for (const [key, value] of candidates.filter((label) => !isKept(label)))
    note(
      `${managers[key]!.join(" and ")} manages the label ${key}=${value}: write it under labels only if the stack should set it from now on`,
    );
  return Object.fromEntries(candidates.filter(isKept));
}

/** Taints that Kubernetes does not set itself. A stack can set one taint per key. */
function userTaints(taints: readonly string[], note: Tell): Record<string, string> {
  const userTaintTexts: Record<string, string> = {};
  for (const taint of taints.filter((text) => !/^[^=:]*kubernetes\.io\//.test(text))) {
    const { key, value = "", effect } = readTaint(taint);
    if (key in userTaintTexts)
      note(
        `the node also has the taint ${taint}. A stack can set only one taint per key, so the stack's pods do not tolerate this second taint: remove it, or give it another key`,
      );
    else userTaintTexts[key] = `${value}:${effect}`;
  }
  return userTaintTexts;
}
