import { createHash } from "node:crypto";
import { valueAt } from "../../recipe/mapping";
import { boundedValues } from "../../recipe/rules/yaml";
import { CallError } from "../failure";
import type { Configurations } from "../machine";

/**
 * Content of the documents of a machine's configuration, without empty ones. An unreadable configuration throws: as an
 * empty one it would equal every other unreadable one.
 *
 * @throws CallError with only the reason, because the text contains keys.
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

/** Documents as text with sorted keys, without the differences of comments, order and quotes. */
function canonical(values: unknown[]): string {
  return JSON.stringify(values, (_key, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Hash of a configuration's content. Safe to show: the configuration contains keys, so its hash does not reveal it. */
export function configurationHash(text: string): string {
  return createHash("sha256")
    .update(canonical(valuesOf(text)))
    .digest("hex");
}

/** Whether two configurations have the same content. */
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

/** Whether a configuration runs workloads in a sandbox (Talos ≥ 1.14, SecurityProfileConfig). */
export const isolatesWorkload = (text: string): boolean =>
  valuesOf(text).some(
    (document) =>
      valueAt(document, "kind") === "SecurityProfileConfig" &&
      valueAt(document, "workloadIsolation") === true,
  );

/**
 * Kubernetes release of the kubelet, from the tag of its image in a configuration; undefined without an image or tag.
 */
export function kubeletRelease(text: string): string | undefined {
  const images = valuesOf(text).map((document) =>
    valueAt(document, ...(isKubelet(document) ? [] : ["machine", "kubelet"]), "image"),
  );
  const image = images.find((one): one is string => typeof one === "string") ?? "";
  return /:(v?\d+\.\d+\.\d+[^:/@]*)(?:@|$)/.exec(image)?.[1];
}

/** Whether a document is the one that replaces `machine.kubelet` from Talos 1.14 on. */
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

/** Whether a document is the one that replaces `machine.install` from Talos 1.14 on. */
export const isInstallation = (document: unknown): boolean =>
  valueAt(document, "kind") === "UnattendedInstallConfig";
