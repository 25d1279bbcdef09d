import * as path from "node:path";
import { expected } from "./support/expected";
import { assertOk, expectReady, nothingLeft, runLab } from "./support/labs";
import { machinesHere } from "./support/real-node";

const kind = machinesHere();

// Run a few at a time (`maxConcurrency`), since each mostly waits.
test.concurrent.each(Object.entries(expected))(
  `%s comes up as previewed on ${kind} machines, is healthy, stays unchanged in a second update, and leaves nothing`,
  async (
    stack,
    { machines, workloads, of = "nvidia.com/gpu", then, unseen = [], byHost, emulated, says = [] },
  ) => {
    const edit =
      then === undefined
        ? []
        : ["--then", path.join(__dirname, `stacks/Pulumi.${then.stack}.yaml`)];
    const { status, report, lines, folder } = await runLab([
      "--machines",
      emulated ? "emulated" : kind,
      "--stack",
      stack,
      "--preview",
      "--updates",
      "2",
      "--discover",
      ...(byHost === undefined ? [] : ["--pulumi", "host"]),
      ...edit,
    ]);
    assertOk({ status, report, lines });
    // A warning of Node.js is about the lab's own code, and would only puzzle its user.
    expect(lines.filter((line) => /\(node:\d+\) /.test(line))).toEqual([]);
    expect(report.failures).toEqual([]);
    expect(report.stack).toBe(stack);
    expect(report.updates.every(({ result }) => result === "succeeded")).toBe(true);
    const [first, second, edited, again] = report.updates;
    const unchanged = { update: 0, replace: 0, delete: 0 };
    // A preview announces every change of the update, and calls no machine.
    expect(report.previews).toMatchObject(
      [first!, ...(edited === undefined ? [] : [edited])].map(({ changes }) => ({
        result: "succeeded",
        changes,
        machineRequests: 0,
      })),
    );
    for (const [machine, said] of Object.entries(byHost ?? {}))
      expect(report.previews[0]!.foretold[machine]).toMatch(new RegExp(said));
    expect(first!.changes).toMatchObject({ ...unchanged, same: 0 });
    expect(second!.changes).toEqual({ ...unchanged, create: 0, same: first!.changes.create });
    expect(second!.machineRequests).toBe(0);
    if (then !== undefined) {
      expect(edited!.machineRequests).toBe(0);
      expect(again).toMatchObject({ machineRequests: 0, changes: { ...unchanged, create: 0 } });
      expectReady(report.beforeEdits[0]!, workloads);
    }
    for (const [name, { talosVersion, driverVersion, gpus, taints = [] }] of Object.entries(
      machines,
    )) {
      expect(report.machines[name]).toMatchObject({
        talosVersion,
        driverVersion,
        reboots: 1,
        taints,
        allocatable: gpus === undefined ? {} : { [of]: gpus },
      });
      expect(report.machines[name]!.schematicId).toMatch(/^[0-9a-f]{64}$/);
    }
    expectReady(report, then?.workloads ?? workloads);
    expect(report.discovered).toMatchObject({ unlike: unseen, unseen: [] });
    expect(report.left).toEqual([]);
    let at = -1;
    for (const pattern of says) {
      const next = lines.findIndex((line, index) => index > at && new RegExp(pattern).test(line));
      expect([pattern, next > at]).toEqual([pattern, true]);
      at = next;
    }
    await nothingLeft(folder);
  },
);
