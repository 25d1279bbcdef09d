import objects from "../facts/data/kubernetes-objects.json";
import type { TypeText } from "../facts/talos-schema";
import { anyText, isMapping, valueAt } from "../mapping";
import {
  envName,
  imageReference,
  labelValue,
  objectName,
  qualifiedName,
  shown,
  type Rule,
} from "../rules";
import { quantityValue } from "../rules/quantity";
import { asJson, describe, remedyFor, shapeFindings, type Dialect } from "../shape";

/** Mistake in a value: the path below this value, the problem and the remedy. */
export type Flaw = [path: string, problem: string, remedy: string];

/**
 * Structures of values that charts copy unchanged into Kubernetes objects, and of the device plugin's own
 * configuration.
 */
const structures: Record<string, Record<string, TypeText>> = objects.structures;

type Judge = (value: unknown) => Flaw[];

/** Check of a text by a rule. An empty text counts as not set if the text is optional. */
const byRule =
  (rule: Rule, isRequired = false): Judge =>
  (value) => {
    if (value === "" && !isRequired) return [];
    const finding = typeof value === "string" ? rule(value) : notText(value);
    return finding === undefined ? [] : [["", finding.problem, finding.remedy]];
  };

/** Check of a text by a test. An empty text counts as not set. */
const textThat =
  (isValid: (text: string) => boolean, problem: string, remedy: string): Judge =>
  (value) => {
    if (value === "" || (typeof value === "string" && isValid(value))) return [];
    if (typeof value === "string") return [["", `${shown(value)} ${problem}`, remedy]];
    return [["", notText(value).problem, notText(value).remedy]];
  };

/** Check of an image's tag or digest that is in a separate field. */
const imageTag = textThat(
  (text) => imageReference(/^sha\d+:/.test(text) ? `a@${text}` : `a:${text}`) === undefined,
  "is not an image tag",
  "write letters, digits, `_`, `.` and `-`, e.g. `v0.19.3`",
);

/** Check of an image's name whose registry is in a separate field. Some names include the tag. */
const imageName = textThat(
  (text) => imageReference(`a.io/${text}`) === undefined || imageReference(text) === undefined,
  "is not an image name",
  "write e.g. `k8s-device-plugin`",
);

/** Check of Prometheus' scrape interval. Source: prometheus-operator, pkg/apis/monitoring/v1, Duration. */
const interval = textThat(
  (text) => /^(?:0|(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?)$/.test(text),
  "is not a duration that Prometheus accepts",
  "write e.g. `30s`",
);

const notText = (value: unknown) => ({
  problem: `${valueText(value)} is not a string`,
  remedy: "write it in quotes",
});

/** Check of a mapping of texts whose keys are Kubernetes names. */
const mappingOfKeysAnd =
  (rule: Rule): Judge =>
  (value) => {
    if (Array.isArray(value))
      return [["", "is a list but must be a mapping", "write each entry as `key: value`"]];
    return Object.entries(isMapping(value) ? value : {}).flatMap(([key, text]): Flaw[] => {
      const finding =
        qualifiedName(key) ??
        (typeof text === "string" ? rule(text) : text === null ? undefined : notText(text));
      return finding === undefined ? [] : [[`.${key}`, finding.problem, finding.remedy]];
    });
  };

const valueThat =
  (isValid: (value: unknown) => boolean, problem: string, remedy: string): Judge =>
  (value) =>
    isValid(value) ? [] : [["", `${valueText(value)} ${problem}`, remedy]];

/** Checks of values that types cannot express. */
const judges: Record<TypeText, Judge> = {
  "#labels": mappingOfKeysAnd(labelValue),
  "#annotations": mappingOfKeysAnd(() => undefined),
  "#key": byRule(qualifiedName),
  "#name": byRule(objectName),
  "#reference": byRule(imageReference),
  "#tag": (value) => (typeof value === "number" ? [] : imageTag(value)),
  "#image": imageName,
  "#interval": interval,
  "#variable": byRule(envName, true),
  "#pods": valueThat(
    (value) => /^\d+%?$/.test(anyText(value)),
    "is not a number of pods",
    "write e.g. `1` or `25%`",
  ),
  "#amount": valueThat(
    (value) => (quantityValue(anyText(value)) ?? -1) >= 0,
    "is not a quantity",
    "write e.g. `500m` or `128Mi`",
  ),
  "#replicas": valueThat(
    (value) => Number(value) >= 2,
    "is less than 2",
    "write the number of pods that share a card, 2 or more",
  ),
  "@Replicas": (value) =>
    JSON.stringify(valueAt(value, "resources")) === "[]"
      ? [[".resources", "is empty", "name a resource"]]
      : [],
  "@Toleration": (value) => {
    const { operator, value: text = "" } = value as Record<string, unknown>;
    if (Object.keys(value as object).length === 0)
      return [["", "is not a toleration", "write e.g. `{ operator: Exists }`"]];
    return operator === "Exists" && text !== ""
      ? [
          [
            ".value",
            "is set together with `operator: Exists`",
            "leave it out, or write `operator: Equal`",
          ],
        ]
      : [];
  },
};

/** Mistakes of a value against a type, e.g. `@Affinity`. */
export function objectFlaws(value: unknown, type: TypeText): Flaw[] {
  const dialect: Dialect<Flaw[]> = {
    structureOf: (name) => {
      const { "…": openMarker, ...keys } = structures[name]!;
      return { keys: new Map(Object.entries(keys)), open: openMarker !== undefined };
    },
    accepts: (value, type) => type.startsWith("#") || asJson(value, type),
    ruleOf: (_, value, type) => {
      const flaws = judges[type]?.(value) ?? [];
      return flaws.length > 0 ? flaws : undefined;
    },
  };
  return shapeFindings(value, type, dialect).flatMap(({ path, flaw: shapeFlaw }): Flaw[] => {
    const fieldPath = path
      .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
      .join("");
    if (shapeFlaw === "missing") return [[fieldPath, "is missing", "add it"]];
    if (Array.isArray(shapeFlaw))
      return shapeFlaw.map(([subPath, ...rest]) => [`${fieldPath}${subPath}`, ...rest]);
    if ("unknown" in shapeFlaw) {
      const suggestion = shapeFlaw.near === undefined ? "" : `did you mean "${shapeFlaw.near}"? `;
      return [[fieldPath, "is not a field of this object", `${suggestion}leave it out`]];
    }
    return [
      [
        fieldPath,
        `${valueText(shapeFlaw.value)} is not ${describe(shapeFlaw.type)}`,
        remedyFor(shapeFlaw.value, shapeFlaw.type),
      ],
    ];
  });
}

/** A value as a message shows it. */
function valueText(value: unknown): string {
  if (typeof value === "string") return shown(value);
  return typeof value === "object" ? "the value" : JSON.stringify(value);
}
