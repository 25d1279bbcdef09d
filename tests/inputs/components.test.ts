import * as pulumi from "@pulumi/pulumi";
import { ComfyUi, GpuCluster, GpuMachine, GpuPod, LiteLlm, Ollama, Vllm } from "talos-gpu";
import { record } from "../support/recorder";
import { kubeconfig, talosconfig } from "../support/talos";

const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu" };

/** A component, the arguments that it needs, and one wrong argument of its own. */
interface ComponentCase {
  component: string;
  create: (args: any) => unknown;
  validArgs: object;
  wrongArg: object;
  /** The wrong argument's field in the message. */
  field: string;
}

const components: ComponentCase[] = [
  {
    component: "Ollama",
    create: (args) => new Ollama("a", args),
    validArgs: access,
    wrongArg: { storage: "100GB" },
    field: "storage",
  },
  {
    component: "ComfyUi",
    create: (args) => new ComfyUi("a", args),
    validArgs: access,
    wrongArg: { image: "Upper/Case" },
    field: "image",
  },
  {
    component: "Vllm",
    create: (args) => new Vllm("a", args),
    validArgs: { ...access, model: "a/b" },
    wrongArg: { args: ["--port=1"] },
    field: "args",
  },
  {
    component: "GpuPod",
    create: (args) => new GpuPod("a", args),
    validArgs: { ...access, image: "ubuntu" },
    wrongArg: { env: { "1 A": "x" } },
    field: "env.1 A",
  },
  {
    component: "LiteLlm",
    create: (args) => new LiteLlm("a", args),
    validArgs: {
      servers: [{ provider: "ollama_chat", models: ["a"], url: "http://ollama.ollama.svc:11434" }],
    },
    wrongArg: {
      servers: [
        { provider: "ollama_chat", models: ["a b"], url: "http://ollama.ollama.svc:11434" },
      ],
    },
    field: "servers[0].models[0]",
  },
  {
    component: "GpuMachine",
    create: (args) => new GpuMachine("a", args),
    validArgs: {
      address: "10.0.0.1",
      role: "worker",
      configuration: "adopted",
      talosVersion: "v1.13.9",
      gpus: [{ model: "RTX 4090" }],
      kubeconfig,
      talosconfig,
    },
    wrongArg: { address: "10.0.0.256" },
    field: "address",
  },
];

/** The error of a program that creates a component. */
const errorOf = async (program: () => unknown): Promise<Error | undefined> =>
  (await record(() => void program())).error;

describe.each(components)("the component $component", ({ create, validArgs, wrongArg, field }) => {
  test.each([undefined, null, {}, [], "text", 1])(
    "refuses the arguments %j with an error that names a field",
    async (args) => {
      const error = await errorOf(() => create(args));
      expect(pulumi.RunError.isInstance(error)).toBe(true);
      expect(error?.message).toMatch(/^1\. \S+: .+; .+; /m);
    },
  );

  test("refuses a wrong argument as in a stack file", async () => {
    const error = await errorOf(() => create({ ...validArgs, ...wrongArg }));
    expect(error?.message).toContain(`\n1. ${field}: `);
  });

  test("refuses an Output or a Promise where plain data is expected", async () => {
    const key = Object.keys(wrongArg)[0] ?? "";
    for (const value of [pulumi.output("x"), Promise.resolve("x")]) {
      const error = await errorOf(() => create({ ...validArgs, [key]: value }));
      expect(error?.message).toMatch(
        new RegExp(`1\\. ${key}: is an? (Output|Promise), not plain data; `),
      );
    }
  });

  test("refuses an unknown field", async () => {
    const error = await errorOf(() => create({ ...validArgs, nonsense: 1 }));
    expect(error?.message).toContain("nonsense: is not a known field; ");
  });
});

test.each([undefined, null, {}, [], "text", 1, { machines: pulumi.output({}) }])(
  "GpuCluster refuses the arguments %j with an error that names a field",
  async (args) => {
    const error = await errorOf(() => new GpuCluster("a", args as any));
    expect(pulumi.RunError.isInstance(error)).toBe(true);
    expect(error?.message).toMatch(/^1\. \S+: .+; .+; /m);
  },
);

test.each(["gpu", "nvidia.com/", "nvidia.com/gpu/1", "a b/c"])(
  "%s is refused as gpuResourceName",
  async (gpuResourceName) => {
    const error = await errorOf(() => new Ollama("a", { ...access, gpuResourceName }));
    expect(error?.message).toContain("\n1. gpuResourceName: ");
  },
);

test("the URL of a LiteLLM server may be an output, and other fields of the server are checked", async () => {
  const errorWith = (server: object) =>
    errorOf(() => new LiteLlm("a", { servers: [server as any] }));
  const server = { provider: "hosted_vllm", models: ["a/b"], url: pulumi.output("http://c.d/v1") };
  expect(await errorWith(server)).toBeUndefined();
  expect((await errorWith({ ...server, url: "c.d" }))?.message).toContain("\n1. servers[0].url: ");
  expect((await errorWith({ url: server.url }))?.message).toMatch(/1\. servers\[0\]\.\S+: /);
});

test("an Output or a Promise is accepted in a field for inputs", async () => {
  const unresolvedAccess = {
    runtimeClassName: pulumi.output("nvidia"),
    gpuResourceName: Promise.resolve("nvidia.com/gpu"),
  };
  expect(await errorOf(() => new Ollama("a", unresolvedAccess))).toBeUndefined();
});
