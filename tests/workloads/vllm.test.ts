import { Vllm, type VllmArgs } from "talos-gpu";
import { vllmCommand } from "../../components/workloads/vllm";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { record, type Run } from "../support/recorder";

const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu" };
const model = "Qwen/Qwen2.5-7B-Instruct";
const deployment = "kubernetes:apps/v1:Deployment";
const registerVllm = (args: Partial<VllmArgs> = {}): Promise<Run> =>
  record(() => void new Vllm("serve", { model, ...access, ...args }));
const podSpec = (run: Run): any => findResource(run, deployment).inputs.spec.template.spec;

test("vLLM splits the model over the GPUs that it requests, with shared memory for its processes", async () => {
  const run = await registerVllm({ gpus: 2, sharedMemory: "16Gi", args: ["--max-model-len=8192"] });
  const { containers, volumes, enableServiceLinks } = podSpec(run);
  expect(containers[0].command).toEqual([
    "vllm",
    "serve",
    model,
    "--tensor-parallel-size=2",
    "--max-model-len=8192",
  ]);
  expect(containers[0].resources.limits).toEqual({ "nvidia.com/gpu": "2" });
  expect(volumes).toContainEqual({
    name: "shm",
    emptyDir: { medium: "Memory", sizeLimit: "16Gi" },
  });
  expect(containers[0].volumeMounts).toContainEqual({ name: "shm", mountPath: "/dev/shm" });
  expect(enableServiceLinks).toBe(false); // VLLM_PORT of the Service would be read as a setting
});

/** Arguments of a vLLM that runs on several machines. */
const groupArguments = [
  "--nnodes=2",
  "--node-rank=$(LWS_WORKER_INDEX)",
  "--master-addr=$(LWS_LEADER_ADDRESS)",
  "--master-port=29501",
];

test.each([
  [["-tp", "4"], 4, 1, ["-tp", "4"]],
  [
    ["--pipeline-parallel-size=2"],
    4,
    1,
    ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"],
  ],
  [[], 1, 1, ["--tensor-parallel-size=1"]],
  [[], 4, 2, ["--tensor-parallel-size=4", "--pipeline-parallel-size=2", ...groupArguments]],
  [["-tp=2"], 4, 2, ["--pipeline-parallel-size=4", ...groupArguments, "-tp=2"]],
  [["-pp", "4"], 4, 2, ["--tensor-parallel-size=2", ...groupArguments, "-pp", "4"]],
  [
    ["-dp=2"],
    4,
    2,
    ["--tensor-parallel-size=4", "--pipeline-parallel-size=1", ...groupArguments, "-dp=2"],
  ],
])(
  "with the arguments %j, %i GPUs and %i machines, vLLM runs with %j",
  (args, gpus, machines, expected) => {
    expect(vllmCommand({ model, args, gpus, machines }).slice(3)).toEqual(expected);
  },
);

describe("vLLM over two machines", () => {
  const leaderWorkerSet = "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet";
  const twoMachines = {
    gpus: 4,
    machines: 2,
    fabric: { leastBandwidth: 9, settings: { NCCL_SOCKET_IFNAME: "eth0" } },
  };

  test("is a LeaderWorkerSet that restarts as a whole, with one pod and one volume per machine", async () => {
    const run = await registerVllm({
      ...twoMachines,
      storage: "600Gi",
      storageClass: "local",
      exposure: "devicePlugin on cdi",
    });
    const { inputs } = findResource(run, leaderWorkerSet);
    expect(inputs.metadata).toMatchObject({
      name: "vllm-group",
      annotations: { "pulumi.com/waitFor": "condition=Available" },
    });
    const { leaderTemplate, workerTemplate, volumeClaimTemplates, ...rest } =
      inputs.spec.leaderWorkerTemplate;
    expect(rest).toEqual({ size: 2, restartPolicy: "RecreateGroupOnPodRestart" });
    expect(volumeClaimTemplates).toEqual([
      {
        metadata: { name: "cache" },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "local",
          resources: { requests: { storage: "600Gi" } },
        },
      },
    ]);
    for (const { metadata, spec } of [leaderTemplate, workerTemplate]) {
      expect(metadata.annotations).toEqual({ "talos-gpu/exposure": "devicePlugin on cdi" });
      const [antiAffinity] =
        spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution;
      expect(antiAffinity).toEqual({
        labelSelector: { matchLabels: { "leaderworkerset.sigs.k8s.io/name": "vllm-group" } },
        topologyKey: "kubernetes.io/hostname",
      });
      const [fabric] = spec.initContainers;
      const [server] = spec.containers;
      for (const container of [fabric, server]) {
        expect(container.resources).toEqual({ limits: { "nvidia.com/gpu": "4" } });
        expect(container.env).toContainEqual({ name: "NCCL_SOCKET_IFNAME", value: "eth0" });
        expect(container.volumeMounts).toEqual([
          { name: "cache", mountPath: "/root/.cache" },
          { name: "shm", mountPath: "/dev/shm" },
        ]);
      }
      expect(fabric.env).toContainEqual({ name: "LEAST_BANDWIDTH", value: "9" });
      expect(fabric.image).toBe(server.image);
      expect(server.env[0]).toEqual({
        name: "VLLM_HOST_IP",
        valueFrom: { fieldRef: { fieldPath: "status.podIP" } },
      });
    }
    const [leader] = leaderTemplate.spec.containers;
    const [worker] = workerTemplate.spec.containers;
    expect(worker.command).toEqual([...leader.command, "--headless"]);
    expect(worker.startupProbe).toBeUndefined();
    expect(worker.ports).toBeUndefined();
    expect(leader.startupProbe.httpGet.path).toBe("/health");
    expect(findResources(run, "kubernetes:core/v1:PersistentVolumeClaim")).toEqual([]);
  });

  test("has a Service for the leader, and an endpoint that resolves after the group", async () => {
    const { core } = await import("@pulumi/kubernetes");
    const run = await record(() => {
      const { endpoint } = new Vllm("serve", { model, ...access, ...twoMachines });
      new core.v1.ConfigMap("user", { data: { endpoint } });
    });
    expect(findResource(run, "kubernetes:core/v1:Service").inputs).toMatchObject({
      metadata: { name: "vllm" },
      spec: { selector: { "leaderworkerset.sigs.k8s.io/worker-index": "0" } },
    });
    const user = findResource(run, "kubernetes:core/v1:ConfigMap");
    expect(user.inputs.data.endpoint).toBe("http://vllm.vllm.svc:8000/v1");
    expect(dependencyUrns(run, user)).toContain(findResource(run, leaderWorkerSet).urn);
  });

  test("claims the cards of all pods from the same template", async () => {
    const run = await registerVllm({
      ...twoMachines,
      gpuResourceName: "gpu.nvidia.com",
      claim: { memory: "80Gi" },
    });
    const { leaderTemplate, workerTemplate } = findResource(run, leaderWorkerSet).inputs.spec
      .leaderWorkerTemplate;
    const name = findResource(run, "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate").inputs
      .metadata.name;
    for (const { spec } of [leaderTemplate, workerTemplate]) {
      expect(spec.resourceClaims).toEqual([{ name: "gpus", resourceClaimTemplateName: name }]);
      for (const { resources } of [...spec.initContainers, ...spec.containers])
        expect(resources).toEqual({ claims: [{ name: "gpus" }] });
    }
  });

  test("has no LeaderWorkerSet if active is false", async () => {
    expect(
      findResources(await registerVllm({ ...twoMachines, active: false }), leaderWorkerSet),
    ).toEqual([]);
  });
});

test("the Hugging Face token comes from a Secret in an existing namespace", async () => {
  const run = await registerVllm({
    namespace: "models",
    huggingFaceToken: { name: "hugging-face", key: "token" },
  });
  expect(podSpec(run).containers[0].env).toEqual([
    { name: "HF_TOKEN", valueFrom: { secretKeyRef: { name: "hugging-face", key: "token" } } },
  ]);
  expect(findResources(run, "kubernetes:core/v1:Namespace")).toEqual([]); // the Secret's namespace, which exists
  expect(findResource(run, deployment).inputs.metadata.namespace).toBe("models");
});

test("vLLM may take as long as readyWithin to start, and an update ends the old pod before it starts the new one", async () => {
  const { spec } = findResource(await registerVllm({ readyWithin: 3600 }), deployment).inputs;
  const { startupProbe } = spec.template.spec.containers[0];
  expect(startupProbe.httpGet.path).toBe("/health");
  expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(3600);
  expect(spec.strategy).toEqual({ type: "Recreate" });
  expect(spec.progressDeadlineSeconds).toBe(3600);
});

test("the endpoint is the OpenAI API's, and resolves after the Deployment", async () => {
  const { core } = await import("@pulumi/kubernetes");
  const run = await record(() => {
    const { endpoint } = new Vllm("serve", { model, ...access });
    new core.v1.ConfigMap("user", { data: { endpoint } });
  });
  const user = findResource(run, "kubernetes:core/v1:ConfigMap");
  expect(user.inputs.data.endpoint).toBe("http://vllm.vllm.svc:8000/v1");
  expect(dependencyUrns(run, user)).toContain(findResource(run, deployment).urn);
});
