import { accessOf } from "../../components/credentials/access";
import { GpuMachine } from "../../components/machine/gpu-machine";
import { createMachine } from "../../components/machine/create-machine";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { pauseBeforeRetry } from "../../components/machine/schematic";
import { untaintTask, upgradeTask } from "../../components/program/task";
import { isSecret } from "../support/graph";
import { record, type RunOptions } from "../support/recorder";
import { machineSecrets as secretsBundle } from "../support/talos";
import { args, credentials, plannedMachine, SCHEMATIC, SECRETS } from "./gpu-machine-fixture";
import {
  upgradeResult,
  resourceNamed,
  providerAnswer,
  createPlannedMachine,
  runFailingProgram,
  withoutSecrets,
  commandOutputs,
  recordMachine,
} from "./recorded-machine";

describe("an owned machine", () => {
  test("gets its whole configuration staged, with its patches in plain text", async () => {
    const { inputs } = resourceNamed(await recordMachine(), "gpu-1-configuration");
    expect(inputs).toMatchObject({
      applyMode: "staged",
      node: "10.0.0.1",
      endpoint: "10.0.0.10",
      configPatches: plannedMachine.patches,
    });
    expect(isSecret(inputs["machineConfigurationInput"])).toBe(true);
    expect(isSecret(inputs["clientConfiguration"])).toBe(true);
  });

  test.each([
    [
      "controlplane",
      "gets the cluster's AES-CBC key, as a secret",
      [expect.stringContaining("aescbcEncryptionSecret")],
    ],
    ["worker", "does not get the cluster's AES-CBC key", undefined],
  ] as const)("that is a %s %s", async (role, _, patches) => {
    const machineSecrets = secretsBundle.replace(
      "secretboxencryptionsecret",
      "aescbcencryptionsecret",
    );
    const run = await recordMachine({ role }, {}, { machineSecrets });
    expect(
      run.calls.map(({ inputs }) => (inputs as { configPatches?: unknown }).configPatches),
    ).toEqual([patches]);
    expect(
      isSecret(resourceNamed(run, "gpu-1-configuration").inputs["machineConfigurationInput"]),
    ).toBe(true);
    const inputsText = JSON.stringify(
      run.resources.map((resource) => withoutSecrets(resource.inputs)),
    );
    expect(inputsText).not.toContain("aescbcEncryptionSecret");
  });

  test("in maintenance mode gets its configuration at its own address", async () => {
    const { inputs } = resourceNamed(
      await recordMachine({ installs: true }),
      "gpu-1-configuration",
    );
    expect(inputs).toMatchObject({
      applyMode: "staged_if_needing_reboot",
      node: "10.0.0.1",
      endpoint: "10.0.0.1",
    });
  });

  test("reports all missing inputs in one error", async () => {
    const { machineSecrets: _secrets, clusterName: _name, ...incompleteArgs } = args();
    const run = await record(() => void new GpuMachine("gpu-1", incompleteArgs), {
      outputs: commandOutputs,
      call: providerAnswer,
    });
    expect(run.error?.message).toMatch(/machineSecrets: is missing; [^]*clusterName: /);
  });
});

describe("an adopted machine", () => {
  test("gets its patches from the verb adopt, and loses them by the verb release on delete", async () => {
    const run = await recordMachine({ configuration: "adopted" });
    const { inputs, secretOutputs } = resourceNamed(run, "gpu-1-configuration");
    expect(secretOutputs).toEqual(["stdout"]);
    expect(inputs["create"]).toMatch(/ adopt$/);
    expect(inputs["update"]).toBe(inputs["create"]);
    expect(inputs["delete"]).toMatch(/ release$/);
    expect(JSON.parse(inputs["stdin"])).toEqual({
      machine: "gpu-1",
      address: "10.0.0.1",
      patches: plannedMachine.patches,
    });
    expect(resourceNamed(run, "gpu-1-upgrade").dependencies).toContain(
      resourceNamed(run, "gpu-1-configuration").urn,
    );
    expect(run.calls).toEqual([]);
  });
});

describe("the upgrade", () => {
  test("gets all that the program checks, in the shape that the program reads", async () => {
    const { inputs } = resourceNamed(
      await recordMachine({
        timeouts: { ...plannedMachine.timeouts, drain: "1m" },
        otherControlPlanes: ["10.0.0.10"],
      }),
      "gpu-1-upgrade",
    );
    expect(upgradeTask.parse(JSON.parse(inputs["stdin"]))).toMatchObject({
      machine: "gpu-1",
      address: "10.0.0.1",
      schematicId: SCHEMATIC,
      installerImage: plannedMachine.installerImage,
      modules: ["nvidia", "nvidia_uvm"],
      driverVersion: "570.211.01",
      drain: true,
      otherControlPlanes: ["10.0.0.10"],
      timeouts: { pull: "10m", drain: "1m", reboot: "30m", verify: "5m" },
      configurationHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(inputs["logging"]).toBe("stderr");
    expect(inputs["addPreviousOutputInEnv"]).toBeUndefined(); // it must know the result of the previous run
  });

  test.each([
    ["an owned", "has the field configuration", "owned", "owned"],
    ["an adopted", "lacks the field configuration", "adopted", undefined],
  ] as const)(
    "for %s machine %s",
    async (_machine, _field, configuration, expectedConfiguration) => {
      const task = JSON.parse(
        resourceNamed(await recordMachine({ configuration }), "gpu-1-upgrade").inputs["stdin"],
      );
      expect(upgradeTask.parse(task).configuration).toBe(expectedConfiguration);
    },
  );

  test("runs again only if the configuration or a patch changes", async () => {
    const taskText = async (
      fields: Partial<PlannedMachine>,
      options?: RunOptions,
    ): Promise<string> =>
      resourceNamed(await recordMachine(fields, options), "gpu-1-upgrade").inputs["stdin"];
    const firstTask = await taskText({});
    expect(await taskText({})).toBe(firstTask);
    expect(await taskText({ patches: ["machine: {}\n"] })).not.toBe(firstTask);
    expect(await taskText({}, { call: () => ({ machineConfiguration: "ANOTHER" }) })).not.toBe(
      firstTask,
    );
  });

  test("has an empty driver version for a machine without a GPU", async () => {
    let driverVersion: unknown;
    const { driverVersion: _driver, ...machineWithoutDriver } = plannedMachine;
    const inputs = { access: accessOf(credentials), schematicId: SCHEMATIC };
    await record(
      () =>
        void createMachine(
          "gpu-1",
          machineWithoutDriver,
          inputs,
          {},
        ).upgraded.report.driverVersion.apply((value) => (driverVersion = value)),
      {
        outputs: () => ({ stdout: JSON.stringify({ ...upgradeResult, driverVersion: null }) }),
        call: providerAnswer,
      },
    );
    expect(driverVersion).toBe("");
  });
});

describe("the node", () => {
  test("gets labels by a patch that overrides other field managers", async () => {
    const { inputs } = resourceNamed(await recordMachine({ name: "node-a" }), "gpu-1-node");
    const annotations = {
      "pulumi.com/patchForce": "true",
      // After a kill the manager is the same, so that the labels are removed with the stack.
      "pulumi.com/patchFieldManager": expect.stringMatching(/^talos-gpu-[0-9a-f]{12}$/),
    };
    const metadata = { name: "node-a", labels: plannedMachine.nodeLabels, annotations };
    expect(inputs).toEqual({ apiVersion: "v1", kind: "Node", metadata });
  });

  test("gets its taints from the verb upgrade, and loses them by the verb untaint", async () => {
    const { inputs } = resourceNamed(await recordMachine({ name: "node-a" }), "gpu-1-upgrade");
    expect(inputs["create"]).toMatch(/ -- upgrade$/);
    expect(inputs["delete"]).toMatch(/ -- untaint$/);
    const task = JSON.parse(String(inputs["stdin"])) as unknown;
    expect(upgradeTask.parse(task).taints).toEqual(plannedMachine.nodeTaints);
    expect(untaintTask.parse(task)).toEqual({ machine: "node-a" });
  });

  test("is not patched without labels and taints", async () => {
    const { resources } = await recordMachine({ nodeLabels: {}, nodeTaints: [] });
    expect(
      resources.some(
        ({ type, inputs }) => type.includes("NodePatch") || inputs["delete"]?.includes("untaint"),
      ),
    ).toBe(false);
  });
});

describe("secrets", () => {
  test.each(["owned", "adopted"] as const)(
    "of an %s machine are only in secret inputs",
    async (configuration) => {
      const run = await recordMachine({ configuration });
      const inputsText = JSON.stringify(run.resources.map(({ inputs }) => withoutSecrets(inputs)));
      for (const secret of SECRETS) expect(inputsText).not.toContain(secret);
      const { environment } = resourceNamed(run, "gpu-1-upgrade").inputs;
      expect(Object.keys(environment).sort()).toEqual([
        "TALOS_GPU_KUBECONFIG",
        "TALOS_GPU_TALOSCONFIG",
      ]);
      for (const value of Object.values(environment)) expect(isSecret(value)).toBe(true);
    },
  );
});

test("an unreadable talosconfig is refused before any resource is registered, and no error quotes it", () => {
  const { error, registered } = runFailingProgram("bad-talosconfig");
  expect(error).toContain("talosconfig: missing or of the wrong type: contexts.lab.ca");
  expect(error).not.toContain("bG9uZy1zZWNyZXQ");
  expect(registered).toEqual(["talos-gpu-test", "gpu-1"]);
});

describe("a preview", () => {
  test("shows the program's whole task, and leaves its results unknown", async () => {
    let isKnown = false;
    const run = await record(
      () => void createPlannedMachine().upgraded.report.driverVersion.apply(() => (isKnown = true)),
      {
        call: providerAnswer,
        preview: true,
      },
    );
    expect(run.error).toBeUndefined();
    const task = JSON.parse(resourceNamed(run, "gpu-1-upgrade").inputs["stdin"]) as object;
    const taskOfUpdate = JSON.parse(
      resourceNamed(await recordMachine(), "gpu-1-upgrade").inputs["stdin"],
    ) as object;
    expect(task).toEqual(taskOfUpdate);
    expect(resourceNamed(run, "gpu-1-node").inputs["metadata"].name).toBe("gpu-1");
    expect(isKnown).toBe(false);
  });
});

describe("schematics", () => {
  test.each<[string, string[], number | undefined]>([
    ["a busy Factory", ["failed to create schematic: HTTP 500"], 1_000],
    ["a Factory that does not answer", ["dial tcp: i/o timeout", "HTTP 502"], 2_000],
    [
      "a Factory that is busy for longer than half a minute",
      Array<string>(6).fill("HTTP 500"),
      undefined,
    ],
    [
      "a schematic that the Factory refuses",
      ["invalid schematic: yaml: field extensions not found"],
      undefined,
    ],
    ["a server that is no Factory", ["failed to create schematic: HTTP 404"], undefined],
  ])("are registered again only if the Image Factory may recover: %s", (_, errors, expectedPause) =>
    expect(pauseBeforeRetry(errors)).toBe(expectedPause),
  );

  test("fail before the upgrade if the Factory returns another ID than the computed one", () => {
    const { error, registered } = runFailingProgram("wrong-schematic");
    expect(error).toContain(
      `the Image Factory returned the ID gpu-1-schematic-id, but this package computed ${SCHEMATIC}`,
    );
    expect(registered).toContain("gpu-1-schematic");
    expect(registered).not.toContain("gpu-1-upgrade");
  });
});

test("a GpuMachine without a GpuCluster gets the extensions and driver of its card", async () => {
  const argsWithCard = args({ gpus: [{ model: "RTX 5070 Ti" }] });
  const run = await record(() => void new GpuMachine("gpu-1", argsWithCard), {
    preview: true,
    call: providerAnswer,
  });
  expect(run.error).toBeUndefined();
  expect(resourceNamed(run, "gpu-1-schematic").inputs["schematic"]).toContain(
    "siderolabs/nvidia-open-gpu-kernel-modules-production",
  );
  expect(JSON.parse(resourceNamed(run, "gpu-1-upgrade").inputs["stdin"])).toMatchObject({
    driverVersion: "570.211.01",
  });
});
