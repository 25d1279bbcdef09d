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

const cluster = "talos-gpu:index:GpuCluster";
const provider = "pulumi:providers:kubernetes";

describe.each(stacks)("%s", (stack) => {
  test("registers a cluster with the stack's name and outputs, and a provider with a secret kubeconfig", async () => {
    const ran = await runStack(stack);
    expect(ran.error).toBeUndefined();
    expect(findResource(ran, cluster).name).toBe(stack);
    expect(Object.keys(ran.outputs ?? {}).sort()).toEqual([
      "endpoints",
      "gpuNodeSelector",
      "gpuReady",
      "gpuResourceName",
      ...(bootstraps(stack) ? ["kubeconfig", "machineSecrets"] : []),
      "machines",
      "runtimeClassName",
      ...(bootstraps(stack) ? ["talosconfig"] : []),
    ]);
    const made = findResources(ran, provider);
    expect(made.length).toBeGreaterThan(0);
    for (const { inputs } of made) expect(isSecret(inputs.kubeconfig)).toBe(true);
    const ours = ran.resources.filter((resource) => resource.type.startsWith("kubernetes:"));
    for (const resource of ours)
      expect([resource.name, resource.provider]).toEqual([
        resource.name,
        expect.stringContaining(provider),
      ]);
  });

  test("registers the same resources if it runs again in the same process", async () => {
    const urns = (ran: Run): string[] => ran.resources.map((resource) => resource.urn).sort();
    expect(urns(await runStack(stack))).toEqual(urns(await runStack(stack)));
  });

  test("registers the same resources in a preview as in an update", async () => {
    const urns = (ran: Run): string[] => ran.resources.map((resource) => resource.urn).sort();
    const preview = await runStack(stack, {}, { preview: true });
    expect(preview.error).toBeUndefined();
    expect(urns(preview)).toEqual(urns(await runStack(stack)));
  });
});

test("a stack that bootstraps its cluster creates the control plane, etcd and kubeconfig before GPU machines and charts", async () => {
  const ran = await runStack("modern");
  const chain = [
    findResource(ran, "talos:machine/secrets:Secrets"),
    findResource(
      ran,
      "talos:machine/configurationApply:ConfigurationApply",
      "control-configuration",
    ),
    findResource(ran, "talos:machine/bootstrap:Bootstrap"),
    findResource(ran, "talos:cluster/kubeconfig:Kubeconfig"),
    findResource(ran, "command:local:Command", "control-upgrade"),
    findResource(ran, "talos:machine/configurationApply:ConfigurationApply", "gpu-configuration"),
    findResource(ran, "command:local:Command", "gpu-upgrade"),
    findResource(ran, "kubernetes:helm.sh/v3:Release"),
  ];
  for (const [index, later] of chain.entries())
    for (const earlier of chain.slice(0, index))
      expect(dependencyUrns(ran, later)).toContain(earlier.urn);
  expect(chain[1]!.inputs.applyMode).toBe("staged_if_needing_reboot");
  expect(JSON.stringify(chain[1]!.inputs.configPatches)).toMatch(
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

// pulumi-kubernetes v4.32.0, provider/pkg/provider/provider.go, Configure: it connects once, and never again in an
// update.
test("the Kubernetes provider of a new cluster waits for the control plane's upgrade step", async () => {
  const ran = await runStack("modern");
  const providers = findResources(ran, provider).filter(({ inputs }) =>
    isSecret(inputs.kubeconfig),
  );
  expect(providers).toHaveLength(2);
  for (const made of providers)
    expectDependsOn(ran, made, findResource(ran, "command:local:Command", "control-upgrade"));
});

test("a stack that bootstraps its cluster refuses a kubeconfig, and a talosconfig without machineSecrets", async () => {
  const given = await runStack("modern", { "talos-gpu:kubeconfig": kubeconfig });
  expect(given.error?.message).toMatch(/kubeconfig: is set, but this stack bootstraps its cluster/);
  const half = await runStack("modern", { "talos-gpu:talosconfig": talosconfig });
  expect(half.error?.message).toMatch(/machineSecrets: is not set, but talosconfig is/);
});

test("a stack that bootstraps its cluster ignores KUBECONFIG", async () => {
  const before = process.env.KUBECONFIG;
  process.env.KUBECONFIG = "/nowhere/kubeconfig";
  try {
    expect((await runStack("modern")).error).toBeUndefined();
  } finally {
    if (before === undefined) delete process.env.KUBECONFIG;
    else process.env.KUBECONFIG = before;
  }
});

test("a misspelt key is refused by name before a provider is created, without a stack trace", async () => {
  const ran = await runStack("rtx5070ti", { "talos-gpu:gpuOperater": '{"version":"v25.10.1"}' });
  expect(pulumi.RunError.isInstance(ran.error)).toBe(true);
  expect(ran.error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
  expect(findResources(ran, provider)).toEqual([]);
});

test("missing credentials are reported together with other mistakes, without a stack trace", async () => {
  const before = process.env.TALOSCONFIG;
  process.env.TALOSCONFIG = "/nowhere/talosconfig";
  try {
    const ran = await runStack("rtx5070ti", {
      "talos-gpu:gpuOperater": "{}",
      "talos-gpu:talosconfig": undefined as never,
    });
    expect(ran.error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
    expect(ran.error?.message).toMatch(/talosconfig: the path in TALOSCONFIG cannot be read/);
    expect(ran.error?.message).not.toMatch(/talosconfig: is not set/);
    expect(ran.error?.stack).toBe("");
  } finally {
    if (before === undefined) delete process.env.TALOSCONFIG;
    else process.env.TALOSCONFIG = before;
  }
});

test("invalid credentials are reported together with other mistakes, and never printed", async () => {
  const wrong = {
    "talos-gpu:talosconfig": "hidden: [",
    "talos-gpu:kubeconfig": "/home/hidden/.kube/config",
  };
  const { error } = await runStack("rtx5070ti", { ...wrong, "talos-gpu:gpuOperater": "{}" });
  expect(error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
  expect(error?.message).toMatch(/talosconfig: it is not YAML; .*; pass the content of the file/);
  expect(error?.message).toMatch(/kubeconfig: it is not a YAML mapping; .*, not its path/);
  expect(error?.message).not.toContain("hidden");
  expect(error?.stack).toBe("");
});

test("the Talos provider uses the stack's Image Factory", async () => {
  const ran = await runStack("aarhus-h100", { "talos-gpu:factoryUrl": "https://factory.example" });
  expect(findResource(ran, "pulumi:providers:talos").inputs.imageFactoryUrl).toBe(
    "https://factory.example",
  );
  expect(findResource(ran, "talos:imageFactory/schematic:Schematic").provider).toContain(
    "pulumi:providers:talos",
  );
});

test("TALOS_GPU_FACTORY replaces the stack's Image Factory, also in the Talos provider", async () => {
  process.env["TALOS_GPU_FACTORY"] = "http://127.0.0.1:4";
  try {
    const ran = await runStack("aarhus-h100", {
      "talos-gpu:factoryUrl": "https://factory.example",
    });
    expect(findResource(ran, "pulumi:providers:talos").inputs.imageFactoryUrl).toBe(
      "http://127.0.0.1:4",
    );
  } finally {
    delete process.env["TALOS_GPU_FACTORY"];
  }
});
