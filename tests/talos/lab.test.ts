import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { assertOk, expectReady, nothingLeft, runLab } from "../e2e/support/labs";
import { whyNotReal } from "./stand";

const reasons = whyNotReal().join("; ");
if (reasons !== "") console.warn(`a lab of real machines: skipped: ${reasons}`);

/** Stacks of one machine that another tool configured: a worker, and one that is its cluster's control plane, too. */
const stacks = [
  {
    name: "velaryon",
    release: "v1.11.1",
    driver: /^535\./,
    came: { allocatable: { "nvidia.com/gpu": "1" }, taints: ["gpu=true:NoSchedule"] },
    ready: ["nvidia/nvidia-test"],
  },
  {
    name: "aarhus-h100",
    release: "v1.11.5",
    driver: /^570\./,
    came: { allocatable: { "nvidia.com/gpu": "2" }, taints: [] },
    ready: ["gpu-pods/nvidia-test", "vllm/vllm"],
  },
];

/** From its first power-on until the stack is gone: Pulumi, Talos, kubelet and control plane are real. */
(reasons === "" ? test : test.skip).each(stacks)(
  "$name lives on a machine that runs Talos itself, and reboots as the preview says",
  async ({ name, release, driver, came, ready }) => {
    const consoles = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-consoles-"));
    const args = ["--stack", name, "--machines", "real", "--preview", "--updates", "2", "--consoles", consoles];
    const run = await runLab(args);
    assertOk(run);
    const { previews, updates, machines, left } = run.report;
    expect(previews[0]!.foretold[name]).toContain(`reboots: only if it does not run Talos ${release} with schematic`);
    expect(updates.map(({ reboots }) => reboots[name])).toEqual([1, 0]);
    expect(updates[1]!.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    const driverVersion: unknown = expect.stringMatching(driver);
    expect(machines[name]).toMatchObject({ talosVersion: release, driverVersion, ...came });
    expectReady(run.report, ready);
    expect(left).toEqual([]);
    await nothingLeft(run.folder);
    expect(fs.readFileSync(path.join(consoles, `${name}.log`), "utf8")).toContain("Linux version");
    fs.rmSync(consoles, { recursive: true });
  },
  60 * 60_000,
);
