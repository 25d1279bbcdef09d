import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";
import type { Configurations } from "../machine";

/** A configuration's documents with sorted keys, so that comments, order and quoting do not count. */
function canonical(text: string): string {
  const documents = parseAllDocuments(text);
  const values = (Array.isArray(documents) ? documents : []).map((document) => document.toJS() as unknown);
  return JSON.stringify(
    values.filter((value) => value !== null && value !== undefined),
    (_key, value: unknown) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
}

/** Hash of what a configuration says. Safe to show: a configuration holds keys, so it cannot be guessed from its hash. */
export function configurationHash(text: string): string {
  return createHash("sha256").update(canonical(text)).digest("hex");
}

/** Whether two configurations say the same. */
export function sameConfiguration(a: string, b: string): boolean {
  return a === b || canonical(a) === canonical(b);
}

/** Whether the next boot brings another configuration than the one in effect. */
export function isStaged({ active, persistent }: Configurations): boolean {
  return active !== undefined && persistent !== undefined && !sameConfiguration(active, persistent);
}

/** Kernel arguments that a configuration gives the boot loader (`machine.install.extraKernelArgs`). */
export function installArgs(text: string): string[] {
  const documents = parseAllDocuments(text);
  const values = (Array.isArray(documents) ? documents : []).map((document) => document.toJS() as unknown);
  return values.flatMap((value) => {
    const { machine } = (value ?? {}) as { machine?: { install?: { extraKernelArgs?: unknown } } | null };
    const args = machine?.install?.extraKernelArgs;
    return Array.isArray(args) ? args.map(String) : [];
  });
}
