import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { programOnPath } from "../on-path";

/** Programs that a real node needs on this computer, each with its Debian package and use. */
const requiredPrograms = {
  cc: "gcc and libc6-dev: it builds the stand-in of the driver and NVIDIA's programs",
  ip: "iproute2: it sets up the node's network",
  unshare: "util-linux: it tests what the kernel allows",
  nsenter: "util-linux: it runs commands on the node",
  ldd: "libc-bin: it finds the libraries of the programs that go into images",
};

/**
 * All reasons why this computer cannot run a real node; empty if it can. Features of the kernel (overlays, bridges,
 * writable control groups) are tried if everything else exists.
 */
export function problemsWithRealNode(): string[] {
  if (process.platform !== "linux") return ["a real node needs Linux"];
  const missing = Object.entries(requiredPrograms).filter(
    ([program]) => programOnPath(program) === undefined,
  );
  const reasons = [
    ...(process.getuid?.() === 0
      ? []
      : [`only root can create namespaces, and this user is ${os.userInfo().username}`]),
    ...(hasSysAdmin(fs.readFileSync("/proc/self/status", "utf8"))
      ? []
      : [`this process has no CAP_SYS_ADMIN`]),
    ...problemsOfTemporaryFolder(os.tmpdir()),
    ...missing.map(([program, purpose]) => `there is no ${program} on PATH (Debian: ${purpose})`),
  ];
  return reasons.length > 0 ? reasons : findMissingFeatures();
}

/** The reason why a node cannot use a folder for temporary files: the node has its own /dev. Empty if it can use it. */
export const problemsOfTemporaryFolder = (folder: string): string[] =>
  /^\/dev(\/|$)/.test(path.resolve(folder))
    ? [
        `temporary files are in ${folder} (TMPDIR), and a node has a /dev of its own: set TMPDIR to another folder`,
      ]
    : [];

/** CAP_SYS_ADMIN (capability.h), which containers' root usually lacks. */
const SYS_ADMIN = 21n;

/** Whether a process may make namespaces and mounts, by its /proc/PID/status. */
export function hasSysAdmin(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0";
  return (BigInt(`0x${effective}`) & (1n << SYS_ADMIN)) !== 0n;
}

/** Features that the kernel must allow. Each is tried in namespaces that end with the trial. */
const featureTrials: Record<string, string> = {
  "no tmpfs can be mounted": "mount -t tmpfs tmpfs $T",
  "no overlay can be mounted over /usr":
    "mkdir $T/u $T/w && mount -t overlay overlay -o lowerdir=/usr,upperdir=$T/u,workdir=$T/w /usr",
  "no device can be created": "mknod $T/null c 1 3 && echo > $T/null",
  "no virtual Ethernet pair (veth) can be created": "ip link add one type veth peer name two",
  "no bridge can be created": "ip link add bridge type bridge",
  "no control group can be created":
    "g=/sys/fs/cgroup; [ -e $g/cgroup.controllers ] || g=$g/memory; mkdir $g/${T##*/} && rmdir $g/${T##*/}",
  "the C compiler cannot build a static program (Debian: libc6-dev)":
    "echo 'int main(void) { return 0; }' > $T/a.c && cc -static -o $T/a $T/a.c && $T/a",
};

/** Runs a shell script in new namespaces. */
export type RunInNamespaces = (script: string) => {
  status: number | null;
  stdout: string;
  stderr: string;
};

const runInNewNamespaces: RunInNamespaces = (script) =>
  spawnSync(
    "unshare",
    ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "sh", "-c", script],
    {
      encoding: "utf8",
      timeout: 60_000,
    },
  );

/**
 * Tries the features for a real node. Gives those that this computer's kernel and compiler lack, each with its last
 * message.
 */
export function findMissingFeatures(run: RunInNamespaces = runInNewNamespaces): string[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-trial-"));
  const steps = Object.entries(featureTrials).map(
    ([problem, command]) =>
      `said=$({ ${command}; } 2>&1 >/dev/null) || echo "${problem}: $said" | tr '\\n' ' '; echo`,
  );
  try {
    const { status, stdout, stderr } = run(
      [`T=${folder}`, "mount --make-rprivate /", ...steps].join("\n"),
    );
    if (status !== 0)
      return [
        `namespaces cannot be created: ${stderr.trim() || `unshare ended with ${String(status)}`}`,
      ];
    return stdout
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
