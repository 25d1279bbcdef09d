import type { GpuPodSpec } from "../../components/recipe/index";
import { asText, isMapping, mappingAt, valueAt } from "../../components/recipe/mapping";

/** Kinds that have pods, and where. */
const podsAt: Record<string, string[]> = {
  Pod: [],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ...Object.fromEntries(
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"].map((kind) => [kind, ["spec", "template"]]),
  ),
};

/** The containers of an object that ask for a GPU: of a pod, of what makes pods, and of a chart with bjw-s' common library. */
export function containersOf(object: Record<string, unknown>): GpuPodSpec[] {
  const at = podsAt[String(object["kind"])];
  const lists = at === undefined ? commonLibrary(object) : [valueAt(object, ...at, "spec", "containers")];
  return lists.flatMap(itemsOf).flatMap((container): GpuPodSpec[] => {
    const asked = Object.keys(mappingAt(container, "resources", "limits"));
    if (!asked.some((key) => key.startsWith("nvidia.com/"))) return [];
    return [{ image: imageOf(container["image"]) || "busybox", gpus: 1, env: envOf(container["env"]) }];
  });
}

/** `controllers.<name>.containers` of a HelmRelease's values (bjw-s-labs/helm-charts, charts/library/common/values.yaml). */
function commonLibrary(object: Record<string, unknown>): unknown[] {
  if (object["kind"] !== "HelmRelease") return [];
  const controllers = itemsOf(valueAt(object, "spec", "values", "controllers"));
  return controllers.map(({ containers }) => containers);
}

/** A text, or a repository with its tag. */
function imageOf(said: unknown): string {
  const [repository, tag] = ["repository", "tag"].map((key) => asText(valueAt(said, key)));
  return asText(said) || (repository && tag ? `${repository}:${tag}` : (repository ?? ""));
}

/** A list of names and values, or a mapping, whose values may stand under `value`. */
function envOf(said: unknown): Record<string, string> {
  const pairs = Array.isArray(said)
    ? said.filter(isMapping).map(({ name, value }): [string, unknown] => [String(name), value])
    : Object.entries(mappingAt(said)).map(([name, value]): [string, unknown] => [
        name,
        isMapping(value) ? value["value"] : value,
      ]);
  return Object.fromEntries(pairs.map(([name, value]) => [name, asText(value)]));
}

/** Mappings of a list, or under the keys of a mapping. */
const itemsOf = (value: unknown): Record<string, unknown>[] =>
  (Array.isArray(value) ? value : Object.values(mappingAt(value))).filter(isMapping);
