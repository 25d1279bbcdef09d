import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { programOnPath } from "../on-path";

/** Programs of this computer that a real node needs, with the Debian package that has them. */
const needed = {
  cc: "gcc and libc6-dev: the stand-in of the driver and NVIDIA's programs are built with it",
  ip: "iproute2: it lays the node's network",
  unshare: "util-linux: what the kernel allows is tried with it",
  nsenter: "util-linux: it looks and acts on the node",
  ldd: "libc-bin: images are made of this computer's programs with their libraries",
};

/**
 * Why this computer cannot run a real node, all reasons at once; empty where it can. What only the kernel knows
 * (overlays, bridges, control groups that may be written) is tried if everything else exists.
 */
export function whyNoRealNode(): string[] {
  if (process.platform !== "linux") return ["it is Linux that a real node needs"];
  const missing = Object.entries(needed).filter(
    ([program]) => programOnPath(program) === undefined,
  );
  const lacks = [
    ...(process.getuid?.() === 0
      ? []
      : [`it is root that makes namespaces, and this is ${os.userInfo().username}`]),
    ...(mayAdminister(fs.readFileSync("/proc/self/status", "utf8"))
      ? []
      : [`this process has no CAP_SYS_ADMIN`]),
    ...hiddenOnANode(os.tmpdir()),
    ...missing.map(([program, why]) => `there is no ${program} on PATH (Debian: ${why})`),
  ];
  return lacks.length > 0 ? lacks : whatIsRefused();
}

/** Why a folder for temporary files is of no use to a node, which has a /dev of its own. Empty where it is. */
export const hiddenOnANode = (folder: string): string[] =>
  /^\/dev(\/|$)/.test(path.resolve(folder))
    ? [
        `temporary files are in ${folder} (TMPDIR), and a node has a /dev of its own: set TMPDIR to another folder`,
      ]
    : [];

/** CAP_SYS_ADMIN (capability.h), which containers' root usually lacks. */
const SYS_ADMIN = 21n;

/** Whether a process may make namespaces and mounts, by its /proc/PID/status. */
export function mayAdminister(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0";
  return (BigInt(`0x${effective}`) & (1n << SYS_ADMIN)) !== 0n;
}

/** Features that a kernel must allow, by its own report: each is tried in namespaces that end with the trial. */
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
export type InNamespaces = (script: string) => {
  status: number | null;
  stdout: string;
  stderr: string;
};

const unshare: InNamespaces = (script) =>
  spawnSync(
    "unshare",
    ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "sh", "-c", script],
    {
      encoding: "utf8",
      timeout: 60_000,
    },
  );

/**
 * Features for a real node that this computer's kernel and compiler lack, each with its last message; found by
 * trying.
 */
export function whatIsRefused(run: InNamespaces = unshare): string[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-trial-"));
  const steps = Object.entries(trials).map(
    ([lack, command]) =>
      `said=$({ ${command}; } 2>&1 >/dev/null) || echo "${lack}: $said" | tr '\\n' ' '; echo`,
  );
  try {
    const { status, stdout, stderr } = run(
      [`T=${folder}`, "mount --make-rprivate /", ...steps].join("\n"),
    );
    if (status !== 0)
      return [
        `namespaces may not be made: ${stderr.trim() || `unshare ended with ${String(status)}`}`,
      ];
    return stdout
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
