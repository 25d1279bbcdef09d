import { findingsOf } from "../../../components/recipe";

const operator = (values: unknown): object => ({ gpuOperator: { version: "v26.3.3", values } });
const plugin = (values: unknown): object => ({ devicePlugin: { version: "0.19.3", values } });
const discovery = (part: string, tolerations: unknown[]): object =>
  operator({ "node-feature-discovery": { [part]: { tolerations } } });
const ofWorker = { key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" };
const made = { bootstrap: true };
const joined = { bootstrap: false };

/** A control plane, and a worker with a card and a taint. */
const stackOf = (more: object): Record<string, unknown> => ({
  talosVersion: "v1.13.0",
  clusterName: "tainted",
  clusterEndpoint: "https://192.0.2.20:6443",
  machines: {
    control: { address: "192.0.2.20", role: "controlplane", configuration: "owned" },
    gpu: {
      address: "192.0.2.21",
      role: "worker",
      configuration: "owned",
      gpus: [{ model: "RTX 5090" }],
      taints: { gpu: "true:NoSchedule" },
    },
  },
  ...more,
});

const allowed = { patches: ["cluster:\n  allowSchedulingOnControlPlanes: true\n"] };

test.each<[string, object, string | undefined]>([
  [
    "the operator, nowhere",
    { ...made, ...operator({ operator: { tolerations: [] } }) },
    "gpuOperator.values.operator.tolerations",
  ],
  ["the operator, on the worker", { ...made, ...operator({ operator: { tolerations: [ofWorker] } }) }, undefined],
  [
    "the operator, on a control plane without a taint",
    { ...made, ...allowed, ...operator({ operator: { tolerations: [] } }) },
    undefined,
  ],
  [
    "the operator, on nodes that no stack names",
    { ...joined, ...operator({ operator: { tolerations: [] } }) },
    undefined,
  ],
  [
    "NFD's master, nowhere",
    { ...made, ...discovery("master", []) },
    "gpuOperator.values.node-feature-discovery.master.tolerations",
  ],
  [
    "NFD's collector, nowhere",
    { ...made, ...discovery("gc", []) },
    "gpuOperator.values.node-feature-discovery.gc.tolerations",
  ],
  [
    "NFD's worker, not on the machine",
    { ...joined, ...discovery("worker", []) },
    "gpuOperator.values.node-feature-discovery.worker.tolerations",
  ],
  [
    "NFD's master, which the chart does not bring",
    { ...made, ...operator({ nfd: { enabled: false }, "node-feature-discovery": { master: { tolerations: [] } } }) },
    undefined,
  ],
  [
    "the plugin's NFD, nowhere",
    { ...made, ...plugin({ gfd: { enabled: true }, nfd: { master: { tolerations: [] } } }) },
    "devicePlugin.values.nfd.master.tolerations",
  ],
  [
    "the plugin's NFD, which the chart does not bring",
    { ...made, ...plugin({ nfd: { master: { tolerations: [] } } }) },
    undefined,
  ],
])("a list of the user's own that lets it run: %s", (_what, more, field) => {
  const fields = findingsOf(stackOf(more))
    .filter(({ check }) => check === "tolerations")
    .map((each) => each.field);
  expect(fields).toEqual(field === undefined ? [] : [field]);
});
