// The kind ClusterPolicy. Source: gpu-operator, deployments/gpu-operator/crds/nvidia.com_clusterpolicies.yaml: what is
// required, the states, and the types that decide whether the API server takes a chart's values. The rest is kept as it is.

import type { OperatorFacts } from "./facts";

type Schema = Record<string, unknown>;

const open = { "x-kubernetes-preserve-unknown-fields": true };
const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const texts: Schema = { type: "array", items: text };
const object = (properties: Record<string, Schema> = {}): Schema => ({ type: "object", properties, ...open });

/** A variable's value must be a string: `true` or `1` without quotes is refused. */
const variables: Schema = {
  type: "array",
  items: { type: "object", required: ["name"], properties: { name: text, value: text } },
};

const operand = (more: Record<string, Schema> = {}): Schema =>
  object({
    enabled: flag,
    repository: text,
    image: text,
    version: text,
    imagePullPolicy: text,
    args: texts,
    env: variables,
    ...more,
  });

const validated = Object.fromEntries(
  ["plugin", "cuda", "driver", "toolkit", "vfioPCI", "vgpuManager", "vgpuDevices"].map((part) => [
    part,
    object({ env: variables }),
  ]),
);

const operands = ["dcgm", "dcgmExporter", "gfd", "migManager", "nodeStatusExporter", "gds", "gdrcopy", "vgpuManager"];
const more = ["vgpuDeviceManager", "vfioManager", "kataManager", "ccManager", "sandboxDevicePlugin"];

const spec: Schema = {
  ...object({
    operator: object({ runtimeClass: text, initContainer: object() }),
    daemonsets: object({
      labels: { type: "object", additionalProperties: text },
      annotations: { type: "object", additionalProperties: text },
      tolerations: { type: "array", items: object() },
      priorityClassName: text,
      updateStrategy: { type: "string", enum: ["RollingUpdate", "OnDelete"] },
      rollingUpdate: object({ maxUnavailable: text }),
    }),
    hostPaths: object({ rootFS: text, driverInstallDir: text }),
    validator: operand(validated),
    mig: object({ strategy: { type: "string", enum: ["none", "single", "mixed"] } }),
    psa: object({ enabled: flag }),
    cdi: object({ enabled: flag }),
    sandboxWorkloads: object({ enabled: flag }),
    driver: operand({ useNvidiaDriverCRD: flag, usePrecompiled: flag }),
    toolkit: operand({ installDir: text }),
    devicePlugin: operand({ config: object({ name: text, default: text }) }),
    ...Object.fromEntries([...operands, ...more].map((name) => [name, operand()])),
  }),
  required: [
    "daemonsets",
    "dcgm",
    "dcgmExporter",
    "devicePlugin",
    "driver",
    "gfd",
    "nodeStatusExporter",
    "operator",
    "toolkit",
  ],
};

/** A definition of which the lab knows no fields: it takes anything. */
export function openDefinition(
  name: string,
  { versions, ...kind }: Omit<OperatorFacts["definitions"][number], "releases" | "name">,
): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      ...kind,
      versions: versions.map(({ subresources, ...version }) => ({
        ...version,
        subresources: Object.fromEntries(subresources.map((each) => [each, {}])),
        schema: { openAPIV3Schema: { type: "object", ...open } },
      })),
    },
  };
}

/** The custom resource definition, as the chart brings it in `crds/`. */
export const clusterPolicyDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "clusterpolicies.nvidia.com" },
  spec: {
    group: "nvidia.com",
    names: {
      kind: "ClusterPolicy",
      listKind: "ClusterPolicyList",
      plural: "clusterpolicies",
      singular: "clusterpolicy",
    },
    scope: "Cluster",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Status", type: "string", jsonPath: ".status.state" },
          { name: "Age", type: "string", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              apiVersion: text,
              kind: text,
              metadata: { type: "object" },
              spec,
              status: {
                ...object({ state: { type: "string", enum: ["ignored", "ready", "notReady"] }, namespace: text }),
                required: ["state"],
              },
            },
          },
        },
      },
    ],
  },
};
