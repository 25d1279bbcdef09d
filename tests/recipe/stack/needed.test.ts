import { neededObjects } from "../../../components/recipe/stack/workloads/needed";
import type { WorkloadsSpec } from "../../../components/recipe/spec";

const model = { image: "vllm/vllm-openai:v0.22.0", model: "Qwen/Qwen3-8B", storage: "50Gi" };
const texts = (workloads: WorkloadsSpec, monitoring?: { namespace: string }): string[] =>
  neededObjects({ workloads, ...(monitoring && { monitoring }) }, ["gpu-operator", "ai"]).map(
    ({ field, kind, name, namespace }) =>
      `${field}: ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`,
  );

test("a stack that makes all its namespaces and uses no Secret needs no objects", () => {
  expect(
    texts(
      {
        ollama: { image: "ollama/ollama:0.12.3", namespace: "ai", storage: "1Gi" },
        pods: { own: { image: "x:1" }, provider: { image: "x:1", namespace: "gpu-operator" } },
      },
      { namespace: "ai" },
    ),
  ).toEqual([]);
});

test("a stack needs the namespaces that it names, and the Secrets of running servers", () => {
  const key = { name: "keys", key: "vllm" };
  expect(
    texts(
      {
        vllm: {
          ...model,
          namespace: "llm",
          huggingFaceToken: { name: "hugging-face", key: "token" },
          apiKeySecret: key,
        },
        litellm: { namespace: "proxy", masterKeySecret: "litellm-key" },
        pods: { batch: { image: "x:1", namespace: "jobs" } },
      },
      { namespace: "monitoring" },
    ).sort(),
  ).toEqual(
    [
      "workloads.vllm.namespace: Namespace llm",
      "workloads.litellm.namespace: Namespace proxy",
      "workloads.pods.batch.namespace: Namespace jobs",
      "monitoring.namespace: Namespace monitoring",
      "workloads.vllm.huggingFaceToken: Secret llm/hugging-face",
      "workloads.vllm.apiKeySecret: Secret llm/keys",
      "workloads.litellm.masterKeySecret: Secret proxy/litellm-key",
      "workloads.litellm: Secret proxy/keys",
    ].sort(),
  );
});

test("a server that is off needs no Secret", () => {
  const token = { name: "hugging-face", key: "token" };
  expect(
    texts({ vllm: { ...model, active: false, namespace: "llm", huggingFaceToken: token } }),
  ).toEqual(["workloads.vllm.namespace: Namespace llm"]);
});

test("a Secret that vLLM and LiteLLM share is listed once", () => {
  const namespace = "llm";
  const workloads = {
    vllm: { ...model, namespace, apiKeySecret: { name: "keys", key: "vllm" } },
    litellm: { namespace, masterKeySecret: "litellm-key" },
  };
  expect(texts(workloads)).toEqual([
    "workloads.litellm.namespace: Namespace llm",
    "workloads.vllm.apiKeySecret: Secret llm/keys",
    "workloads.litellm.masterKeySecret: Secret llm/litellm-key",
  ]);
});
