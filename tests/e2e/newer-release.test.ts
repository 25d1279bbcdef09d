import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { laterReleases } from "../../lab/factory/releases";
import { assertOk, runLab } from "./support/labs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-newer-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** The stack's file with a release. */
function stack(release: string): string {
  const text = fs.readFileSync(path.join(__dirname, "stacks/Pulumi.newer-release.yaml"), "utf8");
  const file = path.join(folder, `Pulumi.${release}.yaml`);
  fs.writeFileSync(file, text.replace("RELEASE", release));
  return file;
}

test("a Talos release that the tables lack comes up with the Image Factory's facts, or else with a reported assumption", async () => {
  const [of13, of14] = laterReleases;
  const [newer13, newer14] = [`v1.13.${of13!.from}`, `v1.14.${of14!.to}`];
  const [asked, silent] = await Promise.all([
    runLab(["--stack", stack(newer13), "--updates", "2"]),
    runLab(["--stack", stack(newer14), "--updates", "2"], {
      TALOS_GPU_FACTORY: "http://127.0.0.1:65535",
    }),
  ]);
  for (const { status, report, lines } of [asked, silent]) {
    assertOk({ status, report, lines });
    expect(report.updates[1]?.changes).toMatchObject({
      create: 0,
      update: 0,
      replace: 0,
      delete: 0,
    });
  }
  expect(asked.report.machines["gpu-1"]).toMatchObject({
    talosVersion: newer13,
    driverVersion: of13!.production,
  });
  expect(asked.lines.join("\n")).toContain(`the Image Factory reports the drivers ${of13!.lts}`);
  expect(silent.report.machines["gpu-1"]).toMatchObject({
    talosVersion: newer14,
    driverVersion: of14!.production,
  });
  expect(silent.lines.join("\n")).toContain("because the Image Factory did not answer");
});
