import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { expectedResults } from "../../../tests/e2e/support/expected";
import {
  assertOk,
  expectReady,
  waitUntilNothingIsLeft,
  runLab,
} from "../../../tests/e2e/support/labs";
import { knownLabDifferences, lifecycleLines, differingLines } from "./judge";
import { reasonsToSkip } from "./test-bed";

/**
 * Four kinds of stacks: workers of an existing cluster, configured by another tool and by the stack; a control plane of
 * its own cluster; and a cluster that the stack creates.
 */
const stacks = ["velaryon", "rtx5070ti", "aarhus-h100", "modern"];
/** A stack's name selects only its lab: TALOS_GPU_REAL_TALOS=velaryon. */
const selectedStacks = stacks.filter((stack) => stack === process.env.TALOS_GPU_REAL_TALOS);
const reasons = reasonsToSkip(["1", ...stacks]).join("; ");
if (reasons !== "") console.warn(`a lab of real machines: skipped: ${reasons}`);

/**
 * From the machines' first power-on until the destroy, with a real Pulumi, Talos, kubelet and control plane. A lab of
 * emulated machines must report the same steps and results.
 */
(reasons === "" ? test : test.skip).each(selectedStacks.length > 0 ? selectedStacks : stacks)(
  "the stack %s runs on machines with Talos itself, and they reboot as the preview says",
  async (stack) => {
    const consoles = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-consoles-"));
    const args = [
      "--stack",
      stack,
      "--machines",
      "real",
      "--preview",
      "--updates",
      "2",
      "--consoles",
      consoles,
    ];
    const run = await runLab(args);
    assertOk(run);
    const { updates, machines, left } = run.report;
    expect(updates[1]!.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    for (const [name, { gpus, taints = [], ...expectedState }] of Object.entries(
      expectedResults[stack]!.machines,
    )) {
      const allocatable = gpus === undefined ? {} : { "nvidia.com/gpu": gpus };
      expect(machines[name]).toMatchObject({ ...expectedState, taints, allocatable });
      // Their disk already has Talos. A machine without extensions already runs the image of the plan.
      expect(updates.map(({ reboots }) => reboots[name])).toEqual([gpus === undefined ? 0 : 1, 0]);
      expect(fs.readFileSync(path.join(consoles, `${name}.log`), "utf8")).toContain(
        "Linux version",
      );
    }
    expectReady(run.report, expectedResults[stack]!.workloads);
    expect(left).toEqual([]);
    await waitUntilNothingIsLeft(run.folder);
    const emulated = await runLab(
      args.filter((arg) => !["--machines", "real", "--consoles", consoles].includes(arg)),
    );
    assertOk(emulated);
    const foundDifferences = differingLines(
      lifecycleLines(run.lines),
      lifecycleLines(emulated.lines),
    );
    expect(
      foundDifferences.filter(
        (line) => !knownLabDifferences.some((known) => known.line.test(line)),
      ),
    ).toEqual([]);
    fs.rmSync(consoles, { recursive: true });
  },
);
