import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { laterReleases } from "../../lab/factory/releases";
import { assertOk, runLab } from "./support/labs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-newer-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Writes the stack with a Talos release; returns the file's path. */
function writeStack(release: string): string {
  const text = fs.readFileSync(path.join(__dirname, "stacks/Pulumi.newer-release.yaml"), "utf8");
  const file = path.join(folder, `Pulumi.${release}.yaml`);
  fs.writeFileSync(file, text.replace("talosVersion: RELEASE", `talosVersion: ${release}`));
  return file;
}

test("a Talos release that the tables lack comes up with the Image Factory's facts, or else with a reported assumption", async () => {
  const [talos113, talos114] = laterReleases;
  const [version113, version114] = [`v1.13.${talos113!.from}`, `v1.14.${talos114!.to}`];
  const [withFactory, withoutFactory] = await Promise.all([
    runLab(["--stack", writeStack(version113), "--updates", "2"]),
    runLab(["--stack", writeStack(version114), "--updates", "2"], {
      TALOS_GPU_FACTORY: "http://127.0.0.1:65535",
    }),
  ]);
  for (const { status, report, lines } of [withFactory, withoutFactory]) {
    assertOk({ status, report, lines });
    expect(report.updates[1]?.changes).toMatchObject({
      create: 0,
      update: 0,
      replace: 0,
      delete: 0,
    });
  }
  expect(withFactory.report.machines["gpu-1"]).toMatchObject({
    talosVersion: version113,
    driverVersion: talos113!.production,
  });
  expect(withFactory.lines.join("\n")).toContain(
    `the Image Factory reports the drivers ${talos113!.lts}`,
  );
  expect(withoutFactory.report.machines["gpu-1"]).toMatchObject({
    talosVersion: version114,
    driverVersion: talos114!.production,
  });
  expect(withoutFactory.lines.join("\n")).toContain("because the Image Factory did not answer");
});
