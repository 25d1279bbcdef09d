import * as path from "node:path";
import type { OutsideRun } from "./runs/external";
import { runApart } from "./support/apart";
import { assertOk, runLab } from "./support/labs";

const file = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

test.concurrent.each([
  ["Flux has the device plugin", "outside-flux", "4"],
  ["Argo CD has the operator", "outside-argo", "1"],
])(
  "%s: machines come up, upgrade from Talos 1.12 to 1.13 and are destroyed, while the external release stays",
  async (_, stack, units) => {
    const then = ["--then", file(`${stack}-1.13`), "--updates", "2", "--discover"];
    const { status, report, lines } = await runLab(["--stack", file(stack), ...then]);
    assertOk({ status, report, lines });
    expect(report.machines["gpu"]).toMatchObject({
      talosVersion: "v1.13.0",
      reboots: 2,
      allocatable: { "nvidia.com/gpu": units },
    });
    for (const unchanged of [report.updates[1]!, report.updates[3]!])
      expect(unchanged.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    // Only the files contain the values and their owner, and discover does not read the files.
    expect(report.discovered?.unlike).toEqual(["kubernetes.by", "kubernetes.release"]);
    expect(lines.join("\n")).not.toMatch(/(create|update|delete)\S* \S+-(release|runtime-class) /);
  },
);

test.concurrent.each(["plugin", "operator"])(
  "an external release is taken over and handed back, and its pods stay: %s",
  async (which) => {
    const { steps, reboots } = (await runApart<OutsideRun>("external", which)).outcome;
    const told = steps.map(({ step, result, kept }) => [step, result, kept]);
    expect(told).toEqual(steps.map(({ step }) => [step, "succeeded", true]));
    // The destroy removes the stack's labels from the nodes, and the plugin's pods need these labels.
    const [first, ...later] = steps.slice(0, -1);
    expect(Object.keys(first!.pods).length).toBeGreaterThan(0);
    expect(later.map(({ step, pods }) => [step, pods])).toEqual(
      later.map(({ step }) => [step, first!.pods]),
    );
    expect(reboots).toBe(1);
  },
);
