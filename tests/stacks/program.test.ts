import * as pulumi from "@pulumi/pulumi";
import {
  expectDependsOn,
  findResource,
  findResources,
  isSecret,
  dependencyUrns,
} from "../support/graph";
import type { Run } from "../support/recorder";
import { bootstraps, runStack } from "../support/stack-run";
import { stacks } from "../support/stacks";
import { kubeconfig, talosconfig } from "../support/talos";

const clusterType = "talos-gpu:index:GpuCluster";
const kubernetesProvider = "pulumi:providers:kubernetes";

const urns = (run: Run): string[] => run.resources.map((resource) => resource.urn).sort();

describe.each(stacks)("the stack %s", (stack) => {
  let run: Awaited<ReturnType<typeof runStack>>;
  beforeAll(async () => {
    run = await runStack(stack);
  });

  test("registers a cluster with its name and outputs, and gives every Kubernetes object a provider with a secret kubeconfig", () => {
    expect(run.error).toBeUndefined();
    expect(findResource(run, clusterType).name).toBe(stack);
    expect(Object.keys(run.outputs ?? {}).sort()).toEqual([
      "endpoints",
      "gpuNodeSelector",
      "gpuReady",
      "gpuResourceName",
      ...(bootstraps(stack) ? ["kubeconfig", "machineSecrets"] : []),
      "machines",
      "runtimeClassName",
      ...(bootstraps(stack) ? ["talosconfig"] : []),
    ]);
    const providers = findResources(run, kubernetesProvider);
    expect(providers.length).toBeGreaterThan(0);
    for (const { inputs } of providers) expect(isSecret(inputs.kubeconfig)).toBe(true);
    const kubernetesObjects = run.resources.filter(({ type }) => type.startsWith("kubernetes:"));
    for (const { name, provider } of kubernetesObjects)
      expect({ name, provider }).toEqual({
        name,
        provider: expect.stringContaining(kubernetesProvider),
      });
  });

  test("registers the same resources if it runs again in the same process", async () => {
    expect(urns(await runStack(stack))).toEqual(urns(run));
  });

  test("registers the same resources in a preview as in an update", async () => {
    const preview = await runStack(stack, {}, { preview: true });
    expect(preview.error).toBeUndefined();
    expect(urns(preview)).toEqual(urns(run));
  });
});

test("a stack that bootstraps its cluster creates the control plane, etcd and kubeconfig before GPU machines and charts", async () => {
  const run = await runStack("modern");
  const controlConfiguration = findResource(
    run,
    "talos:machine/configurationApply:ConfigurationApply",
    "control-configuration",
  );
  const resourcesInOrder = [
    findResource(run, "talos:machine/secrets:Secrets"),
    controlConfiguration,
    findResource(run, "talos:machine/bootstrap:Bootstrap"),
    findResource(run, "talos:cluster/kubeconfig:Kubeconfig"),
    findResource(run, "command:local:Command", "control-upgrade"),
    findResource(run, "talos:machine/configurationApply:ConfigurationApply", "gpu-configuration"),
    findResource(run, "command:local:Command", "gpu-upgrade"),
    findResource(run, "kubernetes:helm.sh/v3:Release"),
  ];
  for (const [index, later] of resourcesInOrder.entries())
    for (const earlier of resourcesInOrder.slice(0, index))
      expect(dependencyUrns(run, later)).toContain(earlier.urn);
  expect(controlConfiguration.inputs.applyMode).toBe("staged_if_needing_reboot");
  expect(JSON.stringify(controlConfiguration.inputs.configPatches)).toMatch(
    /metal-installer\/[0-9a-f]{64}:v1.13.0/,
  );
});

test("a stack that bootstraps its cluster outputs the credentials as secrets", async () => {
  const { outputs = {} } = await runStack("modern");
  const { talosconfig, machineSecrets, kubeconfig } = outputs as Record<
    string,
    pulumi.Output<string>
  >;
  for (const output of [talosconfig!, machineSecrets!, kubeconfig!])
    expect(await pulumi.isSecret(output)).toBe(true);
});

// The provider connects once in an update, and never again (pulumi-kubernetes v4.32.0,
// provider/pkg/provider/provider.go, Configure).
test("the Kubernetes provider of a new cluster waits for the control plane's upgrade step", async () => {
  const run = await runStack("modern");
  const providers = findResources(run, kubernetesProvider).filter(({ inputs }) =>
    isSecret(inputs.kubeconfig),
  );
  expect(providers).toHaveLength(2);
  for (const provider of providers)
    expectDependsOn(run, provider, findResource(run, "command:local:Command", "control-upgrade"));
});

test("a stack that bootstraps its cluster refuses a kubeconfig, and a talosconfig without machineSecrets", async () => {
  const withKubeconfig = await runStack("modern", { "talos-gpu:kubeconfig": kubeconfig });
  expect(withKubeconfig.error?.message).toMatch(
    /kubeconfig: is set, but this stack bootstraps its cluster/,
  );
  const withTalosconfig = await runStack("modern", { "talos-gpu:talosconfig": talosconfig });
  expect(withTalosconfig.error?.message).toMatch(
    /machineSecrets: is not set, but talosconfig is set/,
  );
});

test("a stack that bootstraps its cluster ignores KUBECONFIG", async () => {
  const savedKubeconfig = process.env.KUBECONFIG;
  process.env.KUBECONFIG = "/nowhere/kubeconfig";
  try {
    expect((await runStack("modern")).error).toBeUndefined();
  } finally {
    if (savedKubeconfig === undefined) delete process.env.KUBECONFIG;
    else process.env.KUBECONFIG = savedKubeconfig;
  }
});

test("a misspelt key is refused by name before a provider is created, without a stack trace", async () => {
  const run = await runStack("rtx5070ti", { "talos-gpu:gpuOperater": '{"version":"v25.10.1"}' });
  expect(pulumi.RunError.isInstance(run.error)).toBe(true);
  expect(run.error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
  expect(findResources(run, kubernetesProvider)).toEqual([]);
});

test("missing credentials are reported together with other mistakes, without a stack trace", async () => {
  const savedTalosconfig = process.env.TALOSCONFIG;
  process.env.TALOSCONFIG = "/nowhere/talosconfig";
  try {
    const run = await runStack("rtx5070ti", {
      "talos-gpu:gpuOperater": "{}",
      "talos-gpu:talosconfig": undefined as never,
    });
    expect(run.error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
    expect(run.error?.message).toMatch(/talosconfig: the path in TALOSCONFIG cannot be read/);
    expect(run.error?.message).not.toMatch(/talosconfig: is not set/);
    expect(run.error?.stack).toBe("");
  } finally {
    if (savedTalosconfig === undefined) delete process.env.TALOSCONFIG;
    else process.env.TALOSCONFIG = savedTalosconfig;
  }
});

test("invalid credentials are reported together with other mistakes, and never printed", async () => {
  const wrongCredentials = {
    "talos-gpu:talosconfig": "hidden: [",
    "talos-gpu:kubeconfig": "/home/hidden/.kube/config",
  };
  const { error } = await runStack("rtx5070ti", {
    ...wrongCredentials,
    "talos-gpu:gpuOperater": "{}",
  });
  expect(error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
  expect(error?.message).toMatch(/talosconfig: it is not YAML; .*; pass the content of the file/);
  expect(error?.message).toMatch(/kubeconfig: it is not a YAML mapping; .*, not its path/);
  expect(error?.message).not.toContain("hidden");
  expect(error?.stack).toBe("");
});

test("the Talos provider uses the stack's Image Factory", async () => {
  const run = await runStack("aarhus-h100", { "talos-gpu:factoryUrl": "https://factory.example" });
  expect(findResource(run, "pulumi:providers:talos").inputs.imageFactoryUrl).toBe(
    "https://factory.example",
  );
  expect(findResource(run, "talos:imageFactory/schematic:Schematic").provider).toContain(
    "pulumi:providers:talos",
  );
});

test("TALOS_GPU_FACTORY replaces the stack's Image Factory, also in the Talos provider", async () => {
  process.env["TALOS_GPU_FACTORY"] = "http://127.0.0.1:4";
  try {
    const run = await runStack("aarhus-h100", {
      "talos-gpu:factoryUrl": "https://factory.example",
    });
    expect(findResource(run, "pulumi:providers:talos").inputs.imageFactoryUrl).toBe(
      "http://127.0.0.1:4",
    );
  } finally {
    delete process.env["TALOS_GPU_FACTORY"];
  }
});
