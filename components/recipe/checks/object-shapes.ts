import { isMapping } from "../mapping";
import { shown } from "../rules";
import { closest, didYouMean } from "../rules/suggest";

/** What is wrong with a value, and where in it. */
export type Flaw = [path: string, problem: string, remedy: string];

/**
 * What a part of a Kubernetes object may be: a word for its type, its words, a list, a mapping of texts, or its fields. Of what is
 * open a field that nothing is known of is told only where a known one was probably meant.
 */
export type Shape =
  | "anything"
  | "text"
  | "a number"
  | "true or false"
  | { readonly words: readonly string[] }
  | { readonly list: Shape }
  | { readonly texts: true }
  | { readonly fields: Readonly<Record<string, Shape>>; readonly needs?: readonly string[]; readonly open?: boolean };

const texts: Shape = { list: "text" };

const requirements = (...operators: string[]): Shape => ({
  list: { fields: { key: "text", operator: { words: operators }, values: texts }, needs: ["key", "operator"] },
});

const nodeTerm: Shape = {
  fields: {
    matchExpressions: requirements("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    matchFields: requirements("In", "NotIn"),
  },
};

const labelSelector: Shape = {
  fields: { matchLabels: { texts: true }, matchExpressions: requirements("In", "NotIn", "Exists", "DoesNotExist") },
};

const podTerm: Shape = {
  fields: {
    labelSelector,
    namespaceSelector: labelSelector,
    namespaces: texts,
    topologyKey: "text",
    matchLabelKeys: texts,
    mismatchLabelKeys: texts,
  },
  needs: ["topologyKey"],
};

const amongPods: Shape = {
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: { list: podTerm },
    preferredDuringSchedulingIgnoredDuringExecution: {
      list: { fields: { weight: "a number", podAffinityTerm: podTerm }, needs: ["weight", "podAffinityTerm"] },
    },
  },
};

const ids = { runAsUser: "a number", runAsGroup: "a number", runAsNonRoot: "true or false" } as const;
const profile: Shape = {
  fields: { type: { words: ["RuntimeDefault", "Unconfined", "Localhost"] }, localhostProfile: "text" },
  needs: ["type"],
};
const confinement = {
  seLinuxOptions: { fields: { level: "text", role: "text", type: "text", user: "text" } },
  seccompProfile: profile,
  appArmorProfile: profile,
  windowsOptions: "anything",
} as const satisfies Record<string, Shape>;

/** Parts of objects that charts hand on as they are. Sources: kubernetes v1.36.3, core/v1 types.go; gpu-operator v26.7.0, clusterpolicy_types.go. */
export const affinity: Shape = {
  fields: {
    nodeAffinity: {
      fields: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          fields: { nodeSelectorTerms: { list: nodeTerm } },
          needs: ["nodeSelectorTerms"],
        },
        preferredDuringSchedulingIgnoredDuringExecution: {
          list: { fields: { weight: "a number", preference: nodeTerm }, needs: ["weight", "preference"] },
        },
      },
    },
    podAffinity: amongPods,
    podAntiAffinity: amongPods,
  },
};

/** A container's securityContext. */
export const containerSecurity: Shape = {
  fields: {
    ...ids,
    ...confinement,
    allowPrivilegeEscalation: "true or false",
    capabilities: { fields: { add: texts, drop: texts } },
    privileged: "true or false",
    procMount: { words: ["Default", "Unmasked"] },
    readOnlyRootFilesystem: "true or false",
  },
};

/** A pod's securityContext. */
export const podSecurity: Shape = {
  fields: {
    ...ids,
    ...confinement,
    fsGroup: "a number",
    fsGroupChangePolicy: { words: ["OnRootMismatch", "Always"] },
    seLinuxChangePolicy: { words: ["MountOption", "Recursive"] },
    supplementalGroups: { list: "a number" },
    supplementalGroupsPolicy: { words: ["Merge", "Strict"] },
    sysctls: { list: { fields: { name: "text", value: "text" }, needs: ["name", "value"] } },
  },
};

/** A key of a ConfigMap or of a Secret. */
const keyOf: Shape = { fields: { name: "text", key: "text", optional: "true or false" }, needs: ["key"] };

/** Where an environment variable's value comes from (`valueFrom`). */
export const variableSource: Shape = {
  fields: {
    name: "text",
    value: "text",
    valueFrom: {
      fields: {
        configMapKeyRef: keyOf,
        secretKeyRef: keyOf,
        fieldRef: { fields: { fieldPath: "text", apiVersion: "text" }, needs: ["fieldPath"] },
        resourceFieldRef: {
          fields: { resource: "text", containerName: "text", divisor: "anything" },
          needs: ["resource"],
        },
        fileKeyRef: "anything",
      },
    },
  },
};

/** What a chart says of its Service. */
export const service: Shape = {
  open: true,
  fields: {
    type: { words: ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] },
    internalTrafficPolicy: { words: ["Cluster", "Local"] },
    port: "anything",
  },
};

/** How a workload of a chart is updated. */
export const updateStrategy: Shape = {
  fields: { type: "text", rollingUpdate: { fields: { maxUnavailable: "anything", maxSurge: "anything" } } },
};

/** A list of texts. */
export const listOfTexts: Shape = texts;

/** What a chart says of its ServiceMonitor. */
export const serviceMonitor: Shape = {
  fields: {
    enabled: "true or false",
    interval: "text",
    honorLabels: "true or false",
    additionalLabels: { texts: true },
    relabelings: { list: "anything" },
  },
};

/** Where a value is not of a shape. What is null reads as not set. */
export function shapeFlaws(shape: Shape, value: unknown, path = ""): Flaw[] {
  if (shape === "anything" || value === null || value === undefined) return [];
  if (typeof shape === "string")
    return typeof value === types[shape] ? [] : [[path, `${said(value)} is not ${shape}`, remedies[shape]]];
  if ("words" in shape)
    return shape.words.includes(value as string)
      ? []
      : [[path, `${said(value)} is not one of ${shape.words.join(", ")}`, "write one of them, or leave it out"]];
  if ("list" in shape) {
    if (!Array.isArray(value)) return [[path, `${said(value)} is not a list`, "write a list"]];
    return value.flatMap((item, index) => shapeFlaws(shape.list, item, `${path}[${index}]`));
  }
  if (!isMapping(value)) return [[path, `${said(value)} is not a mapping`, "write a mapping"]];
  if ("texts" in shape)
    return Object.entries(value).flatMap(([key, item]) => shapeFlaws("text", item, `${path}.${key}`));
  const { fields, needs = [], open = false } = shape;
  const isTold = (key: string): boolean => !open || closest(key, Object.keys(fields)) !== undefined;
  return [
    ...needs
      .filter((key) => value[key] === undefined || value[key] === null)
      .map((key): Flaw => [`${path}.${key}`, "is missing", "add it"]),
    ...Object.entries(value).flatMap(([key, item]): Flaw[] =>
      Object.hasOwn(fields, key)
        ? shapeFlaws(fields[key]!, item, `${path}.${key}`)
        : isTold(key)
          ? [[`${path}.${key}`, "is not a field of it", `${didYouMean(key, Object.keys(fields))}leave it out`]]
          : [],
    ),
  ];
}

const types = { text: "string", "a number": "number", "true or false": "boolean" } as const;
const remedies = {
  text: "write it in quotes",
  "a number": "write it without quotes",
  "true or false": "write it without quotes",
} as const;

/** A value as a message shows it. */
export function said(value: unknown): string {
  if (typeof value === "string") return shown(value);
  return typeof value === "object" ? "what is there" : JSON.stringify(value);
}
