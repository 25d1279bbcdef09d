import { Vllm, type VllmArgs } from "talos-gpu";
import { vllmCommand } from "../../components/workloads/vllm";
import { find, findAll, waitsFor } from "../support/graph";
import { record, type Run } from "../support/recorder";

const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu" };
const model = "Qwen/Qwen2.5-7B-Instruct";
const deployment = "kubernetes:apps/v1:Deployment";
const vllm = (args: Partial<VllmArgs> = {}): Promise<Run> =>
  record(() => void new Vllm("serve", { model, ...access, ...args }));
const pod = (run: Run): any => find(run, deployment).inputs.spec.template.spec;

test("splits the model over the GPUs that it requests, with shared memory for the processes", async () => {
  const run = await vllm({ gpus: 2, sharedMemory: "16Gi", args: ["--max-model-len=8192"] });
  const { containers, volumes, enableServiceLinks } = pod(run);
  expect(containers[0].command).toEqual(["vllm", "serve", model, "--tensor-parallel-size=2", "--max-model-len=8192"]);
  expect(containers[0].resources.limits).toEqual({ "nvidia.com/gpu": "2" });
  expect(volumes).toContainEqual({ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "16Gi" } });
  expect(containers[0].volumeMounts).toContainEqual({ name: "shm", mountPath: "/dev/shm" });
  expect(enableServiceLinks).toBe(false); // VLLM_PORT of the Service would be a setting
});

test.each([
  [["-tp", "4"], 4, ["-tp", "4"]],
  [["--pipeline-parallel-size=2"], 4, ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"]],
  [[], 1, ["--tensor-parallel-size=1"]],
])("with the arguments %j and %i GPUs it runs with %j", (args, gpus, expected) => {
  expect(vllmCommand({ model, args, gpus }).slice(3)).toEqual(expected);
});

test("the token comes from the Secret, and is nowhere else", async () => {
  const run = await vllm({ namespace: "models", huggingFaceToken: { name: "hugging-face", key: "token" } });
  expect(pod(run).containers[0].env).toEqual([
    { name: "HF_TOKEN", valueFrom: { secretKeyRef: { name: "hugging-face", key: "token" } } },
  ]);
  expect(findAll(run, "kubernetes:core/v1:Namespace")).toEqual([]); // the Secret's, which exists
  expect(find(run, deployment).inputs.metadata.namespace).toBe("models");
});

test("may take its time to come up, and gives the cards up before the next one starts", async () => {
  const { spec } = find(await vllm({ readyWithin: 3600 }), deployment).inputs;
  const { startupProbe } = spec.template.spec.containers[0];
  expect(startupProbe.httpGet.path).toBe("/health");
  expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(3600);
  expect(spec.strategy).toEqual({ type: "Recreate" });
  expect(spec.progressDeadlineSeconds).toBe(3600);
});

test("the endpoint is the OpenAI API's, and resolves once the model is served", async () => {
  const { core } = await import("@pulumi/kubernetes");
  const run = await record(() => {
    const { endpoint } = new Vllm("serve", { model, ...access });
    new core.v1.ConfigMap("user", { data: { endpoint } });
  });
  const user = find(run, "kubernetes:core/v1:ConfigMap");
  expect(user.inputs.data.endpoint).toBe("http://vllm.vllm.svc:8000/v1");
  expect(waitsFor(run, user)).toContain(find(run, deployment).urn);
});
