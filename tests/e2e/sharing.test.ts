import * as path from "node:path";
import { assertOk, expectReady, runLab } from "./support/labs";

interface SharingStack {
  /** Stack file next to this one. */
  stack: string;
  allocatable: Record<string, string>;
  workloads: string[];
}

const migStacks: SharingStack[] = [
  // Two cards, seven slices of each.
  { stack: "mig-single", allocatable: { "nvidia.com/gpu": "14" }, workloads: ["gpu-pods/slice"] },
  {
    stack: "mig-mixed",
    allocatable: {
      "nvidia.com/mig-1g.12gb": "2",
      "nvidia.com/mig-2g.24gb": "1",
      "nvidia.com/mig-3g.47gb": "1",
    },
    workloads: ["gpu-pods/slice"],
  },
];

const workloads = ["gpu-pods/client-1", "gpu-pods/client-2"];
/** One card for two pods, by time slicing. */
const slicesOperator: SharingStack = {
  stack: "slices-operator",
  allocatable: { "nvidia.com/gpu": "2" },
  workloads,
};
/** The standalone device plugin replaces the operator. */
const slicesPlugin: SharingStack = { ...slicesOperator, stack: "slices-plugin" };

/** Stacks that follow each other in one lab, by edits that change no machine. */
const chains = [...migStacks.map((stack) => [stack]), [slicesOperator, slicesPlugin]];

// Run a few at a time (`maxConcurrency`), since each mostly waits.
test.concurrent.each(
  chains.map((chain): [string, SharingStack[]] => [
    chain.map(({ stack }) => stack).join(", "),
    chain,
  ]),
)(
  "%s: pods run on the planned shares of the cards after one reboot, and a second update changes nothing",
  async (_, chain) => {
    const [file, ...editedFiles] = chain.map(({ stack }) =>
      path.join(__dirname, `stacks/Pulumi.${stack}.yaml`),
    );
    const args = [
      "--stack",
      file!,
      "--updates",
      "2",
      ...editedFiles.flatMap((edited) => ["--then", edited]),
    ];
    const { status, report, lines } = await runLab(args);
    assertOk({ status, report, lines });
    expect(report).toMatchObject({ stack: chain[0]!.stack, failures: [] });
    const reports = [...report.beforeEdits, report];
    expect(reports).toHaveLength(chain.length);
    for (const [index, { allocatable, workloads }] of chain.entries()) {
      expect(reports[index]!.machines["gpu-1"]).toMatchObject({ reboots: 1, allocatable });
      expectReady(reports[index]!, workloads);
      const [update, secondUpdate] = report.updates.slice(2 * index);
      if (index > 0) expect(update).toMatchObject({ result: "succeeded", machineRequests: 0 });
      expect(secondUpdate).toMatchObject({ result: "succeeded", machineRequests: 0 });
      expect(secondUpdate!.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    }
    expect(report.updates[1]!.changes.same).toBe(report.updates[0]!.changes.create);
  },
);
