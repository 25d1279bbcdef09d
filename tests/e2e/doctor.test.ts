import { execFile } from "node:child_process";
import { provideTools } from "../../lab/tools";
import type { DoctorReport } from "../../cli/doctor/report";
import { nothingLeft, startLab } from "./support";

/** Runs `npm run doctor -- …` as a user would, and reads what it says. */
async function ask(talosctl: string, args: string[]): Promise<{ status: number; report: DoctorReport }> {
  return new Promise((resolve, reject) => {
    const program = ["lab/bundle/run.js", "cli/main.ts", "doctor", "--json", ...args];
    const options = { env: { ...process.env, TALOS_GPU_TALOSCTL: talosctl }, timeout: 120_000 };
    const child = execFile(process.execPath, program, options, (_error, stdout, stderr) => {
      if (stdout === "") return reject(new Error(stderr));
      resolve({ status: child.exitCode ?? -1, report: JSON.parse(stdout) as DoctorReport });
    });
  });
}

/**
 * The doctor on a cluster that somebody else keeps running: with the stack and without knowing any.
 *
 * @returns fixes that it names, and its exit status, each time.
 */
async function consult(lab: string[], stack: string): Promise<[number, string[]][]> {
  const { talosctl } = await provideTools({ only: ["talosctl"] });
  const run = startLab([...lab, "--keep"]);
  const folder = await run.folder();
  await run.line(/export TALOSCONFIG=/);
  const [kubeconfig, talosconfig] = ["KUBECONFIG", "TALOSCONFIG"].map(
    (name) => new RegExp(`${name}=(.*)`).exec(run.lines.join("\n"))![1]!,
  );
  const access = ["--kubeconfig", kubeconfig!, "--talosconfig", talosconfig!];
  const told: [number, string[]][] = [];
  for (const more of [[], ["--stack", stack]]) {
    const { status, report } = await ask(talosctl, [...access, ...more]);
    expect([...report.notes, ...report.unseen]).toEqual([]);
    expect(report.differences.length > 0).toBe(report.findings.length > 0);
    expect(report.system.gpuMachines).toHaveLength(1);
    expect(report.system).toMatchObject({ era: "legacy", mode: "operator", namespace: "nvidia-gpu-operator" });
    for (const { symptom, cause, remedy, evidence } of report.findings) {
      for (const part of [symptom, cause, remedy, ...evidence]) expect(part).not.toBe("");
    }
    told.push([status, report.findings.map(({ fix }) => fix)]);
  }
  run.child.kill("SIGINT");
  await run.ended;
  await nothingLeft(folder);
  return told;
}

test.concurrent.each([
  ["finds nothing on a healthy cluster", "rtx5070ti", [], [0, []]],
  ["names what is missing", "rtx5070ti", ["validationMarkers"], [1, ["validationMarkers"]]],
] as [string, string, string[], [number, string[]]][])(
  "the doctor's command, with a stack and without one, %s",
  async (_, stack, without, expected) => {
    const lab = ["--stack", stack, ...without.flatMap((fix) => ["--without", fix])];
    expect(await consult(lab, stack)).toEqual([expected, expected]);
  },
  10 * 60_000,
);
