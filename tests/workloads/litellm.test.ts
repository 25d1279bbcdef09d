import { LiteLlm, type LiteLlmArgs } from "talos-gpu";
import { parse } from "yaml";
import { findResource, findResources } from "../support/graph";
import { record, type Run } from "../support/recorder";

const deployment = "kubernetes:apps/v1:Deployment";
const models = ["qwen3.5:9b", "deepseek-coder:6.7b"];
const ollamaServer = (modelNames: string[]) => ({
  provider: "ollama_chat",
  models: modelNames,
  url: "http://ollama.ollama.svc:11434",
});
const registerLiteLlm = (args: Partial<LiteLlmArgs> = {}): Promise<Run> =>
  record(() => void new LiteLlm("proxy", { servers: [ollamaServer(models)], ...args }));
const container = (run: Run): any =>
  findResource(run, deployment).inputs.spec.template.spec.containers[0];

test("LiteLLM routes every model by its name to Ollama, serves on port 4000, and has an image with a version and no runtime class", async () => {
  const run = await registerLiteLlm();
  const { data } = findResource(run, "kubernetes:core/v1:ConfigMap").inputs;
  expect(parse(data["config.yaml"])).toEqual({
    model_list: models.map((model) => ({
      model_name: model,
      litellm_params: { model: `ollama_chat/${model}`, api_base: "http://ollama.ollama.svc:11434" },
    })),
  });
  expect(findResource(run, "kubernetes:core/v1:Service").inputs.spec.ports[0].port).toBe(4000);
  expect(container(run).args).toEqual(["--config", "/etc/litellm/config.yaml", "--port", "4000"]);
  expect(container(run).image).toMatch(/^ghcr\.io\/berriai\/litellm:[^:]*\d/);
  expect(findResource(run, deployment).inputs.spec.template.spec.runtimeClassName).toBeUndefined();
});

test("a changed list of models changes the pod", async () => {
  const configRevision = async (modelNames: string[]): Promise<unknown> =>
    container(await registerLiteLlm({ servers: [ollamaServer(modelNames)] })).env[0].value;
  expect(await configRevision(models)).toBe(await configRevision(models));
  expect(await configRevision(models)).not.toBe(await configRevision(["llama3.2:3b"]));
});

test("the master key comes from a Secret in an existing namespace, which the component does not create", async () => {
  const run = await registerLiteLlm({ masterKeySecret: "litellm-key", namespace: "ai" });
  expect(container(run).env[1]).toEqual({
    name: "LITELLM_MASTER_KEY",
    valueFrom: { secretKeyRef: { name: "litellm-key", key: "LITELLM_MASTER_KEY" } },
  });
  expect(findResources(run, "kubernetes:core/v1:Namespace")).toEqual([]);
  expect(findResource(run, deployment).inputs.metadata.namespace).toBe("ai");
});

test("an inactive LiteLLM has no replicas", async () => {
  expect(
    findResource(await registerLiteLlm({ active: false }), deployment).inputs.spec.replicas,
  ).toBe(0);
});

test("LiteLLM routes to several servers, each with its provider and URL", async () => {
  const servers: LiteLlmArgs["servers"] = [
    { provider: "ollama_chat", models: [models[0]!], url: "http://small.small.svc:11434" },
    {
      provider: "hosted_vllm",
      models: ["Qwen/Qwen2.5-7B-Instruct"],
      url: "http://coder.coder.svc:8000/v1",
    },
  ];
  const { data } = findResource(
    await registerLiteLlm({ servers }),
    "kubernetes:core/v1:ConfigMap",
  ).inputs;
  const { model_list: routes } = parse(data["config.yaml"]) as {
    model_list: { litellm_params: object }[];
  };
  expect(routes.map(({ litellm_params: params }) => params)).toEqual([
    { model: `ollama_chat/${models[0]}`, api_base: "http://small.small.svc:11434" },
    { model: "hosted_vllm/Qwen/Qwen2.5-7B-Instruct", api_base: "http://coder.coder.svc:8000/v1" },
  ]);
});
