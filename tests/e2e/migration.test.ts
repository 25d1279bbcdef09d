import * as path from "node:path";
import { runLab } from "./support";

const file = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

test(
  "Talos 1.12 to 1.13 by editing the stack: plugin and RuntimeClass go, machines are upgraded, the operator comes; in one previewed update",
  async () => {
    const { status, report, lines } = await runLab([
      ...["--stack", file("home"), "--then", file("home-1.13"), "--updates", "2"],
    ]);
    if (!report.ok) throw new Error(lines.join("\n"));
    expect(status).toBe(0);
    expect(report.machines).toMatchObject({
      control: { talosVersion: "v1.13.0", driverVersion: null, reboots: 1 }, // its first part of the configuration takes effect live
      // One reboot of the first update, one of the migration.
      gpu: {
        talosVersion: "v1.13.0",
        driverVersion: "595.58.03",
        reboots: 2,
        allocatable: { "nvidia.com/gpu": "1" },
      },
    });
    expect(report.workloads).toEqual([{ namespace: "ollama", name: "ollama", kind: "Deployment", ready: true }]);
    expect(report.updates.map(({ result }) => result)).toEqual(Array(4).fill("succeeded"));
    const [, second, , last] = report.updates;
    for (const unchanged of [second!, last!]) {
      expect(unchanged.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
      expect(unchanged.machineRequests).toBe(0);
    }

    const edited = lines.findIndex((line) => line.includes("the stack file is edited"));
    const preview = lines.slice(edited).filter((line) => line.includes("preview: "));
    const done = lines.slice(edited).filter((line) => !line.includes("preview: "));
    for (const steps of [preview, done]) expectInOrder(steps);
    expect(lines.find((line) => /^✔ the stack file is edited/.test(line))).toContain("0 machine calls");
  },
  10 * 60_000,
);

/** The order that Talos' documentation asks for (siderolabs/docs, upgrading-talos 1.13, "Before upgrade"). */
function expectInOrder(lines: string[]): void {
  const at = (pattern: RegExp): number => {
    const index = lines.findIndex((line) => pattern.test(line));
    if (index < 0) throw new Error(`no line ${pattern} in\n${lines.join("\n")}`);
    return index;
  };
  const machine = at(/update home-gpu-upgrade \(/);
  expect(at(/delete-replaced home-release \(/)).toBeLessThan(machine);
  expect(at(/delete-replaced home-runtime-class \(/)).toBeLessThan(machine);
  expect(at(/create-replacement home-release \(/)).toBeGreaterThan(machine);
}
