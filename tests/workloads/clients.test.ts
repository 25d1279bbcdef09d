import { ComfyUi, LiteLlm, Ollama, Vllm } from "talos-gpu";
import { parse } from "yaml";
import { judge, renderFinding } from "../../components/recipe";
import { allowedNamespaces } from "../../components/recipe/stack/workloads";
import { readStackFile } from "../../stacks/stack-file";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { record, type Run } from "../support/recorder";

// The clients that a server accepts: every pod of the cluster, the pods of some namespaces, or clients with a key.

const types = {
  policy: "kubernetes:networking.k8s.io/v1:NetworkPolicy",
  deployment: "kubernetes:apps/v1:Deployment",
  group: "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
  config: "kubernetes:core/v1:ConfigMap",
};
const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu" };
const model = "Qwen/Qwen2.5-7B-Instruct";
const server = { provider: "hosted_vllm", models: [model], url: "http://vllm.vllm.svc:8000/v1" };

const withAllowFrom = (allowFrom?: string[]) => (allowFrom === undefined ? {} : { allowFrom });
const servers: [kind: string, create: (allowFrom?: string[]) => void][] = [
  ["ollama", (allowFrom) => void new Ollama("s", { ...access, ...withAllowFrom(allowFrom) })],
  ["comfyui", (allowFrom) => void new ComfyUi("s", { ...access, ...withAllowFrom(allowFrom) })],
  ["vllm", (allowFrom) => void new Vllm("s", { model, ...access, ...withAllowFrom(allowFrom) })],
  [
    "litellm",
    (allowFrom) => void new LiteLlm("s", { servers: [server], ...withAllowFrom(allowFrom) }),
  ],
];

describe.each(servers)("the server %s", (kind, create) => {
  test("with allowFrom admits its own and the listed namespaces, by a NetworkPolicy that exists before its pod", async () => {
    const run = await record(() => create(["open-webui"]));
    const policy = findResource(run, types.policy);
    const { metadata, spec } = policy.inputs;
    const { template, selector } = findResource(run, types.deployment).inputs.spec;
    expect(metadata).toMatchObject({ name: kind, namespace: kind });
    expect(spec.podSelector).toEqual({ matchLabels: template.metadata.labels as object });
    expect(spec.podSelector).toEqual(selector);
    expect(spec.policyTypes).toEqual(["Ingress"]);
    expect(spec.ingress[0]).toEqual({
      from: [
        { podSelector: {} },
        { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "open-webui" } } },
      ],
      ports: [{ port: "http" }],
    });
    expect(template.spec.containers[0].ports).toMatchObject([{ name: "http" }]);
    expect(dependencyUrns(run, findResource(run, types.deployment))).toContain(policy.urn);
  });

  test("with an empty allowFrom admits only its own namespace", async () => {
    const run = await record(() => create([]));
    expect(findResource(run, types.policy).inputs.spec.ingress[0].from).toEqual([
      { podSelector: {} },
    ]);
  });

  test("without allowFrom has no NetworkPolicy", async () => {
    expect(findResources(await record(() => create()), types.policy)).toEqual([]);
  });
});

test("the NetworkPolicy lets the pods of a server on several machines reach each other at every port", async () => {
  const run = await record(
    () => void new Vllm("s", { model, ...access, machines: 2, allowFrom: [] }),
  );
  const policy = findResource(run, types.policy);
  const { leaderTemplate, workerTemplate } = findResource(run, types.group).inputs.spec
    .leaderWorkerTemplate;
  const pods = policy.inputs.spec.podSelector as object;
  expect(policy.inputs.spec.ingress[1]).toEqual({ from: [{ podSelector: pods }] });
  for (const { metadata } of [leaderTemplate, workerTemplate])
    expect(pods).toEqual({ matchLabels: metadata.labels as object });
  expect(dependencyUrns(run, findResource(run, types.group))).toContain(policy.urn);
});

describe("vLLM's API key", () => {
  const apiKeySecret = { name: "vllm-key", key: "key" };
  const containerEnv = (run: Run): any =>
    findResource(run, types.deployment).inputs.spec.template.spec.containers[0].env;

  test("comes from the user's Secret", async () => {
    const run = await record(
      () => void new Vllm("s", { model, ...access, namespace: "ai", apiKeySecret }),
    );
    expect(containerEnv(run)).toEqual([
      { name: "VLLM_API_KEY", valueFrom: { secretKeyRef: apiKeySecret } },
    ]);
  });

  test("reaches LiteLLM as a variable from a Secret, not in its configuration", async () => {
    const openServer = {
      provider: "ollama_chat",
      models: ["llama3.2:3b"],
      url: "http://ollama.ollama.svc:11434",
    };
    const run = await record(
      () =>
        void new LiteLlm("s", {
          servers: [openServer, { ...server, apiKeySecret }],
          masterKeySecret: "own",
        }),
    );
    expect(containerEnv(run).slice(1)).toEqual([
      {
        name: "LITELLM_MASTER_KEY",
        valueFrom: { secretKeyRef: { name: "own", key: "LITELLM_MASTER_KEY" } },
      },
      { name: "SERVER_KEY_1", valueFrom: { secretKeyRef: apiKeySecret } },
    ]);
    const { model_list: routes } = parse(
      findResource(run, types.config).inputs.data["config.yaml"] as string,
    ) as {
      model_list: { litellm_params: object }[];
    };
    expect(routes.map(({ litellm_params }) => litellm_params)).toEqual([
      { model: "ollama_chat/llama3.2:3b", api_base: openServer.url },
      { model: `hosted_vllm/${model}`, api_base: server.url, api_key: "os.environ/SERVER_KEY_1" },
    ]);
  });
});

describe("in a stack", () => {
  const clientNotes = (workloads: object): string[] => {
    const { findings, remarks } = judge({ ...readStackFile("aarhus-h100"), workloads });
    expect(findings).toEqual([]);
    return remarks.map(renderFinding).filter((note) => note.includes("every pod of the cluster"));
  };

  test("LiteLLM's namespace may reach servers of language models, and no other server", () => {
    const workloads = { litellm: { namespace: "gateway" }, ollama: { models: ["a"] }, comfyui: {} };
    const allowFrom = ["open-webui"];
    expect(allowedNamespaces({ workloads }, "ollama", { allowFrom })).toEqual([
      "open-webui",
      "gateway",
    ]);
    expect(allowedNamespaces({ workloads }, "comfyui", { allowFrom })).toEqual(["open-webui"]);
    expect(allowedNamespaces({ workloads }, "ollama", {})).toBeUndefined();
    expect(allowedNamespaces({ workloads: {} }, "ollama", { allowFrom })).toEqual(["open-webui"]);
  });

  test("a note names each server that every pod can use, and the fields that restrict it", () => {
    const vllm = { model, namespace: "ai" };
    expect(clientNotes({ ollama: { active: false }, vllm, litellm: {} })).toEqual([
      "workloads.litellm: every pod of the cluster can use the server's models; clients need no key; set masterKeySecret, or list the namespaces of the clients in workloads.litellm.allowFrom",
      "workloads.vllm: every pod of the cluster can use the server; clients need no key; set apiKeySecret, and list the namespaces of the clients in workloads.vllm.allowFrom",
    ]);
    expect(clientNotes({ named: { small: { comfyui: {} } } })).toEqual([
      expect.stringMatching(
        /^workloads\.named\.small\.comfyui: .* run workflows on the server.*comfyui\.allowFrom$/,
      ),
    ]);
  });

  test("a server gets no note if it is closed or has a key", () => {
    const vllmWithKey = { model, namespace: "ai", apiKeySecret: { name: "k", key: "k" } };
    expect(
      clientNotes({
        ollama: { models: ["llama3.2:3b"], allowFrom: [] },
        litellm: { masterKeySecret: "k" },
      }),
    ).toEqual([]);
    expect(clientNotes({ vllm: vllmWithKey, litellm: { masterKeySecret: "k" } })).toEqual([]);
  });
});
