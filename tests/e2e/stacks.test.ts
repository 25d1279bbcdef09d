import * as path from "node:path";
import { expectedResults } from "./support/expected";
import {
  assertOk,
  expectLinesInOrder,
  expectReady,
  runLab,
  waitUntilNothingIsLeft,
} from "./support/labs";
import { availableMachineKind } from "./support/real-node";

const machineKind = availableMachineKind();

// Run a few at a time (`maxConcurrency`), since each mostly waits.
test.concurrent.each(Object.entries(expectedResults))(
  `%s comes up as previewed on ${machineKind} machines, is healthy, stays unchanged in a second update, and leaves nothing`,
  async (
    stack,
    {
      machines,
      workloads,
      gpuResource = "nvidia.com/gpu",
      workloadEdit,
      fieldsNotDiscovered = [],
      hostAnnouncements,
      emulated,
      outputPatterns = [],
    },
  ) => {
    const editArgs =
      workloadEdit === undefined
        ? []
        : ["--then", path.join(__dirname, `stacks/Pulumi.${workloadEdit.stack}.yaml`)];
    const { status, report, lines, folder } = await runLab([
      "--machines",
      emulated ? "emulated" : machineKind,
      "--stack",
      stack,
      "--preview",
      "--updates",
      "2",
      "--discover",
      ...(hostAnnouncements === undefined ? [] : ["--pulumi", "host"]),
      ...editArgs,
    ]);
    assertOk({ status, report, lines });
    // A warning of Node.js is about the lab's own code, and would only puzzle its user.
    expect(lines.filter((line) => /\(node:\d+\) /.test(line))).toEqual([]);
    expect(report.failures).toEqual([]);
    expect(report.stack).toBe(stack);
    expect(report.updates.every(({ result }) => result === "succeeded")).toBe(true);
    const [firstUpdate, secondUpdate, updateAfterEdit, unchangedUpdate] = report.updates;
    const unchanged = { update: 0, replace: 0, delete: 0 };
    // A preview announces every change of the update, and calls no machine.
    expect(report.previews).toMatchObject(
      [firstUpdate!, ...(updateAfterEdit === undefined ? [] : [updateAfterEdit])].map(
        ({ changes }) => ({
          result: "succeeded",
          changes,
          machineRequests: 0,
        }),
      ),
    );
    for (const [machine, announcement] of Object.entries(hostAnnouncements ?? {}))
      expect(report.previews[0]!.foretold[machine]).toMatch(new RegExp(announcement));
    expect(firstUpdate!.changes).toMatchObject({ ...unchanged, same: 0 });
    expect(secondUpdate!.changes).toEqual({
      ...unchanged,
      create: 0,
      same: firstUpdate!.changes.create,
    });
    expect(secondUpdate!.machineRequests).toBe(0);
    if (workloadEdit !== undefined) {
      expect(updateAfterEdit!.machineRequests).toBe(0);
      expect(unchangedUpdate).toMatchObject({
        machineRequests: 0,
        changes: { ...unchanged, create: 0 },
      });
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
        allocatable: gpus === undefined ? {} : { [gpuResource]: gpus },
      });
      expect(report.machines[name]!.schematicId).toMatch(/^[0-9a-f]{64}$/);
    }
    expectReady(report, workloadEdit?.workloads ?? workloads);
    expect(report.discovered).toMatchObject({ differingFields: fieldsNotDiscovered, unseen: [] });
    expect(report.left).toEqual([]);
    expectLinesInOrder(lines, outputPatterns);
    await waitUntilNothingIsLeft(folder);
  },
);
