import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import type { FixId } from "../../components/diagnosis";
import { provideTools } from "../../lab/tools";
import { untilSeen } from "../../lab/until";
import { ask } from "./support/doctor";
import { Cluster } from "../../lab/kubernetes/cluster";
import { nothingLeft, startLab } from "./support/labs";

/** A running lab, and how to connect to it. */
interface Kept {
  access: string[];
  talosctl: string;
  talosconfig: string;
  kubernetes: Cluster;
}

/** Starts a lab, runs the test on it, and ends it. */
async function onLab(lab: string[], act: (kept: Kept) => Promise<void>): Promise<void> {
  const { talosctl } = await provideTools({ only: ["talosctl"] });
  const run = startLab([...lab, "--keep"]);
  const folder = await run.folder();
  await run.line(/export TALOSCONFIG=/);
  const [kubeconfig, talosconfig] = ["KUBECONFIG", "TALOSCONFIG"].map(
    (name) => new RegExp(`${name}=(.*)`).exec(run.lines.join("\n"))![1]!,
  ) as [string, string];
  const access = ["--kubeconfig", kubeconfig, "--talosconfig", talosconfig];
  await act({ access, talosctl, talosconfig, kubernetes: Cluster.of(kubeconfig) });
  run.child.kill("SIGINT");
  await run.ended;
  await nothingLeft(folder);
}

const node = "/api/v1/nodes/rtx3090";
const within = "gpu-device-plugin";

/**
 * A user's change of a healthy cluster, and the doctor's additional line. The third value is the fix that the doctor
 * gives once the change has its effect.
 */
const faults: [act: (kept: Kept) => Promise<void>, line: string, fix?: FixId][] = [
  [
    ({ kubernetes }) =>
      kubernetes.patch(node, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } }),
    "node rtx3090: has the taint away:NoSchedule, which GPU pods of the plan do not tolerate",
  ],
  [
    ({ kubernetes }) =>
      kubernetes.patch(node, { metadata: { labels: { "nvidia.com/gpu.present": null } } }),
    "node rtx3090: lacks the label nvidia.com/gpu.present=true",
    "gpuPresentLabel",
  ],
  [
    ({ kubernetes }) => kubernetes.remove("/apis/node.k8s.io/v1/runtimeclasses/nvidia"),
    "RuntimeClass nvidia: is not there",
  ],
  [
    ({ kubernetes }) => kubernetes.remove(`/apis/batch/v1/namespaces/${within}/jobs`),
    `Job of the smoke test of rtx3090: is not in namespace ${within}`,
  ],
  [
    ({ kubernetes }) => kubernetes.remove(`/apis/apps/v1/namespaces/${within}/daemonsets`),
    `DaemonSet of the device plugin: is not in namespace ${within}`,
  ],
  [
    ({ kubernetes }) => kubernetes.remove(`/api/v1/namespaces/${within}/secrets`),
    `Helm release ${within}/nvidia-device-plugin: is not installed`,
  ],
  [
    ({ kubernetes }) =>
      kubernetes.patch(`/api/v1/namespaces/${within}`, {
        metadata: { labels: { "pod-security.kubernetes.io/enforce": null } },
      }),
    `namespace ${within}: lacks the label pod-security.kubernetes.io/enforce=privileged`,
  ],
  [
    async ({ talosctl, talosconfig }) => {
      const patch = JSON.stringify({ machine: { sysctls: { "vm.nr_hugepages": "8" } } });
      const args = [
        "--talosconfig",
        talosconfig,
        "--nodes",
        "192.0.2.90",
        "patch",
        "machineconfig",
      ];
      await promisify(execFile)(talosctl, [...args, "--mode", "staged", "--patch", patch]);
    },
    "machine rtx3090: has a different configuration staged for its next boot, from another tool or from an unfinished update",
  ],
];

/** Waits until the doctor gives a fix, with a stack and without one. Every text of its finding must be present. */
async function named(
  fix: FixId,
  look: (...more: string[]) => ReturnType<typeof ask>,
): Promise<void> {
  for (const more of [[], ["--stack", "rtx3090"]]) {
    const fixes = ({ report }: Awaited<ReturnType<typeof ask>>) =>
      report.findings.map((found) => found.fix);
    const patience = { seconds: 300, every: 500 };
    const seen = await untilSeen(
      `the doctor names ${fix}`,
      patience,
      () => look(...more),
      (told) => fixes(told).length > 0,
    );
    expect([seen.status, fixes(seen)]).toEqual([1, [fix]]);
    for (const { symptom, cause, remedy, evidence } of seen.report.findings)
      for (const part of [symptom, cause, remedy, ...evidence]) expect(part).not.toBe("");
  }
}

/** Runs `talos-gpu reboot` as a user would. */
async function reboot({ access, talosctl }: Kept, ...args: string[]): Promise<string> {
  const program = ["lab/bundle/run.js", "cli/main.ts", "reboot", ...args, ...access];
  const env = { ...process.env, TALOS_GPU_TALOSCTL: talosctl, TALOS_GPU_POLL_SECONDS: "0.2" };
  return (await promisify(execFile)(process.execPath, program, { env })).stdout;
}

/** Tests the files that `talos-gpu bug-report` writes for a lab, and its list of missing ones. */
async function bugReport({ access, talosctl, talosconfig }: Kept): Promise<void> {
  const out = path.join(path.dirname(talosconfig), "report");
  const program = [
    "lab/bundle/run.js",
    "cli/main.ts",
    "bug-report",
    "--json",
    "--stack",
    "rtx3090",
    "--out",
    out,
    ...access,
  ];
  const options = { env: { ...process.env, TALOS_GPU_TALOSCTL: talosctl } };
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, program, options, (_error, stdout) => resolve(stdout));
  });
  const { files, missing } = JSON.parse(said) as { files: string[]; missing: string[] };
  const read = (file: string): string => fs.readFileSync(path.join(out, file), "utf8");
  const of = (file: string): string => read(`machines/rtx3090/${file}`);
  expect(of("dmesg.log")).toMatch(/ (user|kern): /);
  expect(of("proc-driver-nvidia-version")).toContain("NVRM version");
  expect(of("extensions.json")).toContain("nvidia-container-toolkit-production");
  expect(JSON.parse(of("services.json"))).toMatchObject({ "ext-nvidia-persistenced": "Running" });
  expect(files).toEqual(
    expect.arrayContaining(["doctor.txt", "plan.json", "cluster/nodes.json", "cluster/pods.json"]),
  );
  expect(
    files.filter((file) => file.startsWith(`cluster/${within}/nvidia-device-plugin-`)),
  ).not.toEqual([]);
  // The emulated machine lacks parts of /proc and some resources. The report must list each of them.
  for (const line of missing) expect(line).toMatch(/^(machine rtx3090: |log of Pod )/);
  const all = files.map(read).join("");
  const secrets = /(?:key|crt|ca|token|client-key-data): (\S{20,})/g;
  for (const file of [access[1]!, talosconfig])
    for (const [, secret] of fs.readFileSync(file, "utf8").matchAll(secrets))
      expect(all).not.toContain(secret);
}

test("the doctor finds nothing on a healthy or rebooted cluster, and reports each object that is deleted by hand", () =>
  onLab(["--stack", "rtx3090"], async (kept) => {
    const look = (...more: string[]): ReturnType<typeof ask> =>
      ask(kept.talosctl, [...kept.access, ...more]);
    for (const more of [[], ["--stack", "rtx3090"]]) {
      const { status, report } = await look(...more);
      expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
      expect(report.system).toMatchObject({
        era: "legacy",
        mode: "devicePlugin",
        namespace: within,
      });
      expect(status).toBe(0);
    }
    await bugReport(kept);
    expect(await reboot(kept, "rtx3090", "--stack", "rtx3090")).toMatch(
      /^rtx3090 has rebooted, and its driver is up/,
    );
    await untilSeen(
      "the doctor finds nothing after the reboot",
      { seconds: 300, every: 500 },
      () => look("--stack", "rtx3090"),
      ({ status }) => status === 0,
    );
    const expected: string[] = [];
    for (const [act, line, fix] of faults) {
      await act(kept);
      if (fix) await named(fix, look);
      const { status, report } = await look("--stack", "rtx3090");
      expect(status).toBe(1);
      expected.push(line);
      const told = report.differences.map(({ about, problem }) => `${about}: ${problem}`);
      expect(told).toEqual(expect.arrayContaining(expected));
    }
  }));
