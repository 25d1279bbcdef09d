import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gpuStack } from "../../components/kubernetes";
import { namedByPulumi } from "../../components/kubernetes/pods";
import { findResource, findResources } from "../support/graph";
import { planOf } from "../support/plans";
import { record } from "../support/recorder";

const smokeTest = async (changes: Record<string, unknown> = {}): Promise<any> => {
  const run = await record(
    () => void gpuStack("lab", planOf("aarhus-h100", changes), { dependsOn: [] }, {}),
  );
  return findResource(run, "kubernetes:batch/v1:Job").inputs;
};

test("the smoke test requests one card on its machine, and may run longer than the gate waits", async () => {
  const { spec } = await smokeTest({ timeouts: { gate: "5m" } });
  expect(spec.activeDeadlineSeconds).toBeGreaterThan(300); // the gate must end first, since its error explains more
  const pod = spec.template.spec;
  expect(pod).toMatchObject({
    runtimeClassName: "nvidia",
    nodeSelector: { "kubernetes.io/hostname": "aarhus-h100" },
  });
  expect(pod.nodeName).toBeUndefined(); // a node name would bypass the scheduler, and so its count of free cards
  expect(pod.tolerations).toContainEqual({
    key: "node-role.kubernetes.io/control-plane",
    operator: "Exists",
    effect: "NoSchedule",
  });
  expect(pod.containers[0].resources.limits).toEqual({ memory: "1Gi", "nvidia.com/gpu": "1" });
  // Policies of many clusters refuse a container without these.
  for (const container of pod.containers)
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String) as string, memory: expect.any(String) as string },
      limits: { memory: expect.any(String) as string },
    });
  expect(pod.containers[0].env).toBeUndefined(); // NVIDIA_VISIBLE_DEVICES would override the device plugin's choice
});

test("the smoke test's Job uses the stack's PriorityClass, which never preempts", async () => {
  const run = await record(
    () => void gpuStack("lab", planOf("aarhus-h100"), { dependsOn: [] }, {}),
  );
  const priority = findResource(run, "kubernetes:scheduling.k8s.io/v1:PriorityClass").inputs;
  expect(priority).toMatchObject({ value: 0, preemptionPolicy: "Never" });
  expect(
    findResource(run, "kubernetes:batch/v1:Job").inputs.spec.template.spec.priorityClassName,
  ).toBe(priority.metadata.name);
});

test("the gate waits for the smoke test as long as timeouts.gate, and a tenth of that for a GPU in use", async () => {
  const changes = { timeouts: { gate: "5m" } };
  const run = await record(
    () => void gpuStack("lab", planOf("aarhus-h100", changes), { dependsOn: [] }, {}),
  );
  const gate = findResource(run, "command:local:Command", "-gate");
  const job = findResource(run, "kubernetes:batch/v1:Job");
  expect(gate.inputs.addPreviousOutputInEnv).toBe(false); // the previous output, at least one line per machine, would not fit
  expect(JSON.parse(gate.inputs.stdin as string)).toEqual({
    namespace: job.inputs.metadata.namespace,
    tests: [
      {
        machine: "aarhus-h100",
        job: job.inputs.metadata.name,
        resource: "nvidia.com/gpu",
        units: 2,
      },
    ],
    limit: "300s",
    patience: "30s",
  });
  expect(gate.dependencies).toContain(job.urn);
});

test("the gate accepts any number of GPUs from a card with unknown MIG geometry", async () => {
  const machine = { address: "10.0.0.1", role: "worker", configuration: "adopted" };
  const changes = {
    machines: {
      gpu: { ...machine, gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper" }] },
    },
    sharing: { mig: { strategy: "single", profile: "all-1g.10gb" } },
  };
  const run = await record(
    () => void gpuStack("lab", planOf("rtx5070ti", changes), { dependsOn: [] }, {}),
  );
  const [test] = JSON.parse(
    findResource(run, "command:local:Command", "-gate").inputs.stdin as string,
  ).tests;
  expect(test).toMatchObject({ machine: "gpu", resource: "nvidia.com/gpu" });
  expect(test).not.toHaveProperty("units");
});

test("a failed smoke test's last log lines become its termination message", async () => {
  const { spec } = await smokeTest();
  expect(spec.template.spec.containers[0].terminationMessagePolicy).toBe("FallbackToLogsOnError");
});

test.each([
  ["with the device plugin, it only reports the cards that it sees", "aarhus-h100", "0"],
  ["with DRA, it fails if it sees a card", "dra", "1"],
])("the container next to the smoke test requests no card: %s", async (_, stack, code) => {
  const run = await record(() => void gpuStack("lab", planOf(stack), { dependsOn: [] }, {}));
  const [test, secondContainer] = findResources(run, "kubernetes:batch/v1:Job")[0]!.inputs.spec
    .template.spec.containers;
  expect(secondContainer).toMatchObject({
    image: test.image,
    env: [{ name: "CODE", value: code }],
  });
  expect(Object.keys(secondContainer.resources.limits as object)).toEqual(["memory"]);
  const [shell, ...rest] = secondContainer.command as [string, ...string[]];
  expect(spawnSync(shell, ["-n", ...rest], { encoding: "utf8" })).toMatchObject({
    status: 0,
    stderr: "",
  });
});

test("an additional workload does not change the smoke test's Job", async () => {
  expect(await smokeTest({ workloads: { ollama: {} } })).toEqual(await smokeTest());
});

test.each<[string, Record<string, unknown>]>([
  ["a new Talos release", { talosVersion: "v1.12.6" }],
  ["a new device plugin", { devicePlugin: { version: "0.18.2", namespace: "kube-system" } }],
  [
    "a new value of the device plugin",
    {
      devicePlugin: {
        version: "0.17.4",
        namespace: "kube-system",
        values: { failOnInitError: false },
      },
    },
  ],
  ["time slicing", { sharing: { timeSlicing: { replicas: 2 } } }],
])("%s changes the smoke test's Job", async (_what, changes) => {
  const jobBefore = await smokeTest();
  const jobAfter = await smokeTest(changes);
  expect(jobAfter.spec.template).not.toEqual(jobBefore.spec.template); // a Job's template cannot be changed
});

test("a long machine name is shortened to a Job name that is a valid label", async () => {
  const machine = {
    address: "192.0.2.1",
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "H100 NVL" }],
  };
  const machines = { [`gpu.${"x".repeat(80)}.example`]: machine };
  const run = await record(
    () => void gpuStack("lab", planOf("aarhus-h100", { machines }), { dependsOn: [] }, {}),
  );
  const { name, inputs } = findResource(run, "kubernetes:batch/v1:Job");
  expect(inputs.metadata.name).toBeUndefined(); // Pulumi makes a new name each time, so that a lost Job causes no conflict
  expect(`${name}-12345678`).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])$/);
});

/** Jobs of a stack with these machines, by machine. */
const jobsOf = async (...names: string[]): Promise<Record<string, string>> => {
  const machine = { role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const machines = Object.fromEntries(
    names.map((name, index) => [name, { address: `192.0.2.${index + 1}`, ...machine }]),
  );
  const run = await record(
    () => void gpuStack("lab", planOf("aarhus-h100", { machines }), { dependsOn: [] }, {}),
  );
  const jobs = findResources(run, "kubernetes:batch/v1:Job").map(
    ({ name, inputs }): [string, string] => [
      inputs.spec.template.spec.nodeSelector["kubernetes.io/hostname"] as string,
      name,
    ],
  );
  return Object.fromEntries(jobs);
};
const longName = "gpu-node-of-the-second-rack-in-room";

test.each([
  ["the part that is cut off", `${longName}-1`, `${longName}-2`],
  ["`.` and `-`", "gpu-1.a", "gpu-1-a"],
])(
  "machines whose names differ only in %s get different Jobs, and other machines' Jobs keep their names",
  async (_, firstName, secondName) => {
    const jobsTogether = await jobsOf(firstName, secondName, "gpu-9");
    const jobsAlone = await jobsOf(firstName, "gpu-9");
    expect(new Set(Object.values(jobsTogether)).size).toBe(3);
    for (const name of Object.values(jobsTogether))
      expect(`${name}-12345678`).toMatch(/^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/);
    expect(jobsAlone).toEqual({
      [firstName]: namedByPulumi("lab", "gpu-smoke-test", firstName),
      "gpu-9": namedByPulumi("lab", "gpu-smoke-test", "gpu-9"),
    });
    expect(jobsTogether["gpu-9"]).toBe(jobsAlone["gpu-9"]);
  },
);

test("two machines get different Job names even if the longer name is cut at its hyphen", async () => {
  const shortName = "x".repeat(31);
  const names = await jobsOf(shortName, `${shortName}-2`);
  expect(names).toEqual({
    [shortName]: namedByPulumi("lab", "gpu-smoke-test", shortName),
    [`${shortName}-2`]: namedByPulumi("lab", "gpu-smoke-test", `${shortName}-2`),
  });
  expect(new Set(Object.values(names)).size).toBe(2);
});

describe("the smoke test with MIG", () => {
  const operator = { devicePlugin: undefined, gpuOperator: { version: "v25.10.1" } };
  const smokeTestWithMig = (strategy: string, profile: string): Promise<any> =>
    smokeTest({ ...operator, sharing: { mig: { strategy, profile } } });

  test("waits for the MIG manager, and checks its device if slices and whole cards have the same resource", async () => {
    const { spec } = await smokeTestWithMig("single", "all-1g.12gb");
    const pod = spec.template.spec;
    expect(pod.nodeSelector).toEqual({
      "kubernetes.io/hostname": "aarhus-h100",
      "nvidia.com/mig.config.state": "success",
    });
    const [check] = pod.initContainers;
    // The containers use the devices of an init container again, so this is the device that the test uses.
    expect(check).toMatchObject({
      image: pod.containers[0].image,
      resources: pod.containers[0].resources,
    });
    expect(check.command.slice(0, 2)).toEqual(["sh", "-c"]);
    // The profile comes from the environment: a value of the stack never becomes a part of a script.
    expect(check.command[2]).toContain('nvidia-smi -L | grep -F "MIG $PROFILE "');
    expect(check.env).toEqual([{ name: "PROFILE", value: "1g.12gb" }]);
    expect(spec.backoffLimit).toBeGreaterThan(3);
  });

  test.each([
    [
      "a slice of the profile",
      true,
      "GPU 0: NVIDIA H100 NVL (UUID: GPU-1)\n  MIG 1g.12gb     Device  0: (UUID: MIG-1)",
    ],
    ["a card that is not split", false, "GPU 0: NVIDIA H100 NVL (UUID: GPU-1)"],
    [
      "a slice of another size",
      false,
      "GPU 0: NVIDIA H100 NVL (UUID: GPU-1)\n  MIG 2g.24gb     Device  0: (UUID: MIG-1)",
    ],
    [
      "a slice with media engines",
      false,
      "GPU 0: NVIDIA H100 NVL (UUID: GPU-1)\n  MIG 1g.12gb+me  Device  0: (UUID: MIG-1)",
    ],
  ])("has a check of its device that accepts %s: %s", async (_what, passes, smiOutput) => {
    const [check] = (await smokeTestWithMig("single", "1g.12gb")).spec.template.spec.initContainers;
    const [program, ...args] = check.command;
    const bin = fs.mkdtempSync(path.join(os.tmpdir(), "smi-"));
    try {
      fs.writeFileSync(
        path.join(bin, "nvidia-smi"),
        `#!/bin/sh\ncat <<'END'\n${smiOutput}\nEND\n`,
        {
          mode: 0o755,
        },
      );
      const { status, stdout } = spawnSync(program, args, {
        env: { PATH: `${bin}:/usr/bin:/bin`, [check.env[0].name]: check.env[0].value },
        encoding: "utf8",
      });
      expect(status).toBe(passes ? 0 : 1);
      expect(stdout).toContain(passes ? "MIG-1" : "the device is no MIG 1g.12gb");
    } finally {
      fs.rmSync(bin, { recursive: true });
    }
  });

  test("has no check of its device if the resource names the slice, or if no card is split", async () => {
    const mixed = (await smokeTestWithMig("mixed", "all-balanced")).spec.template.spec;
    expect(mixed.nodeSelector).toHaveProperty(["nvidia.com/mig.config.state"], "success");
    expect(mixed.initContainers).toBeUndefined();
    expect(mixed.containers[0].resources.limits).toEqual({
      memory: "1Gi",
      "nvidia.com/mig-1g.12gb": "1",
    });
    expect(
      (await smokeTestWithMig("single", "all-disabled")).spec.template.spec.initContainers,
    ).toBeUndefined();
  });

  test("is a different Job for a different profile", async () => {
    const before = await smokeTestWithMig("single", "1g.12gb");
    const after = await smokeTestWithMig("single", "2g.24gb");
    expect(after.spec.template).not.toEqual(before.spec.template);
  });
});
