import objects from "../facts/data/kubernetes-objects.json";
import type { TypeText } from "../facts/talos-schema";
import { isMapping } from "../mapping";
import type { Checks } from "./check";
import { type Flaw, objectFlaws } from "./object-shapes";

/** Types of the values that a chart passes to Kubernetes unchanged, by the last key of the value's path. */
const types: Record<string, TypeText> = objects.ofKeys;

/** Keys whose values are a program's configuration or whole objects of the user. The checks do not look into them. */
const notOurs = new Set(["config", "data", "map", "extraObjects"]);

/**
 * Whether a value is an empty list or an empty text: such a value removes the chart's default and sets no other value.
 */
const isEmpty = (value: unknown): boolean =>
  value === "" || (Array.isArray(value) && value.length === 0);

/**
 * Whether the chart itself reads a value whose key is in `types`, instead of passing the value to Kubernetes. These
 * values are an `image` that is a mapping, and `resources` or `updateStrategy` that is no mapping (the operator's
 * updateStrategy is a word).
 */
const isSection = (key: string, value: unknown): boolean =>
  (key === "image" && isMapping(value)) ||
  (["resources", "updateStrategy"].includes(key) && !isMapping(value));

/** Checks of chart values that become parts of Kubernetes objects. */
export const chartObjectChecks = {
  "chart-objects": {
    rule: "Kubernetes accepts each value that a GPU chart passes on to an object, e.g. images, tolerations, resources, labels and imagePullSecrets",
    source:
      "kubernetes v1.36.3, pkg/apis/core/validation/validation.go: the API server checks the values that the charts' templates pass on by toYaml",
    ofFiles: true,
    find: ({ spec }) =>
      (["gpuOperator", "devicePlugin"] as const).flatMap((field) =>
        [
          ...flawsIn(spec[field]?.values, `${field}.values`),
          ...pullSecrets(field, spec[field]?.values),
        ].map(([path, problem, remedy]) => ({
          field: path,
          problem,
          why: "Kubernetes refuses the object that contains this value, but only after the update has upgraded the machines",
          remedy,
        })),
      ),
  },
} satisfies Checks;

const flawsIn = (values: unknown, path: string): Flaw[] =>
  entriesOf(values).flatMap(([key, value]) => {
    if (notOurs.has(key) || isEmpty(value)) return [];
    const fieldPath = `${path}.${key}`;
    const type = Object.hasOwn(types, key) && !isSection(key, value) ? types[key] : undefined;
    if (type === undefined) return flawsIn(value, fieldPath);
    return objectFlaws(value, type).map(([below, ...rest]): Flaw => [
      `${fieldPath}${below}`,
      ...rest,
    ]);
  });

/**
 * Flaws in `imagePullSecrets`. The plugin's chart expects mappings with a name, and the operator's chart expects names
 * (their values.yaml).
 */
function pullSecrets(field: "gpuOperator" | "devicePlugin", values: unknown): Flaw[] {
  const holders: [string, unknown][] =
    field === "devicePlugin" ? [["", values]] : entriesOf(values);
  return holders.flatMap(([holder, value]) => {
    const list = isMapping(value) ? value["imagePullSecrets"] : undefined;
    if (!Array.isArray(list) || holder === "node-feature-discovery") return [];
    const isValid = (item: unknown): boolean =>
      field === "devicePlugin"
        ? isMapping(item) && typeof item["name"] === "string"
        : typeof item === "string";
    const wrongIndex = list.findIndex((item) => !isValid(item));
    if (wrongIndex < 0) return [];
    const path = [
      `${field}.values`,
      ...(holder === "" ? [] : [holder]),
      `imagePullSecrets[${wrongIndex}]`,
    ].join(".");
    return [
      field === "devicePlugin"
        ? [path, "is not a mapping with a name", "write `{ name: <Secret> }`"]
        : [path, "is not a name", "write only the Secret's name"],
    ];
  });
}

const entriesOf = (value: unknown): [string, unknown][] =>
  isMapping(value) ? Object.entries(value) : [];
