import { GpuCluster } from "talos-gpu";
import { namedByPulumi } from "../../components/kubernetes/pods";
import {
  clusterArgs,
  registerCluster,
  machinesWithRoles,
  resourceTypes,
} from "../support/gpu-cluster";
import { expectDependsOn, findResource, findResources, dependencyUrns } from "../support/graph";
import type { RegisteredResource } from "../support/recorder";

describe("order", () => {
  test("each step from the schematic to the pull of a model waits for all steps before it", async () => {
    const run = await registerCluster(clusterArgs("rtx5070ti"));
    const chain = [
      findResource(run, resourceTypes.schematic),
      findResource(run, resourceTypes.program, "lab-preflight"),
      findResource(run, resourceTypes.configuration),
      findResource(run, resourceTypes.program, "-upgrade"),
      findResource(run, resourceTypes.node),
      findResource(run, resourceTypes.namespace, "lab-namespace"),
      findResource(run, "kubernetes:apps/v1:DaemonSet", "-markers"),
      findResource(run, resourceTypes.release),
      findResource(run, resourceTypes.job, namedByPulumi("lab", "gpu-smoke-test", "k8s-worker4")),
      findResource(run, resourceTypes.deployment, "ollama-deployment"),
      findResource(run, resourceTypes.job, pullJob),
    ];
    for (const [index, later] of chain.entries()) {
      for (const earlier of chain.slice(0, index)) expectDependsOn(run, later, earlier);
    }
  });

  test.each([
    // If the stack has a RuntimeClass of its own, it creates it only after the operator's has gone.
    [
      "aarhus-h100",
      ["kubernetes:node.k8s.io/v1:RuntimeClass", resourceTypes.release],
      /await-free$/,
    ],
    [
      "rtx5070ti",
      ["kubernetes:core/v1:ConfigMap", "kubernetes:apps/v1:DaemonSet", resourceTypes.release],
      /^$/,
    ],
  ])(
    "%s: if the stack gets another kind of GPU provider, the former one is replaced before any machine changes",
    async (stack, expectedTypes, expectedCommand) => {
      const run = await registerCluster(clusterArgs(stack));
      const exposure = findResource(run, resourceTypes.program, "-exposure");
      expect(exposure).toMatchObject({
        deleteBeforeReplace: true,
        inputs: { triggers: ["legacy", expect.any(String)] },
      });
      expect(exposure.inputs["create"] ?? "").toMatch(expectedCommand);
      const { create, stdin = "{}" } = exposure.inputs;
      expect(JSON.parse(stdin).mark?.valuePrefix).toBe(create && "talos-gpu/test/");
      expect(exposure.inputs["addPreviousOutputInEnv"]).toBe(create && false);
      const replacedResources = run.resources.filter(({ replaceWith }) =>
        replaceWith.includes(exposure.urn),
      );
      expect(replacedResources.map(({ type }) => type).sort()).toEqual(expectedTypes.sort());
      // Without such an input, the engine may delete a resource before it knows its provider.
      const withDependentInput = replacedResources.filter(({ propertyDependencies }) =>
        Object.values(propertyDependencies).some((urns) => urns.includes(exposure.urn)),
      );
      expect(withDependentInput.map(({ type }) => type).sort()).toEqual(
        expectedTypes.filter((type) => type !== "kubernetes:apps/v1:DaemonSet").sort(),
      );
      const preflight = findResource(run, resourceTypes.program, "lab-preflight");
      expectDependsOn(run, exposure, preflight);
      for (const program of findResources(run, resourceTypes.program))
        if (program !== exposure && program !== preflight) expectDependsOn(run, program, exposure);
    },
  );

  test("a group of pods waits for LeaderWorkerSet's release, which waits for its namespace but not for the gate", async () => {
    const run = await registerCluster(clusterArgs("large"));
    const release = findResource(run, resourceTypes.release, "-lws-release");
    const group = findResource(run, resourceTypes.group);
    expect(release.inputs).toMatchObject({
      name: "lws",
      namespace: "lws-system",
      version: "0.9.0",
    });
    expectDependsOn(run, release, findResource(run, resourceTypes.namespace, "lab-lws-system"));
    expectDependsOn(run, group, release);
    expectDependsOn(run, group, findResource(run, resourceTypes.program, "lab-gate"));
    expect(dependencyUrns(run, release)).not.toContain(
      findResource(run, resourceTypes.program, "lab-gate").urn,
    );
    expect(
      JSON.parse(findResource(run, resourceTypes.program, "lab-preflight").inputs["stdin"])
        .namespaces,
    ).toContain("lws-system");
  });

  test("the resource that looks for an external LeaderWorkerSet is named after the field that needs it", async () => {
    const run = await registerCluster(clusterArgs("large", { leaderWorkerSet: undefined }));
    expect(run.reads).toMatchObject([
      {
        name: "lab-machines-of-a-model-need-leaderWorkerSet",
        id: "leaderworkersets.leaderworkerset.x-k8s.io",
      },
    ]);
    expect(findResources(run, resourceTypes.release).map(({ name }) => name)).toEqual([
      "lab-release",
    ]);
  });

  test("the preflight checks every namespace that the stack creates", async () => {
    const model = { model: "Qwen/Qwen3-0.6B", gpus: 1 };
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        workloads: { ollama: { models: ["qwen3:0.6b"] }, litellm: {}, vllm: model },
      }),
      { preview: true },
    );
    const namespaceNames = findResources(run, resourceTypes.namespace).map(
      ({ inputs }) => inputs["metadata"].name as string,
    );
    expect(namespaceNames).toEqual(expect.arrayContaining(["ollama", "litellm", "vllm"]));
    expect(
      JSON.parse(findResource(run, resourceTypes.program, "lab-preflight").inputs["stdin"])
        .namespaces,
    ).toEqual(namespaceNames.sort());
  });

  test("the preflight checks every volume of the stack with its name, namespace and storage class", async () => {
    const workloads = {
      ollama: { storageClass: "fast" },
      comfyui: { active: false },
      vllm: { model: "Qwen/Qwen3-0.6B", namespace: "ai" },
    };
    const run = await registerCluster(clusterArgs("aarhus-h100", { workloads }), { preview: true });
    const expectedVolumes = findResources(run, resourceTypes.claim).map(
      ({ name, inputs: { metadata, spec } }) => ({
        owner: `talos-gpu/test/${name}`,
        name: metadata.name as string,
        namespace: metadata.namespace as string,
        storageClass: spec.storageClassName,
      }),
    );
    expect(expectedVolumes).toHaveLength(3);
    const { volumes } = JSON.parse(
      findResource(run, resourceTypes.program, "lab-preflight").inputs["stdin"],
    );
    const byName = (a: { name: string }, b: { name: string }): number =>
      a.name.localeCompare(b.name);
    expect(volumes.sort(byName)).toEqual(
      expectedVolumes
        .sort(byName)
        .map((volume) => ({ ...volume, field: `workloads.${volume.name.split("-")[0]}` })),
    );
  });

  test("the preflight runs again after a change that may reboot a machine, or of the chart's release", async () => {
    const preflightInputs = async (changes: Record<string, unknown> = {}) => {
      const run = await registerCluster(clusterArgs("aarhus-h100", changes), { preview: true });
      return findResource(run, resourceTypes.program, "lab-preflight").inputs;
    };
    const { stdin, create, triggers } = await preflightInputs();
    expect(create).toMatch(/preflight$/);
    expect(triggers).toBeUndefined();
    expect(JSON.parse(stdin)).toMatchObject({
      machines: [{ machine: "aarhus-h100", configuration: "adopted", gpu: true }],
      chart: {
        name: "nvidia-device-plugin",
        repository: "https://nvidia.github.io/k8s-device-plugin",
      },
    });
    const { spec } = GpuCluster.plan(clusterArgs("aarhus-h100"));
    const [[node, machine]] = Object.entries(spec.machines) as [[string, object]];
    expect(
      (
        await preflightInputs({
          timeouts: { gate: "3m" },
          machines: { [node]: { ...machine, labels: { a: "b" } } },
        })
      ).stdin,
    ).toBe(stdin);
    const patches = ['machine: {sysctls: {vm.swappiness: "1"}}'];
    expect(
      (await preflightInputs({ machines: { [node]: { ...machine, patches } } })).stdin,
    ).not.toBe(stdin);
    expect((await preflightInputs({ devicePlugin: { version: "0.18.2" } })).stdin).not.toBe(stdin);
  });

  test("every workload depends on the release only through the gate", async () => {
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        workloads: { ollama: {}, pods: { mine: { image: "busybox" } } },
      }),
    );
    const smokeTests = findResources(run, resourceTypes.job).filter((job) =>
      job.name.includes("smoke-test"),
    );
    expect(smokeTests).toHaveLength(1);
    for (const workload of [
      findResource(run, resourceTypes.deployment),
      findResource(run, resourceTypes.pod),
    ]) {
      expectDependsOn(run, workload, findResource(run, resourceTypes.release));
      expect(dependencyUrns(run, workload, smokeTests)).not.toContain(
        findResource(run, resourceTypes.release).urn,
      );
    }
  });

  test("volumes, namespaces and Services wait for the machines, but not for the release or the gate", async () => {
    const workloads = {
      ollama: { models: ["qwen3:0.6b"] },
      litellm: {},
      comfyui: { active: false, namespace: "ai" },
      // This namespace is not created by the workload itself.
      vllm: { model: "Qwen/Qwen3-0.6B", active: false, namespace: "ai" },
      pods: { mine: { image: "busybox" } },
    };
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles({ cp1: "controlplane", w1: "worker" }),
        workloads,
      }),
    );
    const earlyResources = [
      ...findResources(run, resourceTypes.namespace).filter(({ name }) => name !== "lab-namespace"),
      ...findResources(run, resourceTypes.claim),
      ...findResources(run, "kubernetes:core/v1:Service"),
    ];
    expect(earlyResources.map(({ name }) => name).sort()).toEqual([
      "lab-comfyui-data",
      "lab-comfyui-namespace",
      "lab-comfyui-service",
      "lab-gpu-pods",
      "lab-litellm-namespace",
      "lab-litellm-service",
      "lab-ollama-models",
      "lab-ollama-namespace",
      "lab-ollama-service",
      "lab-vllm-cache",
      "lab-vllm-service",
    ]);
    for (const resource of earlyResources) {
      for (const earlier of ["lab-preflight", "cp1-upgrade", "w1-upgrade"])
        expectDependsOn(run, resource, findResource(run, resourceTypes.program, earlier));
      const dependencies = dependencyUrns(run, resource);
      for (const later of [
        findResource(run, resourceTypes.release),
        findResource(run, resourceTypes.program, "lab-gate"),
      ])
        expect({ resource: resource.name, later: dependencies.has(later.urn) }).toEqual({
          resource: resource.name,
          later: false,
        });
    }
    for (const name of ["lab-vllm-cache", "lab-vllm-service"])
      expectDependsOn(
        run,
        earlyResources.find((resource) => resource.name === name)!,
        findResource(run, resourceTypes.namespace, "lab-comfyui-namespace"),
      );
  });

  test("control planes are upgraded one at a time, and then up to maxParallel workers at the same time", async () => {
    const roles = {
      cp1: "controlplane",
      cp2: "controlplane",
      w1: "worker",
      w2: "worker",
      w3: "worker",
    };
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles(roles),
        upgrade: { maxParallel: 2 },
      }),
    );
    const upgrade = (name: string): RegisteredResource =>
      findResource(run, resourceTypes.program, `${name}-upgrade`);
    expectDependsOn(run, upgrade("cp2"), upgrade("cp1"));
    for (const worker of ["w1", "w2", "w3"]) expectDependsOn(run, upgrade(worker), upgrade("cp2"));
    expectDependsOn(run, upgrade("w3"), upgrade("w1"));
    expect(dependencyUrns(run, upgrade("w2"))).not.toContain(upgrade("w1").urn);
    expect(dependencyUrns(run, upgrade("w3"))).not.toContain(upgrade("w2").urn);
  });

  test("with upgrade.first, the other workers wait until the first ones have passed their gate", async () => {
    const roles = { cp1: "controlplane", w1: "worker", w2: "worker", w3: "worker", w4: "worker" };
    const upgrade = { first: ["w3"], maxParallel: "50%" };
    const machinesWithLimits = Object.fromEntries(
      Object.entries(machinesWithRoles(roles)).map(([name, machine]) => [
        name,
        name === "w3" || name === "w1" ? { ...(machine as object), powerLimit: 300 } : machine,
      ]),
    );
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithLimits,
        upgrade,
        workloads: { ollama: {} },
        monitoring: {},
      }),
    );
    const upgradeOf = (name: string): RegisteredResource =>
      findResource(run, resourceTypes.program, `${name}-upgrade`);
    const smokeTestOf = (name: string): RegisteredResource =>
      findResource(run, resourceTypes.job, namedByPulumi("lab", "gpu-smoke-test", name));
    const release = findResource(run, resourceTypes.release);
    const firstGate = findResource(run, resourceTypes.program, "lab-first-gate");
    const chain = [
      upgradeOf("cp1"),
      upgradeOf("w3"),
      release,
      smokeTestOf("w3"),
      firstGate,
      upgradeOf("w1"),
      upgradeOf("w4"),
      smokeTestOf("w4"),
    ];
    for (const [index, later] of chain.entries())
      for (const earlier of chain.slice(0, index)) expectDependsOn(run, later, earlier);
    expect(dependencyUrns(run, upgradeOf("w2"))).not.toContain(upgradeOf("w1").urn);
    const gate = findResource(run, resourceTypes.program, "lab-gate");
    for (const name of ["w1", "w2", "w3", "w4"]) expectDependsOn(run, gate, smokeTestOf(name));
    // A smoke test waits for no other machine, and the other machines wait for the release only through the first
    // gate.
    expect(dependencyUrns(run, smokeTestOf("w1"))).not.toContain(upgradeOf("w4").urn);
    for (const otherWorker of ["w1", "w2", "w4"]) {
      expect(dependencyUrns(run, release)).not.toContain(upgradeOf(otherWorker).urn);
      expect(dependencyUrns(run, upgradeOf(otherWorker), [firstGate])).not.toContain(release.urn);
      expectDependsOn(
        run,
        findResource(run, "kubernetes:apps/v1:DaemonSet", "power-limit-300w"),
        upgradeOf(otherWorker),
      );
    }
    expect(JSON.parse(firstGate.inputs.stdin as string)).toMatchObject({
      mustPass: true,
      tests: [{ machine: "w3", cordonedAt: expect.any(String) as string }],
    });
    expect(JSON.parse(gate.inputs.stdin as string)).not.toHaveProperty("mustPass");
    // A pod that waits for a GPU must not take the first machine's card before the test.
    const awaitsTest = (name: string): unknown =>
      (JSON.parse(upgradeOf(name).inputs.stdin as string) as { awaitsTest?: boolean }).awaitsTest;
    expect(["cp1", "w1", "w3"].map(awaitsTest)).toEqual([undefined, undefined, true]);
    const cordon = { key: "node.kubernetes.io/unschedulable", operator: "Exists" };
    expect(smokeTestOf("w3").inputs.spec.template.spec.tolerations).toContainEqual(
      expect.objectContaining(cordon),
    );
    expectDependsOn(run, findResource(run, resourceTypes.deployment, "ollama-deployment"), gate);
  });

  test("with all workers in upgrade.first, the stack has only one gate", async () => {
    const upgrade = { first: ["w2", "w1"] };
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles({ w1: "worker", w2: "worker" }),
        upgrade,
      }),
    );
    expect(
      findResources(run, resourceTypes.program).filter(({ name }) => name.endsWith("gate")),
    ).toHaveLength(1);
    expectDependsOn(
      run,
      findResource(run, resourceTypes.program, "w1-upgrade"),
      findResource(run, resourceTypes.program, "w2-upgrade"),
    );
  });

  test("the release waits for machines with a GPU, and not for others", async () => {
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles({ cp1: "controlplane", cp2: "controlplane", w1: "worker" }),
      }),
    );
    const release = findResource(run, resourceTypes.release);
    expectDependsOn(run, release, findResource(run, resourceTypes.program, "w1-upgrade"));
    const argsWithPlainMachine = clusterArgs("aarhus-h100", {
      machines: {
        ...machinesWithRoles({ w1: "worker" }),
        plain: { address: "192.0.2.9", role: "worker", configuration: "adopted" },
      },
    });
    const runWithPlainMachine = await registerCluster({
      ...argsWithPlainMachine,
      upgrade: { maxParallel: 2 },
    });
    expect(
      dependencyUrns(runWithPlainMachine, findResource(runWithPlainMachine, resourceTypes.release)),
    ).not.toContain(findResource(runWithPlainMachine, resourceTypes.program, "plain-upgrade").urn);
  });

  test("release and smoke tests of twenty machines have at most three direct dependencies each", async () => {
    const roles = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`w${index}`, "worker"]),
    );
    const run = await registerCluster(
      clusterArgs("aarhus-h100", {
        machines: machinesWithRoles(roles),
        devicePlugin: { version: "0.17.4" },
      }),
    );
    const jobs = findResources(run, resourceTypes.job);
    expect(jobs).toHaveLength(20);
    const releaseAndSmokeTests = [findResource(run, resourceTypes.release), ...jobs];
    expect(
      releaseAndSmokeTests
        .filter(({ dependencies }) => dependencies.length > 3)
        .map(({ name }) => name),
    ).toEqual([]);
  });
});

const pullJob = namedByPulumi("lab-ollama llama3.2:3b", "pull", "llama3.2:3b");
