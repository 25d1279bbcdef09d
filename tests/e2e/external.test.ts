import * as path from "node:path";
import type { ExternalReleaseRun } from "./runs/external";
import { runInOwnProcess } from "./support/own-process";
import { assertOk, runLab } from "./support/labs";

const stackFile = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

test.concurrent.each([
  ["Flux has the device plugin", "outside-flux", "4"],
  ["Argo CD has the operator", "outside-argo", "1"],
])(
  "%s: machines come up, upgrade from Talos 1.12 to 1.13 and are destroyed, while the external release stays",
  async (_, stack, gpus) => {
    const editArgs = ["--then", stackFile(`${stack}-1.13`), "--updates", "2", "--discover"];
    const { status, report, lines } = await runLab(["--stack", stackFile(stack), ...editArgs]);
    assertOk({ status, report, lines });
    expect(report.machines["gpu"]).toMatchObject({
      talosVersion: "v1.13.0",
      reboots: 2,
      allocatable: { "nvidia.com/gpu": gpus },
    });
    for (const unchanged of [report.updates[1]!, report.updates[3]!])
      expect(unchanged.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    // Only the files contain the values and their owner, and discover does not read the files.
    expect(report.discovered?.differingFields).toEqual(["kubernetes.by", "kubernetes.release"]);
    expect(lines.join("\n")).not.toMatch(/(create|update|delete)\S* \S+-(release|runtime-class) /);
  },
);

test.concurrent.each(["plugin", "operator"])(
  "an external release is taken over and handed back, and its pods stay: %s",
  async (gpuProvider) => {
    const { outcome } = await runInOwnProcess<ExternalReleaseRun>("external", gpuProvider);
    const { steps, reboots } = outcome;
    for (const { step, result, sameObjects } of steps)
      expect({ step, result, sameObjects }).toEqual({
        step,
        result: "succeeded",
        sameObjects: true,
      });
    // The destroy removes the stack's labels from the nodes, and the plugin's pods need these labels.
    const [firstStep, ...laterSteps] = steps.slice(0, -1);
    expect(Object.keys(firstStep!.pods).length).toBeGreaterThan(0);
    for (const { step, pods } of laterSteps)
      expect({ step, pods }).toEqual({ step, pods: firstStep!.pods });
    expect(reboots).toBe(1);
  },
);
