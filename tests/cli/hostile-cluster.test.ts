import * as path from "node:path";
import type { DoctorReport } from "../../cli/doctor/report";
import { unsafeParts, hostileName } from "./hostile";
import { startApiServer, setupCli, clusterWithGpu, runCommand } from "./support";

const testBed = setupCli();

const token = "hf_abcdefghijklmnopqrstuvwxyz012345";

/**
 * A pod of the plugin that crashes with a token in its last words, on a node whose condition has the same text.
 */
const lastWords = `refused: ${token} ${hostileName}`;
const [node] = clusterWithGpu["/api/v1/nodes"];
const hostileCluster = {
  ...clusterWithGpu,
  "/api/v1/nodes": [
    {
      ...node!,
      metadata: {
        ...node!.metadata,
        labels: { ...node!.metadata.labels, "nvidia.com/gpu.product": hostileName },
      },
      status: {
        ...node!.status,
        allocatable: { "nvidia.com/gpu": "0" },
        nodeInfo: { osImage: `Talos (v1.12.6)`, kernelVersion: hostileName },
      },
    },
    { ...node!, metadata: { ...node!.metadata, name: `b${hostileName}` } },
  ],
  "/apis/apps/v1/daemonsets": [
    {
      metadata: { namespace: "nvidia", name: "nvidia-device-plugin", uid: "1", generation: 1 },
      spec: { template: { spec: {} } },
      status: { desiredNumberScheduled: 1, numberReady: 0, observedGeneration: 1 },
    },
  ],
  "/api/v1/pods": [
    {
      metadata: {
        namespace: "nvidia",
        name: "nvidia-device-plugin-x",
        ownerReferences: [
          { kind: "DaemonSet", name: "nvidia-device-plugin", controller: true, uid: "1" },
        ],
      },
      spec: { nodeName: "gpu-1", containers: [{ name: "plugin" }] },
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "plugin",
            ready: false,
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, message: lastWords } },
          },
        ],
      },
    },
  ],
};

const runOnHostileCluster = async (verb: string, ...args: string[]) =>
  runCommand(testBed.cli, [
    verb,
    ...(await testBed.kubeconfigOptions(startApiServer(hostileCluster))),
    "--within",
    "300",
    ...args,
  ]);

test("the doctor quotes the last message of a container without secrets and control characters", async () => {
  const { stdout, stderr } = await runOnHostileCluster("doctor");
  expect(stdout).toMatch(/plugin: .*refused: \[redacted\]/);
  expect(stdout).not.toContain(token);
  expect(unsafeParts(stdout)).toEqual([]);
  expect(unsafeParts(stderr)).toEqual([]);
});

test("the doctor's JSON quotes the last message of a container without secrets and control characters", async () => {
  const { stdout } = await runOnHostileCluster("doctor", "--json");
  const { differences, system } = JSON.parse(stdout) as DoctorReport;
  expect(JSON.stringify(differences)).toContain("refused: [redacted]");
  expect(stdout).not.toContain(token);
  expect(unsafeParts(stdout)).toEqual([]);
  expect(system).toMatchObject({ namespace: "nvidia", mode: "devicePlugin" });
});

test("discover escapes a cluster's texts in the stack that it writes", async () => {
  const { stdout, stderr } = await runOnHostileCluster("discover", "--out", "-");
  expect(stdout + stderr).toContain("error::forged");
  expect(unsafeParts(stdout)).toEqual([]);
  expect(unsafeParts(stderr)).toEqual([]);
});

test("a bug report escapes a cluster's texts", async () => {
  const out = path.join(testBed.folder, "report");
  const { stdout, stderr } = await runOnHostileCluster("bug-report", "--out", out);
  expect(stdout).toContain("wrote ");
  expect(unsafeParts(stdout)).toEqual([]);
  expect(unsafeParts(stderr)).toEqual([]);
});
