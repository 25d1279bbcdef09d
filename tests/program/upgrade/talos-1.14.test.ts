import { adopt } from "../../../components/program/adopt";
import type { UpgradeTask } from "../../../components/program/task";
import { customizationPath } from "../../../components/recipe";
import { schematics } from "../fakes";
import { waitingForSandbox } from "../fakes/machine";
import { errorMessageOf, setupUpgrade, STAGED as withDriver } from "../setup";

// Talos 1.14 accepts every change of a configuration at runtime, but applies some of them only at its next boot
// (seen on Talos v1.14.1).

const isolated = `${withDriver}---\napiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: true\n`;
const file = (path: string): string =>
  `  files: [{path: ${path}, op: create, content: "[debug]"}]\n`;

/** A machine that runs the task's image, with these active and staged configurations. */
function setupMachine(
  activeConfiguration: string,
  stagedConfiguration: string,
  task: Partial<UpgradeTask> = {},
  configurationAtBoot = activeConfiguration,
) {
  const setup = setupUpgrade({ talosVersion: "v1.14.1", ...task });
  Object.assign(setup.machine, {
    talosVersion: "v1.14.1",
    schematicId: schematics.gpu,
    active: activeConfiguration,
    persistent: stagedConfiguration,
  });
  setup.machine.configurationAtBoot = configurationAtBoot;
  setup.context.clientVersion = "v1.14.1";
  return setup;
}

const taskWithoutDriver: Partial<UpgradeTask> = {
  modules: [],
  driverVersion: undefined,
  extensionServices: [],
  schematicId: schematics.gpu,
};

/** A change of the configuration on a machine with the driver, and the call with which the program activates it. */
interface Change {
  name: string;
  stagedConfiguration: string;
  task?: Partial<UpgradeTask>;
  expectedCall: "activate" | "reboot";
}

test.each<Change>([
  {
    name: "containerd's part",
    stagedConfiguration: withDriver + file(customizationPath),
    expectedCall: "activate",
  },
  {
    name: "a sysctl",
    stagedConfiguration: `${withDriver}  sysctls: {vm.swappiness: "1"}\n`,
    expectedCall: "activate",
  },
  {
    name: "a parameter of a module",
    stagedConfiguration: withDriver.replace("nvidia}", "nvidia, parameters: [a=1]}"),
    expectedCall: "reboot",
  },
  {
    name: "a document of a module",
    stagedConfiguration: `${withDriver}---\nkind: KernelModuleConfig\nname: nvidia\n`,
    expectedCall: "reboot",
  },
  {
    name: "another file",
    stagedConfiguration: withDriver + file("/var/lib/owner.conf"),
    expectedCall: "reboot",
  },
  {
    name: "another file, without a card",
    stagedConfiguration: withDriver + file("/var/lib/owner.conf"),
    task: taskWithoutDriver,
    expectedCall: "reboot",
  },
  {
    name: "containerd's part, without a card",
    stagedConfiguration: withDriver + file(customizationPath),
    task: taskWithoutDriver,
    expectedCall: "activate",
  },
  {
    name: "workload isolation",
    stagedConfiguration: isolated,
    task: taskWithoutDriver,
    expectedCall: "reboot",
  },
])(
  "for a change of $name, the upgrade program reboots only if Talos 1.14 needs a boot",
  async ({ stagedConfiguration, task, expectedCall }) => {
    const { machine, run } = setupMachine(withDriver, stagedConfiguration, task);
    expect((await run()).rebooted).toBe(expectedCall === "reboot");
    expect(machine.calls).toEqual([expectedCall]);
    expect(machine.active).toBe(stagedConfiguration);
  },
);

describe("workload isolation that waits for a boot", () => {
  test("makes another change need a reboot, since containerd cannot restart", async () => {
    const { machine, logLines, run } = setupMachine(
      isolated,
      isolated.replace("kernel:", 'sysctls: {vm.swappiness: "1"}\n  kernel:'),
      {},
      withDriver,
    );
    expect((await run()).rebooted).toBe(true);
    expect(machine.calls).toEqual(["reboot"]);
    expect(logLines.join("\n")).toContain(
      "activates the machine's SecurityProfileConfig, so the machine reboots",
    );
  });

  test("causes only a warning while containerd runs and nothing changes", async () => {
    const { machine, logLines, run } = setupMachine(isolated, isolated, {}, withDriver);
    expect((await run()).rebooted).toBe(false);
    expect(machine.calls).toEqual([]);
    expect(logLines.join("\n")).toContain(
      "warning: gpu-1: containerd cannot restart until the next boot",
    );
  });

  test("makes the run drain and reboot a machine whose containerd waits", async () => {
    const { machine, cluster, logLines, run } = setupMachine(isolated, isolated, {}, withDriver);
    machine.cri = waitingForSandbox;
    expect((await run()).rebooted).toBe(true);
    expect(machine.calls).toEqual(["reboot"]);
    expect(cluster.calls).toEqual(["cordon", "uncordon"]);
    const log = logLines.join("\n");
    expect(log).toContain(
      'service cri is Waiting and not healthy (Waiting for service "sandboxd" to be registered)',
    );
    expect(log).toContain("rebooting once, so that SecurityProfileConfig takes effect");
    expect(log).not.toContain("nothing to do");
  });

  test("is activated by a requested reboot", async () => {
    const { machine, run } = setupMachine(isolated, isolated, { reboots: true }, withDriver);
    machine.cri = waitingForSandbox;
    await run();
    expect(machine.calls).toEqual(["reboot"]);
  });

  test("is reported by adopt, even if adopt stages nothing", async () => {
    const { machine, context, logLines } = setupMachine(isolated, isolated, {}, withDriver);
    machine.cri = waitingForSandbox;
    const task = { machine: "gpu-1", address: "10.0.0.1", patches: [withDriver] };
    await adopt(task, undefined, {
      machine,
      clock: context.clock,
      report: context.report,
      isAwaited: () => true,
    });
    expect(logLines.join("\n")).toMatch(
      /warning: gpu-1: service cri is Waiting .*reboot the machine/,
    );
  });
});

test("a machine whose containerd fails for another reason is not rebooted, and the run fails", async () => {
  const { machine, run } = setupMachine(withDriver, withDriver);
  machine.cri = { state: "Running", failing: true, event: "Health check failed" };
  const message = await errorMessageOf(run());
  expect(message).toContain(
    "machines.gpu-1: service cri is Running and not healthy (Health check failed)",
  );
  expect(message).toContain("talosctl -n 10.0.0.1 logs cri");
  expect(machine.calls).toEqual([]);
});

test.each([
  [
    "SysctlConfig",
    `${withDriver}  sysctls: {a: "1"}\n---\nkind: SysctlConfig\nparams: {a: "2"}\n`,
    "machine.sysctls both set a",
  ],
  [
    "CRICustomizationConfig",
    `${withDriver}  files: [{path: ${customizationPath}, op: create, content: "a = 1"}]\n---\nkind: CRICustomizationConfig\nname: zz\ncontent: a = 2\n`,
    "containerd's part in machine.files both set a",
  ],
])(
  "a %s that overrides the stack's value is reported, also if nothing changes",
  async (_, configuration, expectedWarning) => {
    const { logLines, machine, run } = setupMachine(configuration, configuration);
    await run();
    expect(machine.calls).toEqual([]);
    expect(logLines.filter((line) => line.startsWith("warning: ")).join("\n")).toContain(
      expectedWarning,
    );
  },
);
