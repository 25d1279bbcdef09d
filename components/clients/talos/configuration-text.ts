import { createHash } from "node:crypto";
import { valueAt } from "../../recipe/mapping";
import { rememberingTexts } from "../../recipe/memory";
import { boundedValues } from "../../recipe/rules/yaml";
import { CallError } from "../failure";
import type { Configurations } from "../machine";

/**
 * Parses a text once and keeps the result, because a wait reads several values of the same two configurations at every
 * check.
 */
const read = rememberingTexts(boundedValues);

/**
 * Contents of the documents of a machine's configuration, without empty documents. The caller must not change the
 * result, because all callers with the same text share it. An unreadable configuration must not count as empty, because
 * it would then equal every other unreadable configuration.
 *
 * @throws CallError if the text cannot be read. The error quotes nothing from the text, which contains keys.
 */
export function valuesOf(text: string): unknown[] {
  try {
    return read(text);
  } catch (error) {
    throw new CallError(
      "refused",
      `the machine's configuration cannot be read: ${(error as Error).message}`,
    );
  }
}

/** Documents as text with sorted keys. Texts that differ only in comments, order of keys or quotes become equal. */
function canonical(values: unknown[]): string {
  return JSON.stringify(values, (_key, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/**
 * Hash of a configuration's content. The hash may be shown: the configuration contains random keys, so no reader of the
 * hash can guess the configuration.
 */
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

/** Whether a configuration sets both `extraKernelArgs` and `grubUseUKICmdline`, which Talos' installer refuses. */
export const hasArgsConflict = (text: string): boolean =>
  installArgs(text).length > 0 &&
  valuesOf(text).some(
    (document) => valueAt(document, "machine", "install", "grubUseUKICmdline") === true,
  );

/** Items of `machine.files` in a configuration. Several items may write the same file. */
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
export const kubeletRelease = (text: string): string | undefined =>
  imageRelease(kubernetesImages(text).kubelet ?? "");

/** Release in an image's tag, e.g. `v1.35.0`; undefined if the tag is not a release. */
export const imageRelease = (image: string): string | undefined =>
  /:(v?\d+\.\d+\.\d+[^:@/]*)(?:@[^@]*)?$/.exec(image)?.[1];

/**
 * Components of Kubernetes with their fields in `machine` or `cluster`, and with the documents that replace these
 * fields from Talos 1.14 on (talos v1.14.1, pkg/machinery/config/types/k8s).
 */
const kubernetesParts = {
  "kube-apiserver": { kind: "KubeAPIServerConfig", path: ["cluster", "apiServer"] },
  "kube-controller-manager": {
    kind: "KubeControllerManagerConfig",
    path: ["cluster", "controllerManager"],
  },
  "kube-scheduler": { kind: "KubeSchedulerConfig", path: ["cluster", "scheduler"] },
  kubelet: { kind: "KubeletConfig", path: ["machine", "kubelet"] },
} as const;

/**
 * Whether a document turns a component off: the component's own document by `enabled`, or `machine.controlPlane` by
 * `disabled` (talos v1.13.0 pkg/machinery/config/types/v1alpha1/v1alpha1_types.go, MachineControlPlaneConfig).
 */
const turnsOff = (document: unknown, { kind, path }: { kind: string; path: readonly string[] }) =>
  (valueAt(document, "kind") === kind && valueAt(document, "enabled") === false) ||
  valueAt(document, "machine", "controlPlane", path.at(-1)!, "disabled") === true;

/** A component of Kubernetes whose image a machine's configuration names. */
export type KubernetesPart = keyof typeof kubernetesParts;

/** Components of Kubernetes that a control plane runs as static pods. */
export const controlPlaneParts = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
] as const satisfies KubernetesPart[];

/**
 * Images of the components of Kubernetes that a configuration names, without components that the configuration turns
 * off.
 */
export function kubernetesImages(text: string): Partial<Record<KubernetesPart, string>> {
  const documents = valuesOf(text);
  return Object.fromEntries(
    Object.entries(kubernetesParts).flatMap(([part, place]) => {
      const { kind, path } = place;
      const images = documents.map((document) =>
        valueAt(document, ...(valueAt(document, "kind") === kind ? [] : path), "image"),
      );
      const image = images.find((candidate) => typeof candidate === "string");
      const isOff = documents.some((document) => turnsOff(document, place));
      return image === undefined || isOff ? [] : [[part, image]];
    }),
  );
}

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

/** Whether a document is an UnattendedInstallConfig, which replaces `machine.install` from Talos 1.14 on. */
export const isInstallation = (document: unknown): boolean =>
  valueAt(document, "kind") === "UnattendedInstallConfig";
