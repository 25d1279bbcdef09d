import type { Workbench } from "../../../../components/machine/program/upgrade/run";
import { upgrade } from "../../../../components/machine/program/upgrade/upgrade";
import { Killed, pod, schematics } from "../fakes";
import { failure, setup, STAGED } from "../setup";

describe("a machine that differs", () => {
  test("is upgraded with one reboot, which also activates the staged configuration", async () => {
    const { machine, cluster, run } = setup();
    cluster.podList = [
      pod("app"),
      pod("daemon", { controller: "DaemonSet" }),
      pod("static", { mirror: true }),
      pod("job", { finished: true }),
    ];
    const result = await run();
    expect(machine.calls).toEqual([
      `pull factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`,
      "upgrade legacy",
    ]);
    expect(machine).toMatchObject({ boots: 2, talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED });
    expect(cluster.calls.filter((call, index, all) => all.indexOf(call) === index)).toEqual([
      "cordon",
      "evict app",
      "uncordon",
    ]);
    expect(cluster.state).toEqual({ unschedulable: false, annotations: {}, ready: true });
    expect(result).toMatchObject({
      machine: "gpu-1",
      talosVersion: "v1.12.6",
      schematicId: schematics.gpu,
      driverVersion: "570.211.01",
      bootId: "boot-2",
      rebooted: true,
    });
    expect(result.phases.map(({ name }) => name)).toEqual([
      "reach",
      "compare",
      "precheck",
      "pull",
      "drain",
      "reboot",
      "verify",
      "uncordon",
    ]);
    expect(result.phases.find(({ name }) => name === "reboot")!.seconds).toBeGreaterThanOrEqual(160);
  });

  test("only in its schematic is upgraded all the same", async () => {
    const { machine, run } = setup({ talosVersion: "v1.12.4" });
    expect(await run()).toMatchObject({ talosVersion: "v1.12.4", schematicId: schematics.gpu, rebooted: true });
    expect(machine.boots).toBe(2);
  });

  describe("only in a staged configuration, and has no NVIDIA module", () => {
    const plain = { modules: [], driverVersion: undefined, extensionServices: [], schematicId: schematics.plain };

    test("gets it without a reboot and without a drain, where Talos can", async () => {
      const { machine, cluster, run } = setup(plain);
      Object.assign(machine, { talosVersion: "v1.12.6" });
      expect(await run()).toMatchObject({ rebooted: false, bootId: "boot-1", driverVersion: null });
      expect(machine.calls).toEqual(["activate"]);
      expect(machine.active).toBe(STAGED);
      expect(cluster.calls).toEqual([]);
    });

    test("is rebooted where Talos refuses", async () => {
      const { machine, run } = setup(plain);
      Object.assign(machine, { talosVersion: "v1.12.6", needsBoot: true });
      expect(await run()).toMatchObject({ rebooted: true, bootId: "boot-2" });
      expect(machine.calls).toEqual(["activate", "reboot"]);
    });

    test("goes on when the answer was lost, though it is in effect", async () => {
      const { machine, run } = setup(plain);
      Object.assign(machine, { talosVersion: "v1.12.6" });
      machine.fail("activate", "unreachable", 1, true);
      expect(await run()).toMatchObject({ rebooted: false });
      expect(machine.active).toBe(STAGED);
    });
  });

  test("only in a staged configuration is rebooted once, without an upgrade", async () => {
    const { machine, run } = setup();
    Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.gpu });
    expect(await run()).toMatchObject({ rebooted: true, bootId: "boot-2" });
    expect(machine.calls).toEqual(["reboot"]);
  });

  test("goes through the lifecycle API from Talos 1.13 on", async () => {
    const { machine, run } = setup({ talosVersion: "v1.13.1" });
    machine.talosVersion = "v1.13.0";
    await run();
    expect(machine.calls).toContain("upgrade lifecycle");
  });

  test("is not drained when the stack says so, and never cordoned", async () => {
    const { cluster, run } = setup({ drain: false });
    cluster.podList = [pod("app")];
    await run();
    expect(cluster.calls).toEqual([]);
  });
});

test("the only node of a cluster is neither cordoned nor drained", async () => {
  const { cluster, machine, run } = setup();
  cluster.alone = true;
  cluster.podList = [pod("app")];
  await run();
  expect(machine.boots).toBe(2);
  expect(cluster.calls).toEqual([]);
});

describe("a machine that is as wanted", () => {
  test("is left alone by the next run", async () => {
    const { machine, cluster, bench, wanted, run } = setup();
    await run();
    const calls = [...machine.calls, ...cluster.calls];
    expect(await upgrade({ ...wanted, configurationHash: "2" }, bench)).toMatchObject({
      rebooted: false,
      driverVersion: "570.211.01",
      bootId: "boot-2",
    });
    expect([...machine.calls, ...cluster.calls]).toEqual(calls);
  });

  test("is verified by the branch of its driver where the very version is assumed", async () => {
    const { bench, wanted, run } = setup({ driverVersion: "570" });
    expect(await run()).toMatchObject({ driverVersion: "570.211.01" });
    expect(await upgrade(wanted, bench)).toMatchObject({ rebooted: false });
    const other = { ...wanted, driverVersion: "57", configurationHash: "2" };
    await expect(upgrade(other, bench)).rejects.toThrow("NVIDIA driver 570.211.01 is loaded, not 57");
  });

  test("but whose driver is not up is verified, and never rebooted for it", async () => {
    const { machine, run } = setup();
    await run();
    machine.driverWorks = false;
    const message = await failure(run());
    for (const part of [
      "kernel modules not loaded: nvidia, nvidia_uvm",
      "no NVIDIA driver is loaded",
      "service ext-nvidia-persistenced is Waiting, not Running",
    ]) {
      expect(message).toContain(part);
    }
    machine.services = () => Promise.resolve({});
    expect(await failure(run())).toContain("service ext-nvidia-persistenced is not there");
    expect(machine.boots).toBe(2);
  });

  test("needs neither credentials for Kubernetes nor a fitting talosctl", async () => {
    const { bench, wanted, run } = setup();
    await run();
    const poor: Workbench = { ...bench, cluster: undefined, clientVersion: "v1.5.0" };
    expect(await upgrade(wanted, poor)).toMatchObject({ rebooted: false });
  });
});

describe("killed and run again", () => {
  const phases = ["reach", "compare", "precheck", "pull", "drain", "reboot", "verify", "uncordon"];
  const calls = ["pull", "cordon", "evict", "upgrade", "uncordon"];

  test.each([...phases.map((name) => ({ name, at: "phase" })), ...calls.map((name) => ({ name, at: "call" }))])(
    "at $at $name, it ends with one reboot in all and the node schedulable",
    async ({ name, at }) => {
      const { machine, cluster, lines, bench, run } = setup();
      cluster.podList = [pod("app")];
      let armed = true;
      const kill = (what: string): void => {
        if (!armed || what !== name) return;
        armed = false;
        throw new Killed();
      };
      if (at === "phase") bench.report = (line) => (lines.push(line), kill(line.split(":")[0]!));
      else machine.afterCall = cluster.afterCall = kill;
      await expect(run()).rejects.toThrow(Killed);
      await run();
      expect(machine).toMatchObject({ boots: 2, talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED });
      expect(cluster.state).toMatchObject({ unschedulable: false, annotations: {} });
    },
  );

  test("while the machine is down for longer than a wrong address would get", async () => {
    const { machine, cluster, run } = setup();
    machine.timing.boot = 900;
    machine.afterCall = (call) => {
      if (call === "upgrade") throw new Killed();
    };
    await expect(run()).rejects.toThrow(Killed);
    machine.afterCall = () => {};
    await machine.clock.sleep(60_000);
    expect(machine.down).toBe(true);
    await run();
    expect(machine.boots).toBe(2);
    expect(cluster.state?.unschedulable).toBe(false);
  });
});

describe("a node cordoned by somebody else", () => {
  test("is drained and stays cordoned", async () => {
    const { cluster, run } = setup();
    cluster.state = { unschedulable: true, annotations: {}, ready: true };
    cluster.podList = [pod("app")];
    await run();
    expect(cluster.state).toMatchObject({ unschedulable: true, annotations: {} });
    expect(cluster.calls).not.toContain("uncordon");
  });
});

describe("a machine that runs more than the stack lists", () => {
  const rich = {
    schematic:
      "customization:\n    extraKernelArgs:\n        - intel_iommu=on\n    systemExtensions:\n        officialExtensions:\n            - siderolabs/iscsi-tools\n",
    extensions: { "iscsi-tools": "v0.2.0" },
    configuredArgs: [],
    platform: "metal",
    secureBoot: true,
  };

  test("is left as it is: all of it is named before anything is pulled or drained", async () => {
    const { machine, cluster, run } = setup();
    machine.running = rich;
    const message = await failure(run());
    expect(message).toContain("machines.gpu-1.extensions: the machine runs siderolabs/iscsi-tools v0.2.0");
    expect(message).toContain("machines.gpu-1.kernelArgs: the machine's kernel was started with intel_iommu=on");
    expect(message).toContain("machines.gpu-1.secureBoot: ");
    expect(machine.calls).toEqual([]);
    expect(cluster.calls).toEqual([]);
  });

  test("and boots by GRUB, is left as it is while an argument of the stack would have no effect", async () => {
    const { machine, wanted, run } = setup();
    wanted.image.kernelArgs.push("pci=realloc");
    const commandLine = "BOOT_IMAGE=/A/vmlinuz talos.platform=metal";
    machine.running = { extensions: {}, configuredArgs: [], platform: "metal", commandLine, bootArgs: [] };
    expect(await failure(run())).toContain("machines.gpu-1.kernelArgs: the machine boots by GRUB");
    expect(machine.calls).toEqual([]);
  });

  test.each([
    ["one that it came without", ["pci=realloc", "iommu=pt"], "console=tty0 iommu=pt", "pci=realloc"],
    ["one that Talos brings and the stack takes away", ["-selinux"], "console=tty0 selinux=1", "-selinux"],
    ["a value that the stack takes away", ["-console=tty0"], "console=tty0 console=ttyS0", "-console=tty0"],
    ["none where it is away", ["-selinux", "-console=tty0"], "console=ttyS0", undefined],
    ["none where the stack's own takes its place", ["-console", "console=ttyS1"], "console=ttyS1", undefined],
  ])("says which argument of the stack the kernel does not follow: %s", async (_, args, commandLine, named) => {
    const { machine, wanted, run, lines } = setup();
    wanted.image.kernelArgs.push(...args);
    machine.running = { extensions: {}, configuredArgs: [], platform: "metal", commandLine };
    expect(await run()).toMatchObject({ rebooted: true });
    const start = `warning: gpu-1: its kernel was not started as kernelArgs says (${named}): `;
    const warnings = lines.filter((line) => line.startsWith("warning: "));
    expect(warnings).toEqual(named === undefined ? [] : [expect.stringContaining(start)]);
  });

  test("is upgraded when all of it is listed or dropped", async () => {
    const { machine, run, wanted } = setup({
      installerImage: `factory.talos.dev/metal-installer-secureboot/${schematics.gpu}:v1.12.6`,
      drop: { kernelArgs: ["intel_iommu=on"] },
    });
    wanted.image.extensions.push("siderolabs/iscsi-tools");
    machine.running = rich;
    expect(await run()).toMatchObject({ rebooted: true });
  });

  test("may lose what this stack brought and does not list any more", async () => {
    const { machine, bench, wanted } = setup();
    machine.running = { ...rich, secureBoot: false };
    expect(await upgrade(wanted, bench, { schematicId: schematics.plain })).toMatchObject({ rebooted: true });
  });
});
