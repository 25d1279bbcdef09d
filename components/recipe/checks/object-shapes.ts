import type { TypeText } from "../facts/talos-schema";
import { shown } from "../rules";
import { describe, remedyFor, shapeFlaws } from "../shape";

/** What is wrong with a value, and where in it. */
export type Flaw = [path: string, problem: string, remedy: string];

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const requirement = (...operators: string[]) => ({
  ...{ key: "!string", operator: `!=${operators.join("|")}`, values: "[string" },
});
const ofSecurity = {
  ...{ runAsUser: "number", runAsGroup: "number", runAsNonRoot: "boolean" },
  ...{ seLinuxOptions: "@SELinuxOptions", seccompProfile: "@Profile", appArmorProfile: "@Profile" },
  windowsOptions: "any",
};

/**
 * Parts of objects that charts hand on as they are, and the device plugin's own configuration, which drops in silence what it does
 * not know. `…` marks an open structure. Sources: kubernetes v1.36.3, core/v1 types.go; gpu-operator v26.7.0, clusterpolicy_types.go;
 * k8s-device-plugin v0.19.3, api/config/v1.
 */
const structures: Record<string, Record<string, TypeText>> = {
  Affinity: { nodeAffinity: "@NodeAffinity", podAffinity: "@PodAffinity", podAntiAffinity: "@PodAffinity" },
  NodeAffinity: { [required]: "@NodeSelector", [preferred]: "[@PreferredNode" },
  NodeSelector: { nodeSelectorTerms: "![@NodeTerm" },
  PreferredNode: { weight: "!number", preference: "!@NodeTerm" },
  NodeTerm: { matchExpressions: "[@NodeRequirement", matchFields: "[@FieldRequirement" },
  NodeRequirement: requirement("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
  FieldRequirement: requirement("In", "NotIn"),
  PodAffinity: { [required]: "[@PodTerm", [preferred]: "[@PreferredPod" },
  PreferredPod: { weight: "!number", podAffinityTerm: "!@PodTerm" },
  PodTerm: {
    ...{ labelSelector: "@LabelSelector", namespaceSelector: "@LabelSelector", topologyKey: "!string" },
    ...{ namespaces: "[string", matchLabelKeys: "[string", mismatchLabelKeys: "[string" },
  },
  LabelSelector: { matchLabels: "{string", matchExpressions: "[@LabelRequirement" },
  LabelRequirement: requirement("In", "NotIn", "Exists", "DoesNotExist"),
  SELinuxOptions: { level: "string", role: "string", type: "string", user: "string" },
  Profile: { type: "!=RuntimeDefault|Unconfined|Localhost", localhostProfile: "string" },
  SecurityContext: {
    ...ofSecurity,
    ...{ allowPrivilegeEscalation: "boolean", privileged: "boolean", readOnlyRootFilesystem: "boolean" },
    ...{ capabilities: "@Capabilities", procMount: "=Default|Unmasked" },
  },
  Capabilities: { add: "[string", drop: "[string" },
  PodSecurityContext: {
    ...ofSecurity,
    ...{ fsGroup: "number", fsGroupChangePolicy: "=OnRootMismatch|Always", sysctls: "[@Sysctl" },
    ...{ supplementalGroups: "[number", supplementalGroupsPolicy: "=Merge|Strict" },
    seLinuxChangePolicy: "=MountOption|Recursive",
  },
  Sysctl: { name: "!string", value: "!string" },
  Toleration: { key: "any", operator: "any", effect: "any", value: "string", tolerationSeconds: "number", "…": "any" },
  Variable: { name: "string", value: "string", valueFrom: "@VariableSource" },
  VariableSource: {
    ...{ configMapKeyRef: "@Key", secretKeyRef: "@Key", fieldRef: "@FieldRef", resourceFieldRef: "@ResourceRef" },
    fileKeyRef: "any",
  },
  Key: { name: "string", key: "!string", optional: "boolean" },
  FieldRef: { fieldPath: "!string", apiVersion: "string" },
  ResourceRef: { resource: "!string", containerName: "string", divisor: "any" },
  Service: {
    ...{ type: "=ClusterIP|NodePort|LoadBalancer|ExternalName", internalTrafficPolicy: "=Cluster|Local", port: "any" },
    "…": "any",
  },
  UpdateStrategy: { type: "string", rollingUpdate: "@RollingUpdate" },
  RollingUpdate: { maxUnavailable: "any", maxSurge: "any" },
  ServiceMonitor: {
    ...{ enabled: "boolean", interval: "string", honorLabels: "boolean", additionalLabels: "{string" },
    relabelings: "[any",
  },
  PluginConfiguration: {
    ...{
      version: "any",
      flags: "@PluginFlags",
      resources: "any",
      sharing: "@PluginSharing",
      imex: "@Imex",
      "…": "any",
    },
  },
  PluginFlags: {
    ...{ migStrategy: "any", failOnInitError: "boolean", mpsRoot: "string", nvidiaDriverRoot: "string" },
    ...{ nvidiaDevRoot: "string", gdrcopyEnabled: "boolean", gdsEnabled: "boolean", mofedEnabled: "boolean" },
    ...{ useNodeFeatureAPI: "boolean", deviceDiscoveryStrategy: "=auto|nvml|tegra|vfio" },
    ...{ plugin: "@PluginOptions", gfd: "@DiscoveryOptions", "…": "any" },
  },
  PluginOptions: {
    ...{ passDeviceSpecs: "boolean", deviceListStrategy: "any", deviceIDStrategy: "=uuid|index" },
    ...{ cdiAnnotationPrefix: "string", nvidiaCTKPath: "string", containerDriverRoot: "string", "…": "any" },
  },
  DiscoveryOptions: {
    ...{ oneshot: "boolean", noTimestamp: "boolean", sleepInterval: "any", outputFile: "string" },
    ...{ machineTypeFile: "string", "…": "any" },
  },
  PluginSharing: { timeSlicing: "@Replicas", mps: "@Replicas", "…": "any" },
  Replicas: {
    ...{ renameByDefault: "boolean", failRequestsGreaterThanOne: "boolean", resources: "[@SharedResource", "…": "any" },
  },
  SharedResource: { name: "string", rename: "string", devices: "any", replicas: "any", "…": "any" },
  Imex: { channelIDs: "[number", required: "boolean", "…": "any" },
};

/** Where a value is not of a type, e.g. `@Affinity`. */
export function objectFlaws(value: unknown, type: TypeText): Flaw[] {
  const structureOf = (name: string) => {
    const { "…": rest, ...keys } = structures[name]!;
    return { keys: new Map(Object.entries(keys)), open: rest !== undefined };
  };
  return shapeFlaws(value, type, { structureOf }).map(({ path, flaw }): Flaw => {
    const at = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
    if (flaw === "missing") return [at, "is missing", "add it"];
    if ("unknown" in flaw) {
      const meant = flaw.near === undefined ? "" : `did you mean "${flaw.near}"? `;
      return [at, "is not a field of it", `${meant}leave it out`];
    }
    return [at, `${said(flaw.value)} is not ${describe(flaw.type)}`, remedyFor(flaw.value, flaw.type)];
  });
}

/** A value as a message shows it. */
export function said(value: unknown): string {
  if (typeof value === "string") return shown(value);
  return typeof value === "object" ? "what is there" : JSON.stringify(value);
}
