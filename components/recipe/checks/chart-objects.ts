import { taintEffects } from "../machine/taints";
import { isMapping } from "../mapping";
import { envName, imageReference, labelValue, objectName, qualifiedName, ruleOf, type Rule } from "../rules";
import { quantityValue } from "../rules/quantity";
import type { Check } from "./check";
import { type Flaw, objectFlaws, said } from "./object-shapes";

/** Tag of an image, where it stands apart from its name. */
const imageTag = ruleOf(
  (text) => imageReference(/^sha\d+:/.test(text) ? `a@${text}` : `a:${text}`) === undefined,
  "is not an image tag",
  "the kubelet pulls nothing",
  "write letters, digits, `_`, `.` and `-`, e.g. `v0.19.3`",
);

/** Name of an image without its registry, which stands beside it; some have their tag, too. */
const imageName = ruleOf(
  (text) => imageReference(`a.io/${text}`) === undefined || imageReference(text) === undefined,
  "is no name of an image",
  "the kubelet pulls nothing",
  "write e.g. `k8s-device-plugin`",
);

/** How often Prometheus asks. Source: prometheus-operator, pkg/apis/monitoring/v1, Duration. */
const interval = ruleOf(
  (text) => /^(?:0|(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?)$/.test(text),
  "is no duration of Prometheus'",
  "Kubernetes refuses it",
  "write e.g. `30s`",
);

type Judge = (value: unknown) => Flaw[];

const each = (keys: string[], judge: Judge): Record<string, Judge> =>
  Object.fromEntries(keys.map((key) => [key, judge]));
const shaped =
  (type: string): Judge =>
  (value) =>
    objectFlaws(value, type);
/** An empty list, text or mapping takes the chart's own value away and brings none. */
const isEmpty = (value: unknown): boolean => value === "" || (Array.isArray(value) && value.length === 0);

/** Values that a chart hands on to Kubernetes as they are, by their last key. */
const kinds: Record<string, Judge> = {
  resources: (value) =>
    entriesOf(value).flatMap(([side, amounts]): Flaw[] => {
      if (side === "claims") return [];
      if (side !== "limits" && side !== "requests")
        return [[`.${side}`, "is not a field of resources", "write limits or requests"]];
      if (!isMapping(amounts) && amounts !== null)
        return [[`.${side}`, `${said(amounts)} is not a mapping`, "write e.g. `{ memory: 128Mi }`"]];
      return entriesOf(amounts).flatMap(([resource, amount]) => amountFlaws(`.${side}.${resource}`, amount));
    }),
  tolerations: (value) => itemsOf(value).flatMap(tolerationFlaws),
  env: (value) =>
    itemsOf(value).flatMap(([path, item]): Flaw[] => {
      const { name } = item;
      if (typeof name !== "string" || name === "") return [[path, "has no name", "write `name` and `value`"]];
      const fault = envName(name);
      if (fault !== undefined) return [[`${path}.name`, fault.problem, fault.remedy]];
      return below(path, objectFlaws(item, "@Variable"));
    }),
  ...each(["args", "extraArgs"], shaped("[string")),
  updateStrategy: (value) =>
    isMapping(value) ? [...objectFlaws(value, "@UpdateStrategy"), ...flawsIn(value, "")] : [],
  service: shaped("@Service"),
  affinity: (value) => (isEmpty(value) ? [] : objectFlaws(value, "@Affinity")),
  securityContext: shaped("@SecurityContext"),
  podSecurityContext: shaped("@PodSecurityContext"),
  serviceMonitor: (value) => [...objectFlaws(value, "@ServiceMonitor"), ...flawsIn(value, "")],
  ...each(["nodeSelector", "labels", "podLabels", "additionalLabels"], named(labelValue)),
  ...each(
    ["annotations", "podAnnotations"],
    named(() => undefined),
  ),
  ...each(["priorityClassName", "nameOverride", "fullnameOverride"], byRule(objectName)),
  ...each(["repository"], byRule(imageReference)),
  ...each(["tag", "version"], byRule(imageTag)),
  image: (value) => (isMapping(value) ? flawsIn(value, "") : byRule(imageName)(value)),
  interval: byRule(interval),
  maxUnavailable: (value) =>
    /^\d+%?$/.test(String(value)) || value === null
      ? []
      : [["", `${said(value)} is not a number of pods`, "write e.g. `1` or `25%`"]],
  ...each(["imagePullPolicy", "pullPolicy"], shaped("=Always|IfNotPresent|Never|")),
};

/** Whose content is text of another program, or objects of the user's own. */
const notOurs = new Set(["config", "data", "map", "extraObjects"]);

/** What the charts hand on whole (images, tolerations, resources, labels) is what Kubernetes takes. */
export const chartObjects: Check = {
  id: "chart-objects",
  source:
    "kubernetes v1.36.3, pkg/apis/core/validation/validation.go: what the charts' templates hand on by toYaml is judged by the API server",
  find: ({ spec }) =>
    (["gpuOperator", "devicePlugin"] as const).flatMap((field) =>
      [...flawsIn(spec[field]?.values, `${field}.values`), ...pullSecrets(field, spec[field]?.values)].map(
        ([path, problem, remedy]) => ({
          field: path,
          problem,
          why: "Kubernetes refuses the object that the chart makes of it, after the machines were upgraded",
          remedy,
        }),
      ),
    ),
};

function flawsIn(values: unknown, path: string): Flaw[] {
  return entriesOf(values).flatMap(([key, value]) => {
    if (notOurs.has(key)) return [];
    const at = `${path}.${key}`;
    return Object.hasOwn(kinds, key) ? below(at, kinds[key]!(value)) : flawsIn(value, at);
  });
}

const below = (at: string, flaws: Flaw[]): Flaw[] => flaws.map(([path, ...rest]) => [`${at}${path}`, ...rest]);

/** The plugin's chart wants them as Kubernetes has them, the operator's as names alone (their values.yaml). */
function pullSecrets(field: "gpuOperator" | "devicePlugin", values: unknown): Flaw[] {
  const holders: [string, unknown][] = field === "devicePlugin" ? [["", values]] : entriesOf(values);
  return holders.flatMap(([holder, value]) => {
    const list = isMapping(value) ? value["imagePullSecrets"] : undefined;
    if (!Array.isArray(list) || holder === "node-feature-discovery") return [];
    const takes = (item: unknown): boolean =>
      field === "devicePlugin" ? isMapping(item) && typeof item["name"] === "string" : typeof item === "string";
    const wrong = list.findIndex((item) => !takes(item));
    if (wrong < 0) return [];
    const path = [`${field}.values`, ...(holder === "" ? [] : [holder]), `imagePullSecrets[${wrong}]`].join(".");
    return [
      field === "devicePlugin"
        ? [path, "is not a mapping with a name", "write `{ name: <Secret> }`"]
        : [path, "is not a name", "write the Secret's name alone"],
    ];
  });
}

/** Source: kubernetes v1.36.3, pkg/apis/core/types.go; the operators `Lt` and `Gt` are behind a feature gate. */
function tolerationFlaws([path, item]: [string, Record<string, unknown>]): Flaw[] {
  const { key, operator, effect, value } = item;
  if (Object.keys(item).length === 0) return [[path, "is not a toleration", "write e.g. `{ operator: Exists }`"]];
  const fault = typeof key === "string" && key !== "" ? qualifiedName(key) : undefined;
  const flaws: Flaw[] = [
    ...(fault === undefined ? [] : [[".key", fault.problem, fault.remedy] satisfies Flaw]),
    ...below(".operator", objectFlaws(operator, "=Exists|Equal|Lt|Gt|")),
    ...below(".effect", objectFlaws(effect, `=${taintEffects.join("|")}|`)),
    ...(operator === "Exists" && value !== undefined && value !== ""
      ? [[".value", "stands beside operator Exists", "leave it out, or write operator Equal"] satisfies Flaw]
      : []),
    ...objectFlaws(item, "@Toleration"),
  ];
  return below(path, flaws);
}

/** A text by a rule; an empty one reads as not set. */
function byRule(rule: Rule): (value: unknown) => Flaw[] {
  return (value) => {
    if (value === "" || value === null || (typeof value === "number" && rule === imageTag)) return [];
    if (typeof value !== "string") return [notText("", value)];
    const fault = rule(value);
    return fault === undefined ? [] : [["", fault.problem, fault.remedy]];
  };
}

/** Texts by names of Kubernetes. */
function named(rule: Rule): (value: unknown) => Flaw[] {
  return (value) => {
    if (Array.isArray(value)) return [["", "is a list, and must be a mapping", "write each as `key: value`"]];
    return entriesOf(value).flatMap(([key, text]): Flaw[] => {
      const fault = qualifiedName(key) ?? (typeof text === "string" ? rule(text) : undefined);
      if (fault !== undefined) return [[`.${key}`, fault.problem, fault.remedy]];
      return typeof text === "string" || text === null ? [] : [notText(`.${key}`, text)];
    });
  };
}

function amountFlaws(path: string, amount: unknown): Flaw[] {
  const text = typeof amount === "number" ? String(amount) : amount;
  if (amount === null || (typeof text === "string" && (quantityValue(text) ?? -1) >= 0)) return [];
  return [[path, `${said(amount)} is no amount`, "write e.g. `500m` or `128Mi`"]];
}

const notText = (path: string, value: unknown): Flaw => [path, `${said(value)} is no text`, "write it in quotes"];

function entriesOf(value: unknown): [string, unknown][] {
  return isMapping(value) ? Object.entries(value) : [];
}

function itemsOf(value: unknown): [string, Record<string, unknown>][] {
  if (!Array.isArray(value)) return [];
  return value.map((item, index): [string, Record<string, unknown>] => [`[${index}]`, isMapping(item) ? item : {}]);
}
