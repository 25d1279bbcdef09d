import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import type { FixId } from "../../components/diagnosis";
import { provideTools } from "../../lab/tools";
import { untilSeen } from "../../lab/until";
import { runDoctor } from "./support/doctor";
import { Cluster } from "../../lab/kubernetes/cluster";
import { waitUntilNothingIsLeft, startLab } from "./support/labs";

/** A lab that runs, and how to connect to it. */
interface RunningLab {
  access: string[];
  talosctl: string;
  talosconfig: string;
  kubernetes: Cluster;
}

/** Starts a lab, runs the test on it, and ends it. */
async function withLab(labArgs: string[], test: (lab: RunningLab) => Promise<void>): Promise<void> {
  const { talosctl } = await provideTools({ only: ["talosctl"] });
  const labRun = startLab([...labArgs, "--keep"]);
  const folder = await labRun.folder();
  await labRun.line(/export TALOSCONFIG=/);
  const [kubeconfig, talosconfig] = ["KUBECONFIG", "TALOSCONFIG"].map(
    (name) => new RegExp(`${name}=(.*)`).exec(labRun.lines.join("\n"))![1]!,
  ) as [string, string];
  const access = ["--kubeconfig", kubeconfig, "--talosconfig", talosconfig];
  await test({ access, talosctl, talosconfig, kubernetes: Cluster.of(kubeconfig) });
  labRun.child.kill("SIGINT");
  await labRun.ended;
  await waitUntilNothingIsLeft(folder);
}

const nodePath = "/api/v1/nodes/rtx3090";
const namespace = "gpu-device-plugin";

interface Fault {
  /** A user's change of a healthy cluster. */
  change: (lab: RunningLab) => Promise<void>;
  /** The doctor's additional line. */
  line: string;
  /** The fix that the doctor gives once the change has its effect. */
  fix?: FixId;
}

const faults: Fault[] = [
  {
    change: ({ kubernetes }) =>
      kubernetes.patch(nodePath, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } }),
    line: "node rtx3090: has the taint away:NoSchedule, which the stack's GPU pods do not tolerate",
  },
  {
    change: ({ kubernetes }) =>
      kubernetes.patch(nodePath, { metadata: { labels: { "nvidia.com/gpu.present": null } } }),
    line: "node rtx3090: lacks the label nvidia.com/gpu.present=true",
    fix: "gpuPresentLabel",
  },
  {
    change: ({ kubernetes }) => kubernetes.remove("/apis/node.k8s.io/v1/runtimeclasses/nvidia"),
    line: "RuntimeClass nvidia: is not there",
  },
  {
    change: ({ kubernetes }) => kubernetes.remove(`/apis/batch/v1/namespaces/${namespace}/jobs`),
    line: `Job of the smoke test of rtx3090: is not in namespace ${namespace}`,
  },
  {
    change: ({ kubernetes }) =>
      kubernetes.remove(`/apis/apps/v1/namespaces/${namespace}/daemonsets`),
    line: `DaemonSet of the device plugin: is not in namespace ${namespace}`,
  },
  {
    change: ({ kubernetes }) => kubernetes.remove(`/api/v1/namespaces/${namespace}/secrets`),
    line: `Helm release ${namespace}/nvidia-device-plugin: is not installed`,
  },
  {
    change: ({ kubernetes }) =>
      kubernetes.patch(`/api/v1/namespaces/${namespace}`, {
        metadata: { labels: { "pod-security.kubernetes.io/enforce": null } },
      }),
    line: `namespace ${namespace}: lacks the label pod-security.kubernetes.io/enforce=privileged`,
  },
  {
    change: async ({ talosctl, talosconfig }) => {
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
    line: "machine rtx3090: has a different configuration staged for its next boot, from another tool or from an unfinished update",
  },
];

/** Waits until the doctor gives a fix, with a stack and without one. Every text of its finding must be present. */
async function expectFix(
  fix: FixId,
  doctor: (...args: string[]) => ReturnType<typeof runDoctor>,
): Promise<void> {
  for (const stackArgs of [[], ["--stack", "rtx3090"]]) {
    const fixes = ({ report }: Awaited<ReturnType<typeof runDoctor>>) =>
      report.findings.map((finding) => finding.fix);
    const limits = { seconds: 300, every: 500 };
    const result = await untilSeen(
      `the doctor names ${fix}`,
      limits,
      () => doctor(...stackArgs),
      (result) => fixes(result).length > 0,
    );
    expect(result.status).toBe(1);
    expect(fixes(result)).toEqual([fix]);
    for (const { symptom, cause, remedy, evidence } of result.report.findings)
      for (const part of [symptom, cause, remedy, ...evidence]) expect(part).not.toBe("");
  }
}

/** Runs `talos-gpu reboot` as a user would. */
async function reboot({ access, talosctl }: RunningLab, ...args: string[]): Promise<string> {
  const program = ["lab/bundle/run.js", "cli/main.ts", "reboot", ...args, ...access];
  const env = { ...process.env, TALOS_GPU_TALOSCTL: talosctl, TALOS_GPU_POLL_SECONDS: "0.2" };
  return (await promisify(execFile)(process.execPath, program, { env })).stdout;
}

/** Tests the files that `talos-gpu bug-report` writes for a lab, its list of missing files, and that it has no secret. */
async function expectBugReportWithoutSecrets({
  access,
  talosctl,
  talosconfig,
}: RunningLab): Promise<void> {
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
  const stdout = await new Promise<string>((resolve) => {
    execFile(process.execPath, program, options, (_error, stdout) => resolve(stdout));
  });
  const { files, missing } = JSON.parse(stdout) as { files: string[]; missing: string[] };
  const read = (file: string): string => fs.readFileSync(path.join(out, file), "utf8");
  const readMachineFile = (file: string): string => read(`machines/rtx3090/${file}`);
  expect(readMachineFile("dmesg.log")).toMatch(/ (user|kern): /);
  expect(readMachineFile("proc-driver-nvidia-version")).toContain("NVRM version");
  expect(readMachineFile("extensions.json")).toContain("nvidia-container-toolkit-production");
  expect(JSON.parse(readMachineFile("services.json"))).toMatchObject({
    "ext-nvidia-persistenced": "Running",
  });
  expect(files).toEqual(
    expect.arrayContaining(["doctor.txt", "plan.json", "cluster/nodes.json", "cluster/pods.json"]),
  );
  expect(
    files.filter((file) => file.startsWith(`cluster/${namespace}/nvidia-device-plugin-`)),
  ).not.toEqual([]);
  // The emulated machine lacks parts of /proc and some resources. Nothing else may be missing.
  expect(missing.filter((line) => !/^(machine rtx3090: |log of Pod )/.test(line))).toEqual([]);
  const reportText = files.map(read).join("");
  const secrets = [access[1]!, talosconfig].flatMap((file) =>
    [
      ...fs.readFileSync(file, "utf8").matchAll(/(?:key|crt|ca|token|client-key-data): (\S{20,})/g),
    ].map(([, secret]) => secret!),
  );
  // The talosconfig alone has three: ca, crt and key.
  expect(secrets.length).toBeGreaterThanOrEqual(3);
  expect(secrets.filter((secret) => reportText.includes(secret))).toEqual([]);
}

test("the doctor finds nothing on a healthy or rebooted cluster, and reports each change that a user makes by hand", () =>
  withLab(["--stack", "rtx3090"], async (lab) => {
    const doctor = (...args: string[]): ReturnType<typeof runDoctor> =>
      runDoctor(lab.talosctl, [...lab.access, ...args]);
    for (const stackArgs of [[], ["--stack", "rtx3090"]]) {
      const { status, report } = await doctor(...stackArgs);
      expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
      expect(report.system).toMatchObject({
        injection: "legacy",
        mode: "devicePlugin",
        namespace,
      });
      expect(status).toBe(0);
    }
    await expectBugReportWithoutSecrets(lab);
    expect(await reboot(lab, "rtx3090", "--stack", "rtx3090")).toMatch(
      /^rtx3090 has rebooted, and its driver is up/,
    );
    await untilSeen(
      "the doctor finds nothing after the reboot",
      { seconds: 300, every: 500 },
      () => doctor("--stack", "rtx3090"),
      ({ status }) => status === 0,
    );
    const expectedLines: string[] = [];
    for (const { change, line, fix } of faults) {
      await change(lab);
      if (fix) await expectFix(fix, doctor);
      const { status, report } = await doctor("--stack", "rtx3090");
      expect(status).toBe(1);
      expectedLines.push(line);
      const differences = report.differences.map(({ about, problem }) => `${about}: ${problem}`);
      expect(differences).toEqual(expect.arrayContaining(expectedLines));
    }
  }));
