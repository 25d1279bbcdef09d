import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** What a kernel must allow, by what is told of it: each is tried in namespaces that end with the trial. */
const trials: Record<string, string> = {
  "no file system in memory may be mounted": "mount -t tmpfs tmpfs $T",
  "no overlay may be mounted over /usr":
    "mkdir $T/u $T/w && mount -t overlay overlay -o lowerdir=/usr,upperdir=$T/u,workdir=$T/w /usr",
  "no device may be made": "mknod $T/null c 1 3 && echo > $T/null",
  "there are no network cables (veth)": "ip link add one type veth peer name two",
  "there are no bridges": "ip link add bridge type bridge",
  "control groups may not be written":
    "g=/sys/fs/cgroup; [ -e $g/cgroup.controllers ] || g=$g/memory; mkdir $g/${T##*/} && rmdir $g/${T##*/}",
  "the C compiler makes no static program (Debian: libc6-dev)":
    "echo 'int main(void) { return 0; }' > $T/a.c && cc -static -o $T/a $T/a.c && $T/a",
};

/** Runs a shell's script in namespaces of its own. */
export type InNamespaces = (script: string) => { status: number | null; stdout: string; stderr: string };

const unshare: InNamespaces = (script) =>
  spawnSync("unshare", ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "sh", "-c", script], {
    encoding: "utf8",
    timeout: 60_000,
  });

/** What this computer's kernel and compiler do not do for a real node, each with its last words; found by trying. */
export function whatIsRefused(run: InNamespaces = unshare): string[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-trial-"));
  const steps = Object.entries(trials).map(
    ([lack, command]) => `said=$({ ${command}; } 2>&1 >/dev/null) || echo "${lack}: $said" | tr '\\n' ' '; echo`,
  );
  try {
    const { status, stdout, stderr } = run([`T=${folder}`, "mount --make-rprivate /", ...steps].join("\n"));
    if (status !== 0) return [`namespaces may not be made: ${stderr.trim() || `unshare ended with ${String(status)}`}`];
    return stdout
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
