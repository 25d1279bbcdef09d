import * as fs from "node:fs";
import * as path from "node:path";
import { parseDuration } from "../../components/recipe/rules/duration";
import { labTimeouts, usualTimeScale } from "../clock";
import { parseOptions } from "../options";

const boot = path.resolve(__dirname, "../../lab/machines/internal/talos/machine/boot.go");

/** How long the inspection of a machine takes after the reboot's time limit, on a busy computer. */
const inspectionSeconds = 5;

describe.each(["emulated", "node"] as const)("the time scale of --machines %s", (machines) => {
  const timeScale = usualTimeScale[machines];

  test("lets the time limit of a reboot end before an emulated machine returns to its old image", () => {
    const [, minutes] = /^const bootTimeout = (\d+) \* time\.Minute$/m.exec(
      fs.readFileSync(boot, "utf8"),
    )!;
    const bootTimeoutSeconds = (Number(minutes) * 60) / timeScale;
    // Labs that leave out fixes have limits of their own.
    for (const leftOut of [false, true]) {
      const { reboot } = labTimeouts({ timeScale, machines, leftOut });
      expect(parseDuration(reboot) / 1000 + inspectionSeconds).toBeLessThanOrEqual(
        bootTimeoutSeconds,
      );
    }
  });

  test("is the default of --time-scale", () => {
    expect(parseOptions(["--machines", machines]).timeScale).toBe(timeScale);
    expect(parseOptions(["--machines", machines, "--time-scale", "7"]).timeScale).toBe(7);
  });
});
