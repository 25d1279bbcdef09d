import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { assertOk, expectReady, nothingLeft, runLab } from "../e2e/support/labs";
import { whyNotReal } from "./stand";

const reasons = whyNotReal().join("; ");
if (reasons !== "") console.warn(`a lab of real machines: skipped: ${reasons}`);

/** One worker that another tool configured, from its first power-on until the stack is gone: Pulumi, Talos, kubelet and control plane are real. */
(reasons === "" ? test : test.skip)(
  "velaryon lives on a machine that runs Talos itself, and reboots as the preview says",
  async () => {
    const consoles = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-consoles-"));
    const args = ["--stack", "velaryon", "--machines", "real", "--preview", "--updates", "2", "--consoles", consoles];
    const run = await runLab(args);
    assertOk(run);
    const { previews, updates, machines, left } = run.report;
    expect(previews[0]!.foretold["velaryon"]).toMatch(/^reboots: only if it does not run Talos v1.13.0 with schematic/);
    expect(updates.map(({ reboots }) => reboots["velaryon"])).toEqual([1, 0]);
    expect(updates[1]!.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    expect(machines["velaryon"]).toMatchObject({
      ...{ talosVersion: "v1.13.0", allocatable: { "nvidia.com/gpu": "1" }, taints: ["gpu=true:NoSchedule"] },
      driverVersion: expect.stringMatching(/^580\./) as unknown,
    });
    expectReady(run.report, ["nvidia/nvidia-test"]);
    expect(left).toEqual([]);
    await nothingLeft(run.folder);
    expect(fs.readFileSync(path.join(consoles, "velaryon.log"), "utf8")).toContain("Linux version");
    fs.rmSync(consoles, { recursive: true });
  },
  60 * 60_000,
);
