import * as pulumi from "@pulumi/pulumi";
import { GpuCluster, type GpuClusterArgs } from "talos-gpu";
import {
  clusterArgs,
  tryToRegisterCluster,
  registerCluster,
  machinesWithRoles,
  resourceTypes,
} from "../support/gpu-cluster";
import { unsafeParts, hostileName } from "../cli/hostile";
import { expectDependsOn, findResource, findResources, isSecret } from "../support/graph";
import type { RegisteredResource, Run, RunOptions } from "../support/recorder";

describe("resources", () => {
  test("machines with the same image share a schematic", async () => {
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles({ w1: "worker", w2: "worker", w3: "worker" }),
      }),
    );
    expect(findResources(run, resourceTypes.schematic)).toHaveLength(1);
    const perMachine = run.resources.filter(
      (resource) => resource.custom && resource.parent.endsWith("lab-w1"),
    );
    expect(perMachine.map(({ name }) => name)).toEqual([
      "lab-w1-configuration",
      "lab-w1-upgrade",
      "lab-w1-node",
    ]);
  });

  test.each(["rtx5070ti", "aarhus-h100"])(
    "%s: all resources are below the cluster, and have its name",
    async (stack) => {
      const run = await registerCluster(clusterArgs(stack));
      const [cluster] = findResources(run, resourceTypes.cluster);
      for (const resource of run.resources.filter(
        ({ type }) => !["pulumi:pulumi:Stack", resourceTypes.cluster].includes(type),
      )) {
        // A Job's resource is named after its object, so the name contains the cluster only as a hash.
        const isNamedAfterCluster =
          resource.name.startsWith("lab-") || resource.type === resourceTypes.job;
        const { name } = resource;
        expect({ name, isNamedAfterCluster }).toEqual({ name, isNamedAfterCluster: true });
        expect({ name, ancestors: ancestors(run, resource) }).toEqual({
          name,
          ancestors: expect.arrayContaining([cluster!.urn]),
        });
      }
      expect(new Set(run.resources.map((resource) => resource.urn)).size).toBe(
        run.resources.length,
      );
    },
  );

  test("credentials are only in secret inputs", async () => {
    const run = await registerCluster(
      clusterArgs("rtx5070ti", { kubeconfig: "clusters: [{ name: kubeconfig-content }]" }),
    );
    const upgrade = findResource(run, resourceTypes.program, "-upgrade");
    expect(isSecret(upgrade.inputs.environment.TALOS_GPU_KUBECONFIG)).toBe(true);
    for (const { name, inputs } of run.resources) {
      const text = JSON.stringify(inputs, (_key, value: unknown) =>
        isSecret(value) ? "secret" : value,
      );
      for (const secret of ["kubeconfig-content", "c2VjcmV0", "a2V5", "Y3J0"])
        expect({ name, text }).toEqual({ name, text: expect.not.stringContaining(secret) });
    }
  });
});

describe("outputs", () => {
  test("have the machines' images, and the fields that pods need", async () => {
    const outputs = await resolvedOutputs(clusterArgs("rtx5070ti"));
    expect(outputs).toEqual({
      machines: {
        "k8s-worker4": {
          talosVersion: "v1.12.6",
          driverVersion: "570.211.01",
          schematicId: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
      gpuReady: true,
      gpuNodeSelector: { "nvidia.com/gpu.present": "true" },
      runtimeClassName: "nvidia",
      gpuResourceName: "nvidia.com/gpu",
      endpoints: { ollama: "http://ollama.ollama.svc:11434" },
    });
  });

  test("wait for every smoke test", async () => {
    const { core } = await import("@pulumi/kubernetes");
    const run = await registerCluster(
      clusterArgs("aarhus-h100", { machines: machinesWithRoles({ w1: "worker", w2: "worker" }) }),
      {},
      (cluster) => {
        new core.v1.ConfigMap("user", { data: { runtimeClass: cluster.runtimeClassName } });
      },
    );
    const userConfigMap = findResource(run, "kubernetes:core/v1:ConfigMap", "user");
    const jobs = findResources(run, resourceTypes.job);
    expect(jobs).toHaveLength(2);
    for (const job of jobs) expectDependsOn(run, userConfigMap, job);
  });

  test("are known at preview for pods, and not yet for machines", async () => {
    const outputs = await resolvedOutputs(clusterArgs("rtx5070ti"), { preview: true });
    expect(outputs).toMatchObject({
      runtimeClassName: "nvidia",
      gpuResourceName: "nvidia.com/gpu",
      gpuNodeSelector: { "nvidia.com/gpu.present": "true" },
    });
    expect(outputs.machines).toBeUndefined();
    expect(outputs.gpuReady).toBeUndefined();
  });
});

describe("a stack with mistakes", () => {
  test("is refused with all mistakes before anything is registered", async () => {
    const run = await tryToRegisterCluster(
      clusterArgs("rtx5070ti", {
        talosVersoin: "v1.12.6",
        driver: { branch: "beta" },
        clusterEndpoint: undefined,
        kubeconfig: undefined,
      }),
    );
    expect(pulumi.RunError.isInstance(run.error)).toBe(true);
    expect(run.error?.message).toMatch(/talosVersoin: /);
    expect(run.error?.message).toMatch(/driver\.branch: /);
    expect(run.error?.message).toMatch(/kubeconfig: is not set/);
    expect(run.resources.filter((resource) => resource.type !== "pulumi:pulumi:Stack")).toEqual([]);
  });

  test("is refused if an owned machine lacks the secrets of its cluster", () => {
    expect(() => GpuCluster.plan(clusterArgs("rtx5070ti", { machineSecrets: undefined }))).toThrow(
      /machineSecrets: is not set/,
    );
    expect(() =>
      GpuCluster.plan(clusterArgs("aarhus-h100", { machineSecrets: undefined })),
    ).not.toThrow();
  });
});

describe("a cluster that the stack bootstraps", () => {
  const bootstrapTypes = [
    "talos:machine/bootstrap:Bootstrap",
    "talos:cluster/kubeconfig:Kubeconfig",
  ];
  const noCredentials = {
    talosconfig: undefined,
    machineSecrets: undefined,
    kubeconfig: undefined,
  };
  /** Registers a cluster with these control planes, in maintenance mode, and returns its bootstrap and kubeconfig. */
  const registerBootstrapped = async (
    controlPlanes: string[],
    changes: Record<string, unknown> = {},
  ): Promise<RegisteredResource[]> => {
    const { machines } = clusterArgs("modern");
    const { control, ...otherMachines } = machines as Record<string, object>;
    const controlPlaneMachines = Object.fromEntries(
      controlPlanes.map((name, index) => [name, { ...control, address: `192.0.2.${30 + index}` }]),
    );
    const run = await registerCluster(
      clusterArgs("modern", {
        ...noCredentials,
        machines: { ...otherMachines, ...controlPlaneMachines },
        ...changes,
      }),
    );
    expect(run.error).toBeUndefined();
    return bootstrapTypes.map((type) => findResource(run, type));
  };

  test.each([
    ["that loses its first control plane", ["cp-2", "cp-3"]],
    ["that gets a control plane before all others", ["alpha", "cp-1", "cp-2", "cp-3"]],
  ])("%s is not bootstrapped a second time", async (_, controlPlanes) => {
    const resourcesBefore = await registerBootstrapped(["cp-1", "cp-2", "cp-3"]);
    const resourcesAfter = await registerBootstrapped(controlPlanes);
    expect(resourcesAfter.map(({ urn }) => urn)).toEqual(resourcesBefore.map(({ urn }) => urn));
    expect(resourcesAfter[0]!.ignoreChanges).toEqual(["node", "endpoint", "clientConfiguration"]);
  });

  test("has all generated credentials marked as secrets", async () => {
    const run = await registerCluster(clusterArgs("modern", noCredentials));
    const upgrade = findResource(run, resourceTypes.program, "-control-upgrade");
    expect(isSecret(upgrade.inputs.environment.TALOS_GPU_TALOSCONFIG)).toBe(true);
    const [configuration] = findResources(
      run,
      "talos:machine/configurationApply:ConfigurationApply",
    );
    expect(isSecret(configuration!.inputs.clientConfiguration)).toBe(true);
    const secretOf = (type: string): string[] => findResource(run, type).secretOutputs.toSorted();
    // If these were secret as a whole, the program would receive them wrapped (bootstrap.ts).
    expect(secretOf("talos:machine/secrets:Secrets")).toEqual([]);
    expect(secretOf("talos:cluster/kubeconfig:Kubeconfig")).toEqual([
      "kubeconfigRaw",
      "kubernetesClientConfiguration",
    ]);
  });

  test("pulls the images of a Kubernetes release before any machine gets its configuration", async () => {
    const run = await registerCluster(clusterArgs("modern", noCredentials));
    const images = findResource(run, resourceTypes.program, "lab-images");
    expect(images.inputs["create"]).toMatch(/pull-images$/);
    expect(JSON.parse(images.inputs["stdin"])).toMatchObject({
      version: "v1.36.0",
      machines: [
        { machine: "control", role: "controlplane" },
        { machine: "gpu", role: "worker" },
      ],
    });
    const preflight = findResource(run, resourceTypes.program, "lab-preflight");
    expectDependsOn(run, images, preflight);
    const configurations = findResources(
      run,
      "talos:machine/configurationApply:ConfigurationApply",
    );
    expect(configurations).toHaveLength(2);
    for (const configuration of configurations) expectDependsOn(run, configuration, images);
  });

  test("fetches its kubeconfig again if clusterEndpoint changes", async () => {
    const clusterEndpoint = "https://192.0.2.99:6443";
    const [, kubeconfigBefore] = await registerBootstrapped(["cp-1"]);
    const [bootstrap, kubeconfigAfter] = await registerBootstrapped(["cp-1"], { clusterEndpoint });
    expect(kubeconfigBefore!.replacementTrigger).toBe("https://192.0.2.20:6443");
    expect(kubeconfigAfter!.replacementTrigger).toBe(clusterEndpoint);
    expect(bootstrap!.replacementTrigger).toBeUndefined();
  });
});

test("a line break in a name is escaped in the program's error", () => {
  const machine = { address: "192.0.2.1", role: "worker", configuration: "adopted" };
  const args = clusterArgs("rtx5070ti", { machines: { [hostileName]: machine } });
  const message = errorMessageOf(() => GpuCluster.plan(args));
  expect(message).toContain("forged");
  expect(unsafeParts(message)).toEqual([]);
});

test("findings of lookups are reported like findings of the arguments", () => {
  const lookupFindings = [
    { check: "x", field: "elsewhere", problem: "is wrong", why: "it is", remedy: "fix it" },
  ];
  expect(() => GpuCluster.plan(clusterArgs("rtx5070ti"), lookupFindings)).toThrow(
    /elsewhere: is wrong/,
  );
});

function ancestors(run: Run, resource: RegisteredResource): string[] {
  const parent = run.resources.find((candidate) => candidate.urn === resource.parent);
  return parent ? [parent.urn, ...ancestors(run, parent)] : [];
}

/** The resolved outputs of a cluster; unknown ones are missing. */
async function resolvedOutputs(
  args: GpuClusterArgs,
  options: RunOptions = {},
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  await registerCluster(args, options, (cluster) => {
    const { machines, gpuReady, runtimeClassName, gpuResourceName, gpuNodeSelector, endpoints } =
      cluster;
    const outputs = {
      machines,
      gpuReady,
      runtimeClassName,
      gpuResourceName,
      gpuNodeSelector,
      endpoints,
    };
    for (const [key, output] of Object.entries(outputs)) {
      (output as pulumi.Output<unknown>).apply((value) => void (values[key] = value));
    }
  });
  return values;
}

function errorMessageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}
