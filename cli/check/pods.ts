import { capabilitiesOf } from "../../components/recipe/facts/talos-release";
import type { Finding, GpuPodSpec } from "../../components/recipe/index";
import { isFilledIn } from "../../components/recipe/external/filled-in";
import {
  anyText,
  asText,
  flat,
  isMapping,
  listOf,
  mappingAt,
  valueAt,
} from "../../components/recipe/mapping";

type Path = (string | number)[];

/** A part of a Kubernetes object that concerns GPUs. */
export interface GpuPart {
  path: Path;
  /** A container that requests a GPU, in the form of a stack's workload. */
  pod?: GpuPodSpec;
  /** Returns the findings for a Talos release about mistakes that a stack's workload cannot have. */
  findings: (talosVersion: string) => Omit<Finding, "field">[];
}

/** Parts of a document that concern GPUs: containers at any depth that request GPUs, and RuntimeClasses of NVIDIA's. */
export function gpuPartsOf(value: unknown, path: Path = []): GpuPart[] {
  const { kind, items } = mappingAt(value);
  if (/List$/.test(asText(kind)))
    return listOf(items).flatMap((item, index) => gpuPartsOf(item, [...path, "items", index]));
  return [
    ...(kind === "RuntimeClass" ? gpuPartsOfRuntimeClass(mappingAt(value), path) : []),
    ...containersIn(value, path),
  ];
}

/**
 * Containers at any depth of a value. They are items of a list, or members of a mapping by name, as in bjw-s' common
 * library (charts/library/common/values.yaml).
 */
function containersIn(value: unknown, path: Path): GpuPart[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => containersIn(item, [...path, index]));
  return Object.entries(mappingAt(value)).flatMap(([key, member]) =>
    /^(?:initC|c)ontainers$/.test(key) && typeof member === "object" && member !== null
      ? Object.entries(member).flatMap(([name, item]) =>
          gpuPartsOfContainer(item, [...path, key, Array.isArray(member) ? Number(name) : name]),
        )
      : containersIn(member, [...path, key]),
  );
}

function gpuPartsOfContainer(container: unknown, path: Path): GpuPart[] {
  const [limits, requests] = ["limits", "requests"].map((key) =>
    mappingAt(container, "resources", key),
  );
  const gpuResources = Object.keys({ ...limits, ...requests }).filter((key) =>
    key.startsWith("nvidia.com/"),
  );
  if (gpuResources.length === 0) return [];
  const findings = gpuResources.flatMap((key) => findingsOf(key, requests![key], limits![key]));
  const statedImage = imageOf(valueAt(container, "image"));
  const image = statedImage === "" || isFilledIn(statedImage) ? "busybox" : statedImage;
  const pod = { image, gpus: 1, env: envOf(valueAt(container, "env")) };
  return [{ path, pod, findings: () => findings }];
}

/**
 * Mistakes for which Kubernetes refuses a request for cards (pkg/apis/core/validation/validation.go,
 * validateResourceRequirements).
 */
function findingsOf(resource: string, request: unknown, limit: unknown): Omit<Finding, "field">[] {
  const [requestText, limitText] = [asText(request), asText(limit)];
  const fractionalAmount = [requestText, limitText].find((text) => /^\d*\.\d*[1-9]$/.test(text));
  const differ =
    request !== undefined &&
    (limit === undefined ||
      (isNumber(requestText) && isNumber(limitText) && requestText !== limitText));
  return flat([
    fractionalAmount !== undefined
      ? {
          check: "gpu-limit",
          problem: `resources requests ${fractionalAmount} of ${resource}`,
          why: "Kubernetes refuses a pod that requests a part of an extended resource",
          remedy: "write a whole number. To share a card, use time slicing or MIG",
        }
      : undefined,
    differ
      ? {
          check: "gpu-limit",
          problem: `resources.requests and resources.limits differ in the number of ${resource}`,
          why: "for extended resources, requests must equal limits: Kubernetes refuses the pod",
          remedy: "write the number only under limits, and Kubernetes sets the same request",
        }
      : undefined,
  ]);
}

const isNumber = (text: string): boolean => /^\d+$/.test(text);

/**
 * Finding about a RuntimeClass whose name or handler mentions NVIDIA. NVIDIA's toolkit extension gives containerd the
 * handler `nvidia`. On a Talos release without this extension, containerd has no handler of NVIDIA's.
 */
function gpuPartsOfRuntimeClass(
  { handler, metadata }: Record<string, unknown>,
  path: Path,
): GpuPart[] {
  if (!/nvidia/.test(`${asText(valueAt(metadata, "name"))} ${asText(handler)}`)) return [];
  const findings: GpuPart["findings"] = (talosVersion) => {
    const extensionProvidesHandler = capabilitiesOf(talosVersion).toolkit === "extension";
    if (extensionProvidesHandler && handler === "nvidia") return [];
    return [
      {
        check: "runtime-class",
        problem: `handler is ${asText(handler) || "not set"}, but on this Talos release containerd ${extensionProvidesHandler ? "calls NVIDIA's handler nvidia" : "has no NVIDIA handler"}`,
        why: "pods with this RuntimeClass do not start, or see no card",
        remedy: extensionProvidesHandler
          ? "write `handler: nvidia`"
          : "delete the RuntimeClass, and runtimeClassName from the pods",
      },
    ];
  };
  return [{ path, findings }];
}

/** An image from a text, or from a mapping with `repository` and `tag`. */
function imageOf(image: unknown): string {
  const [repository, tag] = ["repository", "tag"].map((key) => asText(valueAt(image, key)));
  return asText(image) || (repository && tag ? `${repository}:${tag}` : (repository ?? ""));
}

/**
 * Environment variables from a list of names and values, or from a mapping. A member of the mapping is the variable's
 * value, or has this value under `value`.
 */
function envOf(env: unknown): Record<string, string> {
  const pairs = Array.isArray(env)
    ? env.filter(isMapping).map(({ name, value }): [string, unknown] => [anyText(name), value])
    : Object.entries(mappingAt(env)).map(([name, value]): [string, unknown] => [
        name,
        isMapping(value) ? value["value"] : value,
      ]);
  return Object.fromEntries(pairs.map(([name, value]) => [name, asText(value)]));
}
