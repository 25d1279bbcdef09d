import { adopt } from "../../../components/program/adopt";
import type { UpgradeTask } from "../../../components/program/task";
import { customizationPath } from "../../../components/recipe";
import { schematics } from "../fakes";
import { waitingForSandbox } from "../fakes/machine";
import { errorMessageOf, setupUpgrade } from "../setup";

// Talos 1.14 accepts every change of a configuration at runtime, but applies some of them only at its next boot
// (seen on Talos v1.14.1).

const withDriver = "machine:\n  type: worker\n  kernel: {modules: [{name: nvidia}]}\n";
const isolated = `${withDriver}---\napiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: true\n`;
const file = (path: string): string =>
  `  files: [{path: ${path}, op: create, content: "[debug]"}]\n`;

/** A machine that runs the wanted image with the configuration `active`, and has `next` staged. */
function at(active: string, next: string, task: Partial<UpgradeTask> = {}, booted = active) {
  const stand = setupUpgrade({ talosVersion: "v1.14.1", ...task });
  Object.assign(stand.machine, {
    talosVersion: "v1.14.1",
    schematicId: schematics.gpu,
    active,
    persistent: next,
  });
  stand.machine.configurationAtBoot = booted;
  stand.workbench.clientVersion = "v1.14.1";
  return stand;
}

const plain: Partial<UpgradeTask> = {
  modules: [],
  driverVersion: undefined,
  extensionServices: [],
  schematicId: schematics.gpu,
};

test.each<[string, string, string, Partial<UpgradeTask>, string[]]>([
  ["containerd's part", withDriver, withDriver + file(customizationPath), {}, ["activate"]],
  ["a sysctl", withDriver, `${withDriver}  sysctls: {vm.swappiness: "1"}\n`, {}, ["activate"]],
  [
    "a parameter of a module",
    withDriver,
    withDriver.replace("nvidia}", "nvidia, parameters: [a=1]}"),
    {},
    ["reboot"],
  ],
  [
    "a document of a module",
    withDriver,
    `${withDriver}---\nkind: KernelModuleConfig\nname: nvidia\n`,
    {},
    ["reboot"],
  ],
  ["another file", withDriver, withDriver + file("/var/lib/owner.conf"), {}, ["reboot"]],
  [
    "another file, without a card",
    withDriver,
    withDriver + file("/var/lib/owner.conf"),
    plain,
    ["reboot"],
  ],
  [
    "containerd's part, without a card",
    withDriver,
    withDriver + file(customizationPath),
    plain,
    ["activate"],
  ],
  ["workload isolation", withDriver, isolated, plain, ["reboot"]],
])(
  "for a change of %s, the upgrade program reboots only if Talos 1.14 needs a boot",
  async (_, active, next, task, calls) => {
    const { machine, run } = at(active, next, task);
    expect((await run()).rebooted).toBe(calls.includes("reboot"));
    expect(machine.calls).toEqual(calls);
    expect(machine.active).toBe(next);
  },
);

describe("workload isolation that waits for a boot", () => {
  test("makes another change need a reboot, since containerd cannot restart", async () => {
    const { machine, logLines, run } = at(
      isolated,
      isolated + file(customizationPath),
      {},
      withDriver,
    );
    machine.persistent = isolated.replace("kernel:", 'sysctls: {vm.swappiness: "1"}\n  kernel:');
    expect((await run()).rebooted).toBe(true);
    expect(machine.calls).toEqual(["reboot"]);
    expect(logLines.join("\n")).toContain(
      "activates the machine's SecurityProfileConfig, so the machine reboots",
    );
  });

  test("causes only a warning while containerd runs and nothing changes", async () => {
    const { machine, logLines, run } = at(isolated, isolated, {}, withDriver);
    expect((await run()).rebooted).toBe(false);
    expect(machine.calls).toEqual([]);
    expect(logLines.join("\n")).toContain(
      "warning: gpu-1: containerd cannot restart before the next boot",
    );
  });

  test("makes the run drain and reboot a machine whose containerd waits", async () => {
    const { machine, cluster, logLines, run } = at(isolated, isolated, {}, withDriver);
    machine.cri = waitingForSandbox;
    expect((await run()).rebooted).toBe(true);
    expect(machine.calls).toEqual(["reboot"]);
    expect(cluster.calls).toEqual(["cordon", "uncordon"]);
    const said = logLines.join("\n");
    expect(said).toContain(
      'service cri is Waiting and not healthy (Waiting for service "sandboxd" to be registered)',
    );
    expect(said).toContain("rebooting once, so that the active configuration takes effect");
    expect(said).not.toContain("nothing to do");
  });

  test("is activated by a requested reboot", async () => {
    const { machine, run } = at(isolated, isolated, { reboots: true }, withDriver);
    machine.cri = waitingForSandbox;
    await run();
    expect(machine.calls).toEqual(["reboot"]);
  });

  test("is reported by adopt, even if adopt stages nothing", async () => {
    const { machine, workbench, logLines } = at(isolated, isolated, {}, withDriver);
    machine.cri = waitingForSandbox;
    const task = { machine: "gpu-1", address: "10.0.0.1", patches: [withDriver] };
    await adopt(task, undefined, {
      machine,
      clock: workbench.clock,
      report: workbench.report,
      isAwaited: () => true,
    });
    expect(logLines.join("\n")).toMatch(
      /warning: gpu-1: service cri is Waiting .*reboot the machine/,
    );
  });
});

test("a machine whose containerd fails for another reason is not rebooted, and the run fails", async () => {
  const { machine, run } = at(withDriver, withDriver);
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
  async (_, configuration, words) => {
    const { logLines, machine, run } = at(configuration, configuration);
    await run();
    expect(machine.calls).toEqual([]);
    expect(logLines.filter((line) => line.startsWith("warning: ")).join("\n")).toContain(words);
  },
);
