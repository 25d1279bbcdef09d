import { execFile } from "node:child_process";
import type { DoctorReport } from "../../../cli/doctor/report";

/** Runs `npm run doctor -- …` as a user would, and returns its report. */
export async function runDoctor(
  talosctl: string,
  args: string[],
): Promise<{ status: number; report: DoctorReport }> {
  return new Promise((resolve, reject) => {
    const program = ["lab/bundle/run.js", "cli/main.ts", "doctor", "--json", ...args];
    const options = { env: { ...process.env, TALOS_GPU_TALOSCTL: talosctl }, timeout: 300_000 };
    const child = execFile(process.execPath, program, options, (_error, stdout, stderr) => {
      if (stdout === "") return reject(new Error(stderr));
      resolve({ status: child.exitCode ?? -1, report: JSON.parse(stdout) as DoctorReport });
    });
  });
}
