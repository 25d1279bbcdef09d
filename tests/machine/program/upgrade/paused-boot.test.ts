import { CallError } from "../../../../components/clients/failure";
import { pod, schematics } from "../fakes";
import { failure, setup, STAGED } from "../setup";

describe("a boot that does not go on", () => {
  const paused = (minutes: number) => {
    const parts = setup();
    parts.machine.unmet = ["services"];
    parts.machine.afterCall = (call) => {
      if (call === "upgrade")
        parts.machine.bootProblems = [`writeUserFiles failed, rebooting in ${minutes} minutes: already exists`];
    };
    return parts;
  };

  test("is named at once when its pause outlasts the limit", async () => {
    const { clock, run } = paused(35);
    const message = await failure(run());
    expect(message).toContain("machines.gpu-1: its boot does not go on: writeUserFiles failed");
    expect(message).toContain("edit machineconfig");
    expect(clock.now()).toBeLessThan(5 * 60_000);
  });

  describe("which a run comes upon", () => {
    const upon = (persistent: string, more: object = {}, task: Parameters<typeof setup>[0] = {}) => {
      const parts = setup(task);
      const { machine, cluster } = parts;
      Object.assign(machine, { active: "broken", persistent, stageName: "booting", unmet: ["services"], ...more });
      machine.bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
      machine.afterCall = (call) => {
        if (!["reboot", "upgrade"].includes(call)) return;
        Object.assign(machine, { unmet: [], bootProblems: [] });
        machine.clock.after(170, () => {
          cluster.state!.ready = true;
          cluster.podList = [];
        });
      };
      cluster.state!.ready = false;
      cluster.podList = [pod("app", { terminating: true })];
      return parts;
    };
    const installed = { talosVersion: "v1.12.6", schematicId: schematics.gpu };

    test("is named at once where nothing else waits for the next boot", async () => {
      const { clock, machine, run } = upon("broken", installed);
      expect(await failure(run())).toContain("machines.gpu-1: its boot does not go on: writeUserFiles failed");
      expect(clock.now()).toBeLessThan(60_000);
      expect(machine.calls).toEqual([]);
    });

    test.each([
      ["the image is the right one", installed, ["reboot"]],
      // Talos takes back what is installed in the pause.
      ["it is not, and is upgraded after that", {}, ["reboot", "upgrade legacy"]],
    ])("gets the corrected configuration by a reboot, where %s", async (_, more, calls) => {
      const { clock, machine, cluster, run } = upon(STAGED, more);
      expect(await run()).toMatchObject({ rebooted: true });
      expect(machine.calls.filter((each) => !each.startsWith("pull"))).toEqual(calls);
      expect(cluster.state).toMatchObject({ unschedulable: false });
      expect(clock.now()).toBeLessThan(12 * 60_000);
    });

    test("goes back to the image of before where Talos has not confirmed the upgrade; the run says so, and upgrades again", async () => {
      const { machine, lines, run } = upon(STAGED, { talosVersion: "v1.13.0" }, { talosVersion: "v1.13.1" });
      machine.install(`factory.talos.dev/metal-installer/${schematics.gpu}:v1.13.1`);
      machine.boot();
      machine.active = "broken";
      expect(await run()).toMatchObject({ talosVersion: "v1.13.1", rebooted: true });
      expect(machine.calls.filter((each) => !each.startsWith("pull"))).toEqual(["reboot", "upgrade lifecycle"]);
      expect(lines).toContainEqual(
        expect.stringContaining("Talos has not confirmed the upgrade, and may take it back"),
      );
      expect(lines).toContainEqual(expect.stringContaining("Talos took the upgrade back whose boot had failed"));
    });

    test("says that its remedy goes back to the image of before, where Talos has not confirmed the upgrade", async () => {
      const { machine, run } = upon("broken", { talosVersion: "v1.13.0" }, { talosVersion: "v1.13.1" });
      machine.install(`factory.talos.dev/metal-installer/${schematics.gpu}:v1.13.1`);
      machine.boot();
      Object.assign(machine, { active: "broken" });
      expect(await failure(run())).toContain("that reboot also goes back to the image of before");
    });

    describe("on the machine that serves Kubernetes, whose API waits for that boot", () => {
      const alone = () => {
        const parts = upon(STAGED, installed);
        const { machine, cluster, bench } = parts;
        Object.defineProperty(cluster, "unreachable", { get: () => machine.down || machine.stageName !== "running" });
        Object.assign(bench, {
          nodes: () => Promise.reject(new CallError("unreachable", "Kubernetes: nodes: ECONNRESET")),
        });
        return parts;
      };

      test("is ended by a reboot without a drain, and without a wait for the API", async () => {
        const { clock, machine, cluster, lines, run } = alone();
        expect(await run()).toMatchObject({ rebooted: true });
        expect(machine.calls).toEqual(["reboot"]);
        expect(cluster.calls).toEqual([]);
        expect(lines).toContain(
          "drain: none, since nothing of Kubernetes runs on the machine, and its API does not answer",
        );
        expect(clock.now()).toBeLessThan(5 * 60_000);
      });

      test("is drained as ever where the kubelet runs, since pods then may too", async () => {
        const { machine, run } = alone();
        machine.services = () => Promise.resolve({ cri: "Running", kubelet: "Running" });
        expect(await failure(run())).toContain("its pods did not go within 5m");
        expect(machine.calls).toEqual([]);
      });
    });
  });

  test.each([
    ["the image is the right one", { talosVersion: "v1.12.6", schematicId: schematics.gpu }, []],
    ["it is not", {}, ["upgrade legacy"]],
  ])("may end by itself before the reboot is asked for, where %s", async (_, more, calls) => {
    const { clock, machine, cluster, run } = setup();
    Object.assign(machine, { active: "broken", stageName: "booting", unmet: ["services"], ...more });
    machine.bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
    cluster.afterCall = (call) => {
      if (call !== "cordon") return; // the last before the reboot
      machine.stageName = "rebooting";
      clock.after(60, () => {
        Object.assign(machine, { stageName: "running", unmet: [], bootProblems: [], active: machine.persistent });
        machine.boots++;
      });
    };
    expect(await run()).toMatchObject({ rebooted: true });
    expect(machine.calls.filter((each) => !each.startsWith("pull"))).toEqual(calls);
  });

  test("may end by itself as soon as it was seen, with a configuration that was corrected meanwhile", async () => {
    const { machine, run } = setup();
    const installed = { talosVersion: "v1.12.6", schematicId: schematics.gpu };
    Object.assign(machine, { active: "broken", stageName: "booting", unmet: ["services"], ...installed });
    const seen = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
    machine.bootErrors = () => {
      // Its own reboot: what was staged is in effect.
      Object.assign(machine, { stageName: "running", unmet: [], active: machine.persistent });
      machine.boots++;
      machine.bootErrors = () => Promise.resolve([]);
      return Promise.resolve(seen);
    };
    await run();
    expect(machine.calls).toEqual([]);
  });

  describe("since the image's services wait for a driver that no module brings", () => {
    const driverless = (persistent: string) => {
      const parts = setup();
      const { machine } = parts;
      Object.assign(machine, {
        stageName: "booting",
        talosVersion: "v1.12.6",
        schematicId: schematics.gpu,
        persistent,
      });
      return parts;
    };

    test("is ended by a reboot into the configuration that names the modules", async () => {
      const { clock, machine, lines, run } = driverless(STAGED);
      expect(await run()).toMatchObject({ rebooted: true });
      expect(machine.calls).toEqual(["reboot"]);
      expect(lines).toContainEqual(
        expect.stringMatching(/its boot does not end: ext-nvidia-persistenced waits for the driver/),
      );
      expect(clock.now()).toBeLessThan(10 * 60_000);
    });

    test("is named at once where no other configuration waits", async () => {
      const { clock, machine, run } = driverless("machine: {type: worker}\n");
      expect(await failure(run())).toMatch(
        /^machines\.gpu-1: its boot does not end: ext-nvidia-persistenced waits for the driver, and its configuration names none/,
      );
      expect(machine.calls).toEqual([]);
      expect(clock.now()).toBeLessThan(60_000);
    });

    test("is named at once where the configuration of the new boot does not name them either", async () => {
      const { clock, machine, run } = setup();
      machine.persistent = "machine: {type: worker, sysctls: {a: b}}\n";
      machine.bootsTo = "booting";
      expect(await failure(run())).toContain("machines.gpu-1: its boot does not end: ext-nvidia-persistenced waits");
      expect(machine.boots).toBe(2);
      expect(clock.now()).toBeLessThan(5 * 60_000);
    });

    test("is waited for where the configuration names them: they are loaded within the boot", async () => {
      const { clock, machine, run } = driverless(STAGED);
      Object.assign(machine, { active: STAGED, driverWorks: false });
      clock.after(20, () => Object.assign(machine, { stageName: "running", driverWorks: true }));
      expect(await run()).toMatchObject({ rebooted: false });
      expect(machine.calls).toEqual([]);
    });
  });

  test("is told, and named when the next boot does not go on either", async () => {
    const { clock, machine, lines, run } = paused(5);
    clock.after(600, () => machine.boots++);
    expect(await failure(run())).toContain("its boot does not go on");
    expect(lines.filter((line) => line.includes("its boot does not go on"))).toHaveLength(1);
    expect(clock.now()).toBeLessThan(11 * 60_000);
  });

  test("of the new image, after which Talos runs the old one again, is named as the reason", async () => {
    const { clock, machine, run } = paused(5);
    clock.after(600, () => {
      Object.assign(machine, { bootProblems: [], stageName: "running", talosVersion: "v1.12.4" });
      machine.schematicId = schematics.plain;
      machine.boots++;
    });
    const message = await failure(run());
    expect(message).toMatch(
      /Talos rolled back: .*the boot of the new image failed \(its boot does not go on: writeUserFiles/,
    );
    expect(message).not.toContain("somebody else");
  });

  test("is waited for when somebody corrects the configuration in the pause", async () => {
    const { clock, machine, run } = paused(5);
    clock.after(600, () => {
      machine.bootProblems = [];
      machine.boots++;
      machine.stageName = "running";
    });
    expect(await run()).toMatchObject({ rebooted: true });
  });
});
