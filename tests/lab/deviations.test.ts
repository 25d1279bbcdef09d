import { deviations } from "../../lab/run/deviations";
import type { LabReport } from "../../lab/run/report";
import { planOf } from "../support/plans";

const velaryon = {
  talosVersion: "v1.11.1",
  schematicId: "",
  driverVersion: "535.274.02",
  reboots: 1,
  allocatable: { "nvidia.com/gpu": "1" },
  taints: ["gpu=true:NoSchedule"],
};
const server = { namespace: "nvidia", name: "ollama", kind: "Deployment", ready: true };

test.each<[string, Pick<LabReport, "machines" | "workloads">, string[]]>([
  ["all as planned", { machines: { velaryon }, workloads: [server] }, []],
  [
    "a card that is not offered",
    { machines: { velaryon: { ...velaryon, allocatable: { "nvidia.com/gpu": "0" } } }, workloads: [] },
    ["velaryon: offers 0 of nvidia.com/gpu, the plan says 1"],
  ],
  [
    "no node at all",
    { machines: {}, workloads: [] },
    ["velaryon: offers none of nvidia.com/gpu, the plan says 1", "velaryon: has no taint gpu=true:NoSchedule"],
  ],
  [
    "a server that is not ready",
    { machines: { velaryon }, workloads: [{ ...server, ready: false }] },
    ["Deployment nvidia/ollama: not ready"],
  ],
])("%s", (_, report, expected) => {
  expect(deviations(planOf("velaryon"), report)).toEqual(expected);
});
