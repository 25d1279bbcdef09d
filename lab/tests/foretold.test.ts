import { predictedReboots, wrongPredictions } from "../run/predicted-reboots";

test("a preview's lines about reboots are found among the engine's messages", () => {
  const messages = [
    "info home-gpu-1 (talos-gpu:index:GpuMachine): reboots: yes: talosVersion: v1.12.6 → v1.12.7",
    "warning home (talos-gpu:index:GpuCluster): reboots: yes",
    "info home-gpu-1-upgrade (command:local:Command): reboot: upgrading",
  ];
  expect(predictedReboots(messages, "home")).toEqual({
    "gpu-1": "reboots: yes: talosVersion: v1.12.6 → v1.12.7",
  });
});

test.each([
  ["reboots: yes: a", 1, 0],
  ["reboots: yes: a", 0, 1],
  ["reboots: no: a", 0, 0],
  ["reboots: no: a", 1, 1],
  ["reboots: only if a", 0, 0],
  ["reboots: only if a", 2, 0],
])(
  "after the preview's line %j and %d reboots, %d machines differ from the preview",
  (previewLine, reboots, expectedCount) => {
    expect(wrongPredictions({ m: previewLine }, { m: reboots })).toHaveLength(expectedCount);
  },
);

test.each([
  [0, 0],
  [1, 1],
])(
  "after a preview without a line and %d reboots, %d machines differ from the preview",
  (reboots, expectedCount) => {
    expect(wrongPredictions({}, { m: reboots })).toHaveLength(expectedCount);
  },
);
