import { redact } from "../../recipe/rules/redact";

/**
 * Prefix that `talosctl dmesg` prints before a line's own text (talos v1.13.0, cmd/talosctl/cmd/talos/dmesg.go and
 * Server.Dmesg), and Talos' own tag.
 */
const PREFIX = /^(\S+: +)?\w+: +\w+: (\[[^\]]*\]: )?(\[talos\] )?/;

/**
 * Prefix that `talosctl logs machined` prints before a line's own text: node, time, and the coloured level (talos
 * v1.14.1, cmd/talosctl/cmd/talos/logs.go and pkg/logging/zap.go).
 */
const MACHINED_PREFIX = /^(\S+: +)?\d{4}-\d\d-\d\dT\S+ +\S*(DEBUG|INFO|WARN|ERROR)\S* +/;

/** Lines of a console or of machined's log, without their prefixes and without secrets. */
export const consoleLines = (log: string): string[] =>
  log
    .split("\n")
    .map((line) => redact(line.trim().replace(PREFIX, "").replace(MACHINED_PREFIX, "").trim()))
    .filter((line) => line !== "");

/**
 * Why a boot does not go on: the task at which Talos pauses, with its errors, or the reason why the kubelet fails at
 * every start. Source: talos, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, pauseOnFailure.
 */
export function bootErrorsOf(lines: readonly string[]): string[] {
  const bootErrors = lines.flatMap((line, lineIndex) => {
    if (!/failed, rebooting in \d+ minutes/.test(line)) return [];
    const followingLines = lines.slice(lineIndex + 1);
    if (!/^\d+ errors? occurred:$/.test(followingLines[0] ?? ""))
      return [line, ...followingLines.slice(0, 1)];
    const end = followingLines.findIndex(
      (nextLine, index) => index > 0 && !nextLine.startsWith("* "),
    );
    return [line, ...followingLines.slice(1, end < 0 ? undefined : end)];
  });
  return [...new Set(bootErrors), ...kubeletErrors(lines)];
}

/** Beginning of the message about a kubelet that never starts. */
export const kubeletFails = "the kubelet fails at every start";

/** If a kubelet has failed this many times and was never healthy in this boot, it no longer counts as starting. */
const KUBELET_FAILURES = 5;

/**
 * Why the kubelet fails at every start. Talos restarts the kubelet again and again, and reboots the machine after 70
 * minutes (talos v1.13.0, constants.BootTimeout). This was seen on Talos v1.13.0 with a default runtime of containerd
 * that the image lacks. A kubelet that was healthy in this boot does not block the boot, even if it fails later.
 */
function kubeletErrors(lines: readonly string[]): string[] {
  const failures = lines.filter((line) =>
    /^service\[kubelet\]\(Waiting\): Error running /.test(line),
  );
  const wasWell = lines.some((line) => /^service\[kubelet\].*: Health check successful/.test(line));
  if (wasWell || failures.length < KUBELET_FAILURES) return [];
  const log = /^(?:(?!\(last log ).)*\(last log (".*")\)$/.exec(failures.at(-1)!)?.[1];
  return [
    `${kubeletFails} (${log === undefined ? failures.at(-1)! : lastError(log)}), and Talos waits 70 minutes for the kubelet`,
  ];
}

/** The last error in a quoted log whose lines are JSON objects; the unchanged log if it has another form. */
function lastError(quoted: string): string {
  try {
    const last = (JSON.parse(quoted) as string).trim().split("\n").at(-1)!;
    const { err, msg } = JSON.parse(last) as { err?: string; msg?: string };
    return err ?? msg ?? last;
  } catch {
    return quoted;
  }
}

/**
 * Image that `talosctl upgrade` has installed in this boot and that boots next; undefined if there is none.
 * LifecycleService (Talos 1.13 and newer) installs the image, leaves the reboot to its caller, and logs its steps.
 * Talos 1.13 logs them on the console, and Talos 1.14 in machined's log, in JSON fields (talos v1.13.0, v1.13.9 and
 * v1.14.1, internal/app/lifecycle/lifecycle.go). Talos' partition META does not name the image, so these logs are the
 * only source. With the older API, Talos itself boots the installed image.
 */
export function waitingImageOf(lines: readonly string[]): string | undefined {
  let begun: string | undefined;
  let waiting: string | undefined;
  for (const line of lines) {
    begun =
      /\bstarting upgrade\b(?:(?!starting upgrade).)*?installer_image"?\s*[=:]\s*"?([^\s",]+)/.exec(
        line,
      )?.[1] ?? begun;
    const code =
      /\bupgrade (?:completed|failed)\b(?:(?!upgrade ).)*?exit_code"?\s*[=:]\s*(\d+)/.exec(
        line,
      )?.[1];
    if (code === "0" && begun !== undefined) waiting = begun;
  }
  return waiting;
}

/**
 * The lines that a console got since an earlier reading. The kernel drops its oldest lines, so the end of the earlier
 * reading is the beginning of the current one. The lines have no time, so two of them may be equal.
 */
export function linesSince(earlier: readonly string[], current: readonly string[]): string[] {
  for (let common = Math.min(earlier.length, current.length); common > 0; common--) {
    const tail = earlier.slice(-common);
    if (tail.every((line, index) => line === current[index])) return current.slice(common);
  }
  return [...current];
}

/**
 * Why an image could not be pulled, from the last line about the image; undefined if there is no such line. The
 * function skips the line of a canceled pull, which gives no reason: this program canceled the pull, e.g. because the
 * registry never answered (seen on Talos v1.13.0).
 */
export function pullErrorOf(lines: readonly string[], image: string): string | undefined {
  const name = image.replace(/[:@][^/]*$/, "");
  return lines.findLast(
    (line) =>
      line.includes(name) &&
      line.includes("failed to pull image") &&
      !line.includes("context canceled"),
  );
}

const driverWords =
  /NVRM: (?:(?!NVRM: ).)*(?:fallen off the bus|RmInitAdapter|not supported by open|NVIDIA open kernel modules|Data Center GPUs|Legacy drivers|API mismatch)/;

/**
 * Errors of NVIDIA's driver in this boot: error codes of a card (Xids), each code once with its count, and cards that
 * the driver does not use. The texts come from open-gpu-kernel-modules, src/nvidia and kernel-open/nvidia/nv-pci.c.
 */
export function driverErrors(lines: readonly string[]): string[] {
  const reports = new Map<string, { line: string; repetitions: number }>();
  for (const line of lines) {
    const xid = /NVRM: (Xid \([^()]*\): \d+)/.exec(line)?.[1];
    if (xid === undefined && !driverWords.test(line)) continue;
    const report = reports.get(xid ?? line);
    if (report) report.repetitions += 1;
    else reports.set(xid ?? line, { line, repetitions: 0 });
  }
  return [...reports.values()].map(({ line, repetitions }) =>
    repetitions === 0 ? line : `${line} (and ${repetitions} more times)`,
  );
}
