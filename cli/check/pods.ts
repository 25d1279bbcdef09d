import type { GpuPodSpec } from "../../components/recipe/index";
import { asText, isMapping, mappingAt, valueAt } from "../../components/recipe/mapping";

const podsAt: Record<string, string[]> = {
  Pod: [],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ...Object.fromEntries(
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"].map((kind) => [kind, ["spec", "template"]]),
  ),
};

type Path = (string | number)[];

/** Objects of a document: itself, or the items of a list, as `kubectl get -o yaml` prints one. */
export function objectsIn(value: unknown): { path: Path; object: Record<string, unknown> }[] {
  if (!isMapping(value)) return [];
  const { kind, items } = value;
  if (!/List$/.test(String(kind)) || !Array.isArray(items)) return [{ path: [], object: value }];
  return itemsAt(value, ["items"]).map(({ path, item }) => ({ path, object: item }));
}

/** The containers of an object that ask for a GPU: of a pod, of what makes pods, and of a chart with bjw-s' common library. */
export function containersOf(object: Record<string, unknown>): { path: Path; pod: GpuPodSpec }[] {
  const at = podsAt[String(object["kind"])];
  const pods = at === undefined ? controllersOf(object) : [[...at, "spec"]];
  const lists = pods.flatMap((pod) => ["initContainers", "containers"].map((list) => [...pod, list]));
  return lists
    .flatMap((list) => itemsAt(object, list))
    .flatMap(({ path, item }) => {
      const asked = Object.keys(mappingAt(item, "resources", "limits"));
      if (!asked.some((key) => key.startsWith("nvidia.com/"))) return [];
      return [{ path, pod: { image: imageOf(item["image"]) || "busybox", gpus: 1, env: envOf(item["env"]) } }];
    });
}

/** `controllers.<name>` of a HelmRelease's values (bjw-s-labs/helm-charts, charts/library/common/values.yaml). */
function controllersOf(object: Record<string, unknown>): string[][] {
  const at = ["spec", "values", "controllers"];
  return object["kind"] === "HelmRelease" ? Object.keys(mappingAt(object, ...at)).map((name) => [...at, name]) : [];
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
function itemsAt(value: unknown, at: string[]): { path: Path; item: Record<string, unknown> }[] {
  const there = valueAt(value, ...at);
  const keyed = Array.isArray(there) ? [...there.entries()] : Object.entries(mappingAt(there));
  return keyed.flatMap(([key, item]) => (isMapping(item) ? [{ path: [...at, key], item }] : []));
}
