import { schematics } from "../fakes";
import { failure, setup, STAGED } from "../setup";

describe("an image that is installed and waits for its boot", () => {
  const wanted = `factory.talos.dev/metal-installer/${schematics.gpu}:v1.13.1`;
  const running = `${schematics.plain}:v1.13.0`;
  const before = () => {
    const parts = setup({ talosVersion: "v1.13.1" });
    parts.machine.talosVersion = "v1.13.0";
    return parts;
  };
  const doings = (calls: string[]): string[] => calls.filter((call) => !call.startsWith("pull"));

  test("is booted by the next run, and nothing is installed over the image that runs", async () => {
    const { machine, run } = before();
    machine.cutOff = true;
    await machine.upgrade(wanted, "lifecycle").catch(() => undefined); // as a run leaves it that is killed now
    expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.13.1" });
    expect(doings(machine.calls)).toEqual(["upgrade lifecycle", "reboot"]);
    expect(machine.disk).toContain(running);
  });

  test("is booted by the same run, where only the answer was lost", async () => {
    const { machine, run } = before();
    machine.cutOff = true;
    expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.13.1" });
    expect(doings(machine.calls)).toEqual(["upgrade lifecycle", "reboot"]);
    expect(machine.disk).toContain(running);
  });

  test("and is not the wanted one stops the run before anything is disturbed, with the ways out", async () => {
    const { machine, cluster, run } = before();
    machine.lines = [
      `starting upgrade: installer_image=factory.talos.dev/metal-installer/${schematics.other}:v1.13.1, disk=/dev/vda`,
      "upgrade completed successfully: exit_code=0",
    ];
    const message = await failure(run());
    expect(message).toContain(`waits for its boot: factory.talos.dev/metal-installer/${schematics.other}:v1.13.1`);
    expect(message).toContain("talosctl -n 10.0.0.1 rollback");
    expect([...machine.calls, ...cluster.calls]).toEqual([]);
  });

  test("is told of on a machine for which nothing is to be done", async () => {
    const { machine, lines, run } = before();
    Object.assign(machine, { talosVersion: "v1.13.1", schematicId: schematics.gpu, active: STAGED });
    machine.lines = [
      "starting upgrade: installer_image=other:v1.13.1, disk=/dev/vda",
      "upgrade completed: exit_code=0",
    ];
    expect(await run()).toMatchObject({ rebooted: false });
    expect(lines).toContainEqual(expect.stringContaining("warning: gpu-1: other:v1.13.1 is installed there"));
  });
});

describe("a reboot after which the machine runs and is not ready", () => {
  test("is waited for, since Talos confirms the upgrade only then", async () => {
    const { machine, run } = setup();
    machine.readyAfter = 100;
    const { phases } = await run();
    expect(phases.find(({ name }) => name === "reboot")!.seconds).toBeGreaterThanOrEqual(280);
  });

  test("is told after a while, with what comes of another one", async () => {
    const { machine, lines, clock, run } = setup();
    machine.readyAfter = 1e6;
    expect(await run()).toMatchObject({ rebooted: true });
    expect(lines).toContainEqual(
      expect.stringMatching(/^warning: gpu-1: it runs and is not ready; Talos confirms an upgrade only then/),
    );
    expect(clock.now()).toBeLessThan(12 * 60_000);
  });
});
