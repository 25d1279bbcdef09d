import * as fs from "node:fs";
import * as path from "node:path";
import { startApiServer, setupCli, writeKubeconfig, clusterWithGpu, runCommand } from "./support";

const { folder, cli, urlOf } = setupCli();

const secret = "nvapi-0123456789abcdefghij";
const pod = (namespace: string, name: string) => ({
  metadata: { namespace, name, managedFields: [{ manager: "helm" }] },
  spec: {
    nodeName: "gpu-1",
    tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }],
    containers: [
      {
        name: "ctr",
        env: [
          { name: "NGC_API_KEY", value: "hunter2hunter2" },
          { name: "A", value: secret },
          { name: "PLAIN", value: "planted-in-a-variable" },
          { name: "NVIDIA_VISIBLE_DEVICES", value: "all" },
        ],
      },
    ],
  },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "ctr", restartCount: 1, state: { running: {} } }],
  },
});
const cluster = {
  ...clusterWithGpu,
  "/api/v1/pods": [
    pod("nvidia", "nvidia-device-plugin-x"),
    pod("default", "my-gpu-job"),
    pod("tenant", "nvidia-of-a-tenant"),
    {
      metadata: { namespace: "nvidia", name: "nvidia-dcgm-exporter-y" },
      spec: {
        nodeName: "gpu-1",
        containers: [
          {
            name: "c",
            args: ["--password", "planted-in-an-argument", "--token=planted-in-a-flag"],
          },
        ],
      },
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "c",
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: {
              terminated: { exitCode: 1, message: "refused: Bearer planted1in2last3words" },
            },
          },
        ],
      },
    },
  ],
};

/**
 * A talosctl for a machine that has a driver, one of NVIDIA's services, and a log with a key in it. It fails for
 * every other call.
 */
const talosctl = (key: string): string => `#!/bin/sh
case "$1 $2" in
"version --client") echo v1.13.0 ;;
"version --json") echo '{"version":{"tag":"v1.12.6"}}' ;;
"dmesg --nodes") echo "127.0.0.1: kern: warning: [2026-04-22T21:30:51Z]: NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus." ;;
"read /proc/cmdline") echo "siderolink.api=https://omni.example.com?jointoken=planted-in-cmdline talos.platform=metal" ;;
"read /proc/driver/nvidia/version") echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20" ;;
"get pcidevices") echo '{"metadata":{"id":"0000:05:00.0"},"spec":{"vendor":"NVIDIA Corporation"}}' ;;
"services --nodes") printf 'NODE        SERVICE                   STATE     HEALTH\\n127.0.0.1   ext-nvidia-persistenced   Running   ?\\n127.0.0.1   ext-/../../../../planted   Running   ?\\n127.0.0.1   etcd                      Running   OK\\n127.0.0.1   ext-token-sync            Running   OK\\n' ;;
"logs ext-nvidia-persistenced") echo "started with ${key}" ;;
*) echo "rpc error: code = NotFound desc = no such file or directory" >&2; exit 1 ;;
esac
`;

test("a bug report describes the GPU provider without secrets and other workloads, and lists what could not be read", async () => {
  const file = writeKubeconfig(folder, await urlOf(startApiServer(cluster)));
  const talosconfig = path.join(folder, "talosconfig");
  const key = "bXkta2V5LW9mLXRhbG9z";
  fs.writeFileSync(talosconfig, JSON.stringify({ context: "home", contexts: { home: { key } } }));
  const program = path.join(folder, "talosctl");
  fs.writeFileSync(program, talosctl(key), { mode: 0o755 });
  const out = path.join(folder, "report");
  const access = ["--kubeconfig", file, "--talosconfig", talosconfig, "--within", "20"];
  const args = ["bug-report", ...access, "--out", out, "--json"];
  const { status, stdout } = await runCommand(cli, args, { TALOS_GPU_TALOSCTL: program });
  const { files, missing } = JSON.parse(stdout) as { files: string[]; missing: string[] };
  expect(files.filter((name) => name.startsWith("cluster/")).sort()).toEqual([
    "cluster/daemonsets.json",
    "cluster/nodes.json",
    "cluster/nvidia/nvidia-dcgm-exporter-y/c.log",
    "cluster/nvidia/nvidia-device-plugin-x/ctr.log",
    "cluster/nvidia/nvidia-device-plugin-x/ctr.previous.log",
    "cluster/pods.json",
  ]);
  const read = (name: string): string => fs.readFileSync(path.join(out, name), "utf8");
  expect(read("nvidia-smi.txt")).toContain(
    "kubectl exec -n nvidia nvidia-device-plugin-x -- nvidia-smi -q\n",
  );
  const otherVariables = [
    { name: "A", value: "(hidden)" },
    { name: "PLAIN", value: "(hidden)" },
    { name: "NVIDIA_VISIBLE_DEVICES", value: "all" },
  ];
  expect(JSON.parse(read("cluster/pods.json"))).toMatchObject([
    {
      metadata: { name: "nvidia-device-plugin-x" },
      spec: {
        tolerations: [{ key: "nvidia.com/gpu" }],
        containers: [{ env: [{ name: "NGC_API_KEY", value: "(hidden)" }, ...otherVariables] }],
      },
    },
    { metadata: { name: "nvidia-dcgm-exporter-y" } },
  ]);
  const readMachineFile = (name: string): string => read(`machines/gpu-1/${name}`);
  expect(readMachineFile("dmesg.log")).toContain(
    "[2026-04-22T21:30:51Z]: NVRM: Xid (PCI:0000:05:00): 79",
  );
  expect(readMachineFile("proc-driver-nvidia-version")).toContain("580.126.20");
  expect(JSON.parse(readMachineFile("pcidevices.json"))).toHaveLength(1);
  expect(JSON.parse(readMachineFile("services.json"))).toMatchObject({
    "ext-nvidia-persistenced": "Running",
    etcd: "Running",
    "ext-token-sync": "Running",
  });
  expect(readMachineFile("proc-cmdline")).toContain("talos.platform=metal");
  expect(read("doctor.txt")).toContain("refused: Bearer [redacted]");
  expect(files.filter((name) => name.includes("planted"))).toEqual([]);
  expect(readMachineFile("ext-nvidia-persistenced.log")).toBe("started with [redacted]\n");
  expect(read("doctor.txt")).toContain("a card has disappeared");
  const allText = files.map(read).join("");
  for (const omittedText of [
    "hunter2",
    secret,
    key,
    "managedFields",
    "my-gpu-job",
    "of-a-tenant",
    "planted-in",
    "planted1in2",
  ])
    expect(allText).not.toContain(omittedText);
  expect(status).toBe(2);
  for (const problem of [
    "/proc/driver/nvidia/params: does not exist",
    "extensions: talosctl get failed",
  ])
    expect(missing).toContainEqual(expect.stringContaining(`machine gpu-1: ${problem}`));
  expect(read("missing.txt")).toBe(missing.map((line) => `${line}\n`).join(""));
  expect(fs.statSync(path.join(out, "doctor.txt")).mode & 0o77).toBe(0);
  expect((await runCommand(cli, args)).stderr).toMatch(
    /--out: .* exists, and its files would be mistaken/,
  );
});
