import { gpuStack } from "../../components/kubernetes";
import { find } from "../support/graph";
import { planOf } from "../support/plans";
import { record } from "../support/recorder";

const smokeTest = async (changes: Record<string, unknown> = {}): Promise<any> => {
  const run = await record(() => void gpuStack("lab", planOf("aarhus-h100", changes), [], {}));
  return find(run, "kubernetes:batch/v1:Job").inputs;
};

test("requests one unit through the device plugin, on its machine, within the gate's limit", async () => {
  const { spec } = await smokeTest({ timeouts: { gate: "5m" } });
  expect(spec.activeDeadlineSeconds).toBe(300);
  const pod = spec.template.spec;
  expect(pod).toMatchObject({ runtimeClassName: "nvidia", nodeSelector: { "kubernetes.io/hostname": "aarhus-h100" } });
  expect(pod.nodeName).toBeUndefined(); // it would pass the scheduler by, and with it the count of free cards
  expect(pod.tolerations).toContainEqual({
    key: "node-role.kubernetes.io/control-plane",
    operator: "Exists",
    effect: "NoSchedule",
  });
  expect(pod.containers[0].resources.limits).toEqual({ "nvidia.com/gpu": "1" });
  expect(pod.containers[0].env).toBeUndefined(); // NVIDIA_VISIBLE_DEVICES would override the device plugin's
});

test("its last words are in the pod's status, where the doctor reads them", async () => {
  const { spec } = await smokeTest();
  expect(spec.template.spec.containers[0].terminationMessagePolicy).toBe("FallbackToLogsOnError");
});

test("the same machine and release: the same Job", async () => {
  expect(await smokeTest()).toEqual(await smokeTest());
});

test("a workload more: the same Job", async () => {
  expect(await smokeTest({ workloads: { ollama: {} } })).toEqual(await smokeTest());
});

test.each<[string, Record<string, unknown>]>([
  ["driver", { talosVersion: "v1.12.6" }],
  ["device plugin", { devicePlugin: { version: "0.18.2", namespace: "kube-system" } }],
  ["its values", { devicePlugin: { version: "0.17.4", namespace: "kube-system", values: { failOnInitError: false } } }],
  ["sharing", { sharing: { timeSlicing: { replicas: 2 } } }],
])("another %s: another Job", async (_what, changes) => {
  const [before, after] = [await smokeTest(), await smokeTest(changes)];
  expect(after.metadata.name).not.toBe(before.metadata.name);
});

test("a long machine name still gives a name that a Job's pods can carry as label", async () => {
  const machine = { address: "192.0.2.1", role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const { metadata } = await smokeTest({ machines: { [`gpu.${"x".repeat(80)}.example`]: machine } });
  expect(metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])$/);
});
