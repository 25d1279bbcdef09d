import type * as pulumi from "@pulumi/pulumi";
import { ComfyUi, GpuPod, Ollama, type OllamaArgs } from "talos-gpu";
import { comfyUiImage } from "../../components/recipe/facts/cuda";
import { gpuWorkloads } from "../../components/workloads/index";
import { parse } from "yaml";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { planOf } from "../support/plans";
import { record, type Run } from "../support/recorder";

const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu.shared" };
const deployment = "kubernetes:apps/v1:Deployment";
const job = "kubernetes:batch/v1:Job";

const registerOllama = (args: Partial<OllamaArgs> = {}): Promise<Run> =>
  record(() => void new Ollama("chat", { ...access, ...args }));
const container = (run: Run): any =>
  findResource(run, deployment).inputs.spec.template.spec.containers[0];

describe("Ollama", () => {
  test("requests the given resource under the given runtime class, and sets no NVIDIA variable", async () => {
    const run = await registerOllama({
      gpus: 2,
      tolerations: [{ key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" }],
    });
    expect(container(run).resources.limits).toEqual({ "nvidia.com/gpu.shared": "2" });
    expect(container(run).env.map((variable: any) => variable.name)).toEqual([
      "HOME",
      "OLLAMA_MODELS",
      "OLLAMA_HOST",
    ]);
    const pod = findResource(run, deployment).inputs.spec.template.spec;
    expect(pod.runtimeClassName).toBe("nvidia");
    expect(pod.tolerations).toEqual([
      { key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" },
    ]);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
  });

  test("may take as long as readyWithin to start, and an update ends the old pod before it starts the new one", async () => {
    const { spec } = findResource(await registerOllama({ readyWithin: 900 }), deployment).inputs;
    expect(spec.strategy).toEqual({ type: "Recreate" });
    expect(spec.progressDeadlineSeconds).toBe(900);
    const { startupProbe } = spec.template.spec.containers[0];
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(900);
  });

  test("has one Job per model, which waits for the server and stays the same if a model is added", async () => {
    const runWithOneModel = await registerOllama({ models: ["llama3.2:3b"] });
    const runWithTwoModels = await registerOllama({
      models: ["mistral", "llama3.2:3b", "mistral:latest"],
    });
    expect(dependencyUrns(runWithOneModel, findResource(runWithOneModel, job))).toContain(
      findResource(runWithOneModel, deployment).urn,
    );
    expect(findResources(runWithTwoModels, job)).toHaveLength(2); // mistral is the same model as mistral:latest
    expect(findResources(runWithTwoModels, job).map(({ inputs }) => inputs)).toContainEqual(
      findResource(runWithOneModel, job).inputs,
    );
  });

  test("keeps its Deployment and volume if active is false, with no replicas and no pull", async () => {
    const run = await registerOllama({ active: false, models: ["llama3.2:3b"] });
    expect(findResource(run, deployment).inputs.spec.replicas).toBe(0);
    // Its claim may be bound only with the first pod.
    expect(findResource(run, deployment).inputs.metadata.annotations).toEqual({
      "pulumi.com/skipAwait": "true",
    });
    expect(
      findResource(await registerOllama({}), deployment).inputs.metadata.annotations,
    ).toBeUndefined();
    expect(findResources(run, job)).toEqual([]);
    expect(findResource(run, "kubernetes:core/v1:PersistentVolumeClaim").name).toBe("chat-models");
  });

  test("gives the Job that pulls models exactly the server's tolerations", async () => {
    const tolerations = [{ key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" }];
    const podOf = (run: Run): any => findResource(run, job).inputs.spec.template.spec;
    expect(podOf(await registerOllama({ models: ["mistral"], tolerations })).tolerations).toEqual(
      tolerations,
    );
    expect(podOf(await registerOllama({ models: ["mistral"] }))).not.toHaveProperty("tolerations");
  });

  test("has an endpoint that resolves after the models are pulled", async () => {
    const { core } = await import("@pulumi/kubernetes");
    const run = await record(() => {
      const { endpoint } = new Ollama("chat", { ...access, models: ["llama3.2:3b"] });
      new core.v1.ConfigMap("user", { data: { endpoint } });
    });
    const user = findResource(run, "kubernetes:core/v1:ConfigMap");
    expect(user.inputs.data.endpoint).toBe("http://ollama.ollama.svc:11434");
    expect(dependencyUrns(run, user)).toContain(findResource(run, job).urn);
  });
});

test("LiteLLM routes to every active server of language models", async () => {
  const plan = planOf("rtx5070ti");
  const smallServer = { ollama: { models: ["mistral"] } };
  const coderServer = {
    vllm: { model: "a/b", args: ["--served-model-name", "code", "chat", "--max-model-len=8192"] },
  };
  const named = {
    small: smallServer,
    coder: coderServer,
    plain: { vllm: { model: "d/e" } },
    off: { vllm: { model: "c", active: false } },
  };
  plan.spec.workloads = { litellm: {}, named, ollama: { models: ["qwen3:4b"] } };
  const routesOf = async (): Promise<string[]> => {
    const run = await record(() => void gpuWorkloads("home", plan, access, [], {}));
    const [config] = findResources(run, "kubernetes:core/v1:ConfigMap").filter(
      ({ name }) => name === "home-litellm-config",
    );
    const { model_list: models } = parse(config!.inputs.data["config.yaml"]) as {
      model_list: any[];
    };
    return models.map(
      ({ model_name: name, litellm_params: { model, api_base: url } }) => `${name} ${model} ${url}`,
    );
  };
  expect(await routesOf()).toEqual([
    "qwen3:4b ollama_chat/qwen3:4b http://ollama.ollama.svc:11434",
    "mistral ollama_chat/mistral http://small.small.svc:11434",
    "code hosted_vllm/code http://coder.coder.svc:8000/v1",
    "chat hosted_vllm/chat http://coder.coder.svc:8000/v1",
    "d/e hosted_vllm/d/e http://plain.plain.svc:8000/v1",
  ]);
  plan.spec.workloads = { litellm: { active: false } };
  expect(await routesOf()).toEqual([]);
});

test("each named server gets objects with its name, in addition to those of workloads.ollama", async () => {
  const plan = planOf("rtx5070ti");
  plan.spec.workloads = {
    ollama: {},
    named: { small: { ollama: { models: ["mistral"] } }, big: { comfyui: {} } },
  };
  let urls: pulumi.Output<Record<string, string>> | undefined;
  const run = await record(() => {
    urls = gpuWorkloads("home", plan, access, [], {});
  });
  const namesAndFields = (type: string, field: string): string[] =>
    findResources(run, type)
      .map(({ name, inputs }) => `${name} ${inputs.metadata[field]}`)
      .sort();
  expect(namesAndFields(deployment, "namespace")).toEqual([
    "home-big-deployment big",
    "home-ollama-deployment ollama",
    "home-small-deployment small",
  ]);
  expect(namesAndFields("kubernetes:core/v1:PersistentVolumeClaim", "name")).toEqual([
    "home-big-data big-data",
    "home-ollama-models ollama-models",
    "home-small-models small-models",
  ]);
  expect(findResource(run, job).inputs.spec.template.spec.containers[0].env[0].value).toBe(
    "http://small.small.svc:11434",
  );
  expect(await new Promise((resolve) => urls!.apply(resolve))).toEqual({
    ollama: "http://ollama.ollama.svc:11434",
    small: "http://small.small.svc:11434",
    big: "http://big.big.svc:8188",
  });
});

describe("ComfyUI", () => {
  test.each([
    ["12.2", "cu126-slim"],
    ["12.6", "cu126-slim"],
    ["12.8", "cu128-slim"],
    ["12.9", "cu128-slim"],
    ["13.0", "cu130-slim-v2"],
    ["13.2", "cu130-slim-v2"],
  ])("with a driver of CUDA %s, the image is %s", (cuda, image) => {
    expect(comfyUiImage(cuda)).toBe(`yanwk/comfyui-boot:${image}`);
  });

  test("serves on port 8188, and has a volume of the given size and storage class", async () => {
    const run = await record(
      () =>
        void new ComfyUi("draw", {
          ...access,
          storage: "10Gi",
          storageClass: "fast",
          cudaVersion: "12.8",
        }),
    );
    expect(container(run)).toMatchObject({
      image: "yanwk/comfyui-boot:cu128-slim",
      ports: [{ containerPort: 8188 }],
    });
    expect(findResource(run, "kubernetes:core/v1:PersistentVolumeClaim").inputs.spec).toEqual({
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "10Gi" } },
      storageClassName: "fast",
    });
  });
});

describe("GpuPod", () => {
  test("is the user's pod, with the GPU request and the RuntimeClass", async () => {
    const run = await record(
      () =>
        void new GpuPod("test", {
          ...access,
          image: "cuda",
          command: ["nvidia-smi"],
          env: { A: "b" },
          nodeSelector: { zone: "a" },
        }),
    );
    expect(findResource(run, "kubernetes:core/v1:Pod").inputs).toMatchObject({
      metadata: { name: "test", namespace: "gpu-pods" },
      spec: {
        runtimeClassName: "nvidia",
        restartPolicy: "OnFailure",
        nodeSelector: { zone: "a" },
        containers: [
          {
            image: "cuda",
            command: ["nvidia-smi"],
            env: [{ name: "A", value: "b" }],
            resources: { limits: { "nvidia.com/gpu.shared": "1" } },
          },
        ],
      },
    });
  });
});

test("a workload waits for the resource that outputs its runtime class, but its volume does not depend on it", async () => {
  const { core } = await import("@pulumi/kubernetes");
  const run = await record(() => {
    const gate = new core.v1.ConfigMap("gate", { metadata: { name: "nvidia" } });
    const runtimeClassName: pulumi.Output<string> = gate.metadata.name;
    new Ollama("chat", { ...access, runtimeClassName });
  });
  const gate = findResource(run, "kubernetes:core/v1:ConfigMap");
  expect(dependencyUrns(run, findResource(run, deployment))).toContain(gate.urn);
  // If a claim took inputs from the gate, a replacement of the gate would replace it, with all data on it.
  expect(
    Object.values(
      findResource(run, "kubernetes:core/v1:PersistentVolumeClaim").propertyDependencies,
    ).flat(),
  ).not.toContain(gate.urn);
});
