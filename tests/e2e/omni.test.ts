import { assertOk, runLab } from "./support/labs";

const begin = /^✔ Talos machines: (.*)$/;
const asks = /add the machine (\S+) to the cluster frank in Omni/;

// A machine that its owner adds once its patches are there is the stack frank's (stacks.test.ts).

test(
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
