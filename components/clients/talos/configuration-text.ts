import { createHash } from "node:crypto";
import { valueAt } from "../../recipe/mapping";
import { boundedValues } from "../../recipe/rules/yaml";
import { CallError } from "../failure";
import type { Configurations } from "../machine";

/**
 * Content of the documents of a machine's configuration, without empty ones. Of a configuration that cannot be read
 * nothing is known, so that it is no empty one: two of them would say the same.
 *
 * @throws CallError with the reason alone. The text holds keys.
 */
export function valuesOf(text: string): unknown[] {
  try {
    return boundedValues(text);
  } catch (error) {
    throw new CallError(
      "refused",
      `the machine's configuration cannot be read: ${(error as Error).message}`,
    );
  }
}

/** Documents with sorted keys, so that comments, order and quoting do not count. */
function canonical(values: unknown[]): string {
  return JSON.stringify(values, (_key, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/**
 * Hash of what a configuration says. Safe to show: a configuration holds keys, so it cannot be guessed from its hash.
 */
export function configurationHash(text: string): string {
  return createHash("sha256")
    .update(canonical(valuesOf(text)))
    .digest("hex");
}

/** Whether two configurations say the same. */
export function sameConfiguration(a: string, b: string): boolean {
  return a === b || canonical(valuesOf(a)) === canonical(valuesOf(b));
}

/** Whether the next boot uses a configuration other than the one in effect. */
export const isStaged = ({ active, persistent }: Configurations): boolean =>
  active !== undefined && persistent !== undefined && !sameConfiguration(active, persistent);

/** Kernel arguments that a configuration gives the boot loader (`machine.install.extraKernelArgs`). */
export const installArgs = (text: string): string[] =>
  valuesOf(text)
    .flatMap((document) => valueAt(document, "machine", "install", "extraKernelArgs") ?? [])
    .map(String);

/** Files that a configuration writes, some more than once (`machine.files`). */
export function filesOf(text: string): { path: string; content: string }[] {
  const files = valuesOf(text).flatMap((document) => valueAt(document, "machine", "files") ?? []);
  const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
  return files.map((file) => ({
    path: textOf(valueAt(file, "path")),
    content: textOf(valueAt(file, "content")),
  }));
}

/** Whether a configuration keeps the workload in a sandbox of its own (Talos ≥ 1.14, SecurityProfileConfig). */
export const isolatesWorkload = (text: string): boolean =>
  valuesOf(text).some(
    (document) =>
      valueAt(document, "kind") === "SecurityProfileConfig" &&
      valueAt(document, "workloadIsolation") === true,
  );

/**
 * Kubernetes release of the kubelet that a configuration names, by its image's tag; undefined where it leaves that to
 * Talos, or names no tag.
 */
export function kubeletRelease(text: string): string | undefined {
  const images = valuesOf(text).map((document) =>
    valueAt(document, ...(isKubelet(document) ? [] : ["machine", "kubelet"]), "image"),
  );
  const image = images.find((one): one is string => typeof one === "string") ?? "";
  return /:(v?\d+\.\d+\.\d+[^:/@]*)(?:@|$)/.exec(image)?.[1];
}

/** The document that has the place of `machine.kubelet` from Talos 1.14 on. */
const isKubelet = (document: unknown): boolean => valueAt(document, "kind") === "KubeletConfig";

/** Installer image that a configuration names. */
export function installImage(text: string): string | undefined {
  const images = valuesOf(text).map((document) =>
    valueAt(
      document,
      ...(isInstallation(document) ? ["installer"] : ["machine", "install"]),
      "image",
    ),
  );
  return images.find((image) => typeof image === "string");
}

/** The document that has the place of `machine.install` from Talos 1.14 on. */
export const isInstallation = (document: unknown): boolean =>
  valueAt(document, "kind") === "UnattendedInstallConfig";
