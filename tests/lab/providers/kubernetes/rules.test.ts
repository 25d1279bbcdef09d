import type { KubernetesObject } from "../../../../lab/providers/kubernetes/api";
import { comparable, replacing } from "../../../../lab/providers/kubernetes/immutable";
import { readKubeconfig } from "../../../../lab/providers/kubernetes/kubeconfig";
import { customRule, readinessRule, type Related } from "../../../../lab/providers/kubernetes/readiness";
import { idOf, keepsName, objectOf, parseToken, withName } from "../../../../lab/providers/kubernetes/tokens";
import { UNKNOWN } from "../../../../lab/providers/serve";

const object = (apiVersion: string, kind: string, spec: object, status: object): KubernetesObject => ({
  apiVersion,
  kind,
  metadata: { name: "it", namespace: "ns", generation: 2 },
  spec,
  status: { observedGeneration: 2, ...status },
});
const deployment = (spec: object, status: object) => object("apps/v1", "Deployment", spec, status);
const available = { type: "Available", status: "True" };
const exceeded = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
const claim = (phase: string) => object("v1", "PersistentVolumeClaim", { storageClassName: "late" }, { phase });
const service = (spec: object) => object("v1", "Service", { selector: { app: "a" }, ...spec }, {});
const mounts = { volumes: [{ name: "shm", emptyDir: {} }, { persistentVolumeClaim: { claimName: "it" } }] };
const late = [{ metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" }];
const slices = (ready: boolean) => [{ endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready } }] }];
const daemonSet = (status: object) => object("apps/v1", "DaemonSet", {}, status);
const all = { currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2 };

test.each<[string, KubernetesObject, Partial<Related>, string]>([
  ["unseen change", deployment({}, { observedGeneration: 1 }), {}, "the controller to see the change"],
  [
    "complete rollout",
    deployment({ replicas: 2 }, { updatedReplicas: 2, replicas: 2, availableReplicas: 2, conditions: [available] }),
    {},
    "ready",
  ],
  [
    "old pods",
    deployment({}, { updatedReplicas: 1, replicas: 2, availableReplicas: 2 }),
    {},
    "1 pods of the old revision to end",
  ],
  ["no replicas wanted", deployment({ replicas: 0 }, { conditions: [available] }), {}, "ready"],
  ["deadline exceeded", deployment({}, { conditions: [exceeded] }), {}, "FINAL progress (ProgressDeadlineExceeded)"],
  [
    "deadline exceeded before",
    deployment({ replicas: 0 }, { conditions: [exceeded, available] }),
    { applied: deployment({}, { conditions: [exceeded] }) },
    "ready",
  ],
  [
    "no replicas, and a claim that binds with the first pod (deployment.go, isEveryPVCReady)",
    deployment({ replicas: 0, template: { spec: mounts } }, { conditions: [available] }),
    { claims: [claim("Pending")] },
    "its claims to be bound (it is Pending)",
  ],
  [
    "a bound claim, and another's",
    deployment({ replicas: 0, template: { spec: mounts } }, { conditions: [available] }),
    { claims: [claim("Bound"), { ...claim("Pending"), metadata: { name: "other" } }] },
    "ready",
  ],
  ["no node wants it", daemonSet({ desiredNumberScheduled: 0 }), {}, "ready"],
  ["on all nodes", daemonSet({ desiredNumberScheduled: 2, ...all }), {}, "ready"],
  [
    "one node short",
    daemonSet({ desiredNumberScheduled: 2, ...all, numberAvailable: 1 }),
    {},
    "available pods (1 of 2)",
  ],
  [
    "unseen daemon",
    daemonSet({ observedGeneration: 1, desiredNumberScheduled: 0 }),
    {},
    "the controller to see the change",
  ],
  [
    "ready set",
    object("apps/v1", "StatefulSet", {}, { replicas: 1, readyReplicas: 1, currentRevision: "a", updateRevision: "a" }),
    {},
    "ready",
  ],
  [
    "set in rollout",
    object("apps/v1", "StatefulSet", {}, { replicas: 1, readyReplicas: 1, currentRevision: "a", updateRevision: "b" }),
    {},
    "revision b to become current",
  ],
  ["running job", object("batch/v1", "Job", {}, { active: 1 }), {}, "success (active 1, succeeded 0, failed 0)"],
  ["complete job", object("batch/v1", "Job", {}, { conditions: [{ type: "Complete", status: "True" }] }), {}, "ready"],
  [
    "failed job",
    object(
      "batch/v1",
      "Job",
      {},
      { failed: 1, conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded" }] },
    ),
    {},
    "FINAL success: BackoffLimitExceeded (active 0, succeeded 0, failed 1)",
  ],
  ["service without pods", service({}), { endpointSlices: [] }, "an endpoint: no ready pod matches its selector"],
  [
    "service with an unready pod",
    service({}),
    { endpointSlices: slices(false) },
    "an endpoint: no ready pod matches its selector",
  ],
  ["service with a pod", service({}), { endpointSlices: slices(true) }, "ready"],
  ["headless service", service({ clusterIP: "None" }), {}, "ready"],
  ["external name", service({ type: "ExternalName" }), {}, "ready"],
  [
    "load balancer",
    service({ type: "LoadBalancer" }),
    { endpointSlices: slices(true) },
    "an address of the load balancer",
  ],
  ["bound claim", claim("Bound"), {}, "ready"],
  ["claim that binds late", claim("Pending"), { storageClasses: late }, "ready"],
  ["claim that binds at once", claim("Pending"), { storageClasses: [] }, 'a volume (storage class "late")'],
  ["lost claim", claim("Lost"), {}, "FINAL its volume, which is lost"],
  ["pod that is done", object("v1", "Pod", {}, { phase: "Succeeded" }), {}, "ready"],
  [
    "pod that failed",
    object("v1", "Pod", {}, { phase: "Failed", reason: "Evicted" }),
    {},
    "FINAL readiness, but it failed: Evicted",
  ],
])("readiness: %s", (_name, given, related, expected) => {
  const state = readinessRule(given)?.(given, { existed: false, ...related });
  const told = state?.ready ? "ready" : `${state?.failed ? "FINAL " : ""}${state?.waitsFor}`;
  expect(told).toBe(expected);
});

test("kinds without a rule are ready when they exist", () => {
  expect(readinessRule({ apiVersion: "v1", kind: "ConfigMap" })).toBeUndefined();
});

test("waitFor by condition and by path; anything else is an error", () => {
  const policy = { status: { state: "ready", conditions: [{ type: "Ready", status: "False" }] } };
  const told = (expression: string) => customRule(expression)(policy, { existed: false });
  expect(told("jsonpath={.status.state}=ready")).toEqual({ ready: true });
  expect(told("jsonpath={.status.other}")).toMatchObject({ ready: false });
  expect(told("condition=Ready=False")).toEqual({ ready: true });
  expect(told("condition=Ready")).toEqual({ ready: false, waitsFor: "condition Ready=True" });
  expect(() => customRule("jsonpath={.items[0]}")).toThrow(/neither condition=/);
});

test.each([
  ["kubernetes:core/v1:Namespace", { apiVersion: "v1", kind: "Namespace", patch: false }],
  ["kubernetes:core/v1:NodePatch", { apiVersion: "v1", kind: "Node", patch: true }],
  ["kubernetes:node.k8s.io/v1:RuntimeClass", { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", patch: false }],
])("token %s", (type, expected) => expect(parseToken(type)).toEqual(expected));

test.each(["kubernetes:yaml:ConfigFile", "kubernetes:helm.sh/v4:Chart", "kubernetes:core/v1:PodList"])(
  "no token: %s",
  (type) => expect(() => parseToken(type)).toThrow(/not this/),
);

test("names: generated once, kept over updates, never over a given one", () => {
  const seed = new Uint8Array([1, 2, 3, 4, 5]);
  const first = withName({ data: {} }, {}, "conf", seed);
  expect(first).toEqual({
    data: {},
    metadata: { name: "conf-01020304", annotations: { "pulumi.com/autonamed": "true" } },
  });
  expect(withName({ data: {} }, first, "conf", new Uint8Array([9]))).toEqual(first);
  expect(withName({ metadata: { name: "mine" } }, first, "conf", seed)).toEqual({ metadata: { name: "mine" } });
  expect(keepsName(first, first)).toBe(false);
  expect(keepsName({ metadata: { name: "a" } }, { metadata: { name: "a", namespace: "default" } })).toBe(true);
  expect(keepsName({ metadata: { name: "a" } }, { metadata: { name: UNKNOWN } })).toBe(false);
});

test("replacement by kind", () => {
  const changed = [
    "metadata.labels.a",
    "spec.template.spec",
    "spec.selector.matchLabels.app",
    "data.key",
    "metadata.name",
  ];
  expect(replacing("batch/v1", "Job", false, changed)).toEqual([
    "spec.template.spec",
    "spec.selector.matchLabels.app",
    "metadata.name",
  ]);
  expect(replacing("apps/v1", "Deployment", false, changed)).toEqual([
    "spec.selector.matchLabels.app",
    "metadata.name",
  ]);
  expect(replacing("v1", "ConfigMap", false, changed)).toEqual(["data.key", "metadata.name"]);
  expect(replacing("v1", "ConfigMap", true, changed)).toEqual(["metadata.name"]);
  expect(comparable({ metadata: { name: "a", namespace: "default" } })).toEqual(
    comparable({ metadata: { name: "a", namespace: undefined } }),
  );
});

test("identity of objects", () => {
  const token = parseToken("kubernetes:core/v1:ConfigMap");
  expect(idOf(objectOf(token, { metadata: { name: "a", namespace: "b" }, __internal: 1 }))).toBe("b/a");
  expect(objectOf(token, { __internal: 1 })).toEqual({ apiVersion: "v1", kind: "ConfigMap" });
});

describe("kubeconfig", () => {
  const config = (user: object) => ({
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "c", user: "u", namespace: "ns" } }],
    clusters: [{ name: "c", cluster: { server: "https://h:1/", "certificate-authority-data": "Y2E=" } }],
    users: [{ name: "u", user }],
  });

  test("contents by data and token", () => {
    const text = JSON.stringify(config({ token: "t", "client-key-data": "a2V5" }));
    expect(readKubeconfig(text)).toEqual({
      server: "https://h:1",
      namespace: "ns",
      ca: "ca",
      key: "key",
      token: "t",
      text,
    });
  });

  test.each([
    ["no map", "hello", /neither YAML or JSON/],
    ["a context that is not there", JSON.stringify({ ...config({}), "current-context": "x" }), /no context named "x"/],
    ["a plugin", JSON.stringify(config({ exec: { command: "aws" } })), /authenticates by exec/],
  ])("error: %s", (_name, text, expected) => expect(() => readKubeconfig(text)).toThrow(expected));
});
