import { CORDONED_BY } from "../../../../components/machine/program/kubernetes/cordon-mark";
import { STAYS_CORDONED } from "../../../../components/machine/program/task/upgrade";
import { upgrade } from "../../../../components/machine/program/upgrade/upgrade";
import { schematics, task } from "../fakes";
import { failure, setup, STAGED } from "../setup";

describe("a run after a killed one, where Kubernetes does not answer until the machine runs", () => {
  const control = () => {
    const parts = setup({ role: "controlplane" });
    const { machine, cluster } = parts;
    Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED });
    cluster.unreachable = true;
    return parts;
  };

  test("the node that the first run cordoned takes pods again, though the machine is as wanted", async () => {
    const { clock, machine, cluster, run } = control();
    cluster.state = { unschedulable: true, annotations: { [CORDONED_BY]: "talos-gpu" }, ready: true };
    clock.after(90, () => (cluster.unreachable = false));
    expect(await run()).toMatchObject({ rebooted: false });
    expect(machine.calls).toEqual([]);
    expect(cluster.state).toMatchObject({ unschedulable: false, annotations: {} });
  });

  test("a node that nobody cordoned is left alone", async () => {
    const { clock, cluster, lines, run } = control();
    clock.after(90, () => (cluster.unreachable = false));
    expect(await run()).toMatchObject({ rebooted: false });
    expect(cluster.calls).toEqual([]);
    expect(lines.at(-1)).toMatch(/^equal: /);
  });

  test("it fails at its limit where Kubernetes never says", async () => {
    const { clock, run } = control();
    expect(await failure(run())).toMatch(
      /^machines\.gpu-1: whether an earlier run left its node cordoned is not known: Kubernetes did not answer within 5m .*takes no pods; see that `kubectl get node gpu-1` answers/,
    );
    expect(clock.now()).toBe(5 * 60_000);
  });
});

describe("a node that somebody uncordoned after a failed update, by `kubectl uncordon` alone", () => {
  const uncordoned = (...given: Parameters<typeof setup>) => {
    const parts = setup(...given);
    parts.cluster.state = { unschedulable: false, annotations: { [CORDONED_BY]: schematics.gpu }, ready: true };
    return parts;
  };

  test("loses the mark with the next update, and the next cordon is theirs", async () => {
    const { machine, cluster, lines, run } = uncordoned();
    Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED });
    expect(await run()).toMatchObject({ rebooted: false });
    expect(cluster.calls).toEqual(["unmark"]);
    expect(lines.at(-1)).toMatch(/^equal: /);
    cluster.state = { ...cluster.state!, unschedulable: true };
    await run();
    expect(cluster.state).toMatchObject({ unschedulable: true, annotations: {} });
  });

  test("is not said to stay cordoned when the next update fails as well", async () => {
    const { lines, run } = uncordoned({ talosVersion: "v1.12.3" });
    expect(await failure(run())).toContain("newer than the wanted v1.12.3");
    expect(lines.filter((line) => line.includes("stays cordoned"))).toEqual([]);
  });
});

test("a node that somebody cordons stays so after an earlier update was given up by the command that it named", async () => {
  const { machine, cluster, lines, run } = setup();
  machine.fail("upgrade", "refused");
  expect(await failure(run())).toContain("upgrade: refused");
  const command = "`kubectl uncordon gpu-1 && kubectl annotate node gpu-1 talos-gpu/cordoned-by-`";
  expect(lines.at(-1)).toBe(`node gpu-1 ${STAYS_CORDONED}; ${command} gives up`);
  cluster.state = { ...cluster.state!, unschedulable: true, annotations: {} };
  await run();
  expect(cluster.state).toMatchObject({ unschedulable: true, annotations: {} });
});

describe("what an update brought that then failed", () => {
  const withArgument = {
    schematic: "customization:\n    extraKernelArgs:\n        - iommu=pt\n",
    extensions: {},
    configuredArgs: [],
    platform: "metal",
  };
  /** The second schematic brings an argument, and its driver does not come up. */
  const failed = async () => {
    const parts = setup();
    parts.machine.driverWorks = false;
    await failure(parts.run());
    Object.assign(parts.machine, { driverWorks: true, running: withArgument });
    return parts;
  };
  const before = { schematicId: schematics.plain };

  test("may go again with the next edit, though no update has ended well with it", async () => {
    const { machine, bench } = await failed();
    const next = task({ schematicId: schematics.other });
    expect(await upgrade(next, bench, before)).toMatchObject({ rebooted: true });
    expect(machine.schematicId).toBe(schematics.other);
  });

  test("may go again after one more edit that did not bring its own", async () => {
    const { machine, bench } = await failed();
    machine.rollback = true;
    expect(await failure(upgrade(task({ schematicId: "c".repeat(64) }), bench, before))).toContain("rolled back");
    machine.rollback = false;
    expect(await upgrade(task({ schematicId: schematics.other }), bench, before)).toMatchObject({ rebooted: true });
  });

  test("is lost on purpose alone on a machine that the stack takes over", async () => {
    const { machine, cluster, bench } = await failed();
    cluster.state!.annotations = {};
    const next = task({ schematicId: schematics.other });
    expect(await failure(upgrade(next, bench, before))).toContain("kernel was started with iommu=pt");
    expect(machine.schematicId).toBe(schematics.gpu);
  });
});
