import { assertOk, runLab } from "./support/labs";

const begin = /^✔ Talos machines: (.*)$/;
const asks = /add the machine (\S+) to the cluster frank in Omni/;

test.concurrent(
  "a machine that is in Omni's cluster already reboots twice: Omni upgrades it, and then applies its configuration",
  async () => {
    const { status, report, lines } = await runLab(["--stack", "frank", "--omni-members", "--updates", "2"]);
    assertOk({ status, report, lines });
    expect(lines.find((line) => begin.test(line))).toContain("gpu-1 on v1.12.6, plain image");
    expect(lines.filter((line) => asks.test(line))).toEqual([]);
    expect(report.machines["gpu-1"]).toMatchObject({
      talosVersion: "v1.12.6",
      driverVersion: "570.211.01",
      reboots: 2,
      allocatable: { "nvidia.com/gpu": "1" },
    });
    expect(report.updates[1]).toMatchObject({ changes: { create: 0, update: 0, replace: 0 }, machineRequests: 0 });
    expect(report.left).toEqual([]);
  },
  10 * 60_000,
);

test.concurrent(
  "one that is added after its patches reboots once; destroyed, the stack has left nothing of it in Omni",
  async () => {
    const { status, report, lines } = await runLab(["--stack", "frank"]);
    assertOk({ status, report, lines });
    expect(lines.find((line) => begin.test(line))).toContain(
      "gpu-1 in maintenance mode, connected to Omni, in no cluster",
    );
    const asked = lines.findIndex((line) => asks.test(line));
    const added = lines.findIndex((line) => line.includes("the lab, as the owner of frank, adds the machine"));
    expect(asked).toBeGreaterThan(0);
    expect(added).toBeGreaterThan(asked);
    expect(report.machines["gpu-1"]?.reboots).toBe(1);
    expect(report.left).toEqual([]);
  },
  10 * 60_000,
);
