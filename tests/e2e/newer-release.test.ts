import * as path from "node:path";
import { laterReleases } from "../../lab/factory/releases";
import { assertOk, runLab } from "./support";

const stack = (name: string): string => path.join(__dirname, `stacks/Pulumi.${name}.yaml`);

test("a Talos release that the tables do not have comes up by the Factory's word, and without it by an assumption that is said", async () => {
  const [asked, silent] = await Promise.all([
    runLab(["--stack", stack("talos-1.13.10"), "--updates", "2"]),
    runLab(["--stack", stack("talos-1.14.3"), "--updates", "2"], { TALOS_GPU_FACTORY: "http://127.0.0.1:65535" }),
  ]);
  for (const { status, report, lines } of [asked, silent]) {
    assertOk({ status, report, lines });
    expect(report.updates[1]?.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
  }
  const [of13, of14] = laterReleases;
  expect(asked.report.machines["gpu-1"]).toMatchObject({ talosVersion: "v1.13.10", driverVersion: of13!.production });
  expect(asked.lines.join("\n")).toContain(`by the Image Factory it brings drivers ${of13!.lts}`);
  expect(silent.report.machines["gpu-1"]).toMatchObject({ talosVersion: "v1.14.3", driverVersion: of14!.production });
  expect(silent.lines.join("\n")).toContain("as the Image Factory says nothing");
}, 600_000);
