import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import type { DoctorReport } from "../../cli/doctor/report";
import { ask } from "../e2e/support/doctor";
import { type Found, type Kubernetes, kubernetesOf } from "../e2e/support/kubernetes";
import { readOr } from "../e2e/support/processes";
import { left, nothingLeft, startLab } from "../e2e/support/labs";

const run = promisify(execFile);

/** Name of the machine whose node is real, and its address (stacks/Pulumi.node-*.yaml). */
export const machine = "gpu-1";
export const address = "192.0.2.38";

/** Name of the machine beside it, whose node is emulated. */
export const emulated = "gpu-2";

/** Namespace of the device plugin, and its DaemonSet. */
export const namespace = "nvidia-device-plugin";
export const pluginSet = `/apis/apps/v1/namespaces/${namespace}/daemonsets/nvidia-device-plugin`;

/** File of a stack beside this one. */
export const stackOf = (slices: number): string => path.join(__dirname, `stacks/Pulumi.node-${slices}.yaml`);

/** A lab with a real node, up and kept. */
export interface Stand {
  kubernetes: Kubernetes;
  /** Ways to the machines, for talosctl. */
  talos: { binary: string; config: string };
  /** Counts of nvidia.com/gpu that the node offered, one after the other, each once. */
  offered: number[];
  /** What the lab said on standard error. */
  lines: string[];
  /** Asks the doctor, with the stack. */
  ask(): Promise<{ status: number; report: DoctorReport }>;
  /** Runs a shell's command on the node as its root. */
  onNode(command: string): Promise<string>;
  /** Takes everything away, and says what is left: processes, mounts, links of the network, control groups, the folder. */
  close(): Promise<string[]>;
}

/** Brings a stack up on a real node, lets it become others, and keeps it. */
export async function openStand(talosctl: string, stacks: readonly string[]): Promise<Stand> {
  const [first, ...later] = stacks;
  const more = later.flatMap((stack) => ["--then", stack]);
  const before = traces();
  const lab = startLab(["--node", "real", "--stack", first!, ...more, "--keep"]);
  const folder = await lab.folder();
  await lab.line(/✔ Talos machines/);
  const kubernetes = kubernetesOf(kubeconfigIn(folder));
  const offered: number[] = [];
  const watch = setInterval(() => void noteOffer(kubernetes, offered), 200);
  await lab.line(/export TALOSCONFIG=/).finally(() => clearInterval(watch));
  const talos = { binary: talosctl, config: path.join(folder, "talosconfig") };
  const access = ["--kubeconfig", kubeconfigIn(folder), "--talosconfig", talos.config, "--stack", stacks.at(-1)!];
  return {
    kubernetes,
    talos,
    offered,
    lines: lab.lines,
    ask: () => ask(talosctl, access),
    onNode: (command) => onNode(folder, command),
    close: async () => {
      lab.child.kill("SIGINT");
      await lab.ended;
      await nothingLeft(folder);
      return [...traces().filter((trace) => !before.includes(trace)), ...left(folder)];
    },
  };
}

export async function onNode(folder: string, command: string): Promise<string> {
  const within = ["--target", String(firstProcess(folder)), "--all", "--", "sh", "-ec", command];
  return (await run("nsenter", within)).stdout;
}

/** The lab's own kubeconfig, wherever the control plane has put it. */
export function kubeconfigIn(folder: string): string {
  const found = fs
    .readdirSync(path.join(folder, "controlplane"), { recursive: true, encoding: "utf8" })
    .find((name) => /admin.*kubeconfig$/.test(name));
  if (found === undefined) throw new Error(`no administrator's kubeconfig in ${folder}/controlplane`);
  return path.join(folder, "controlplane", found);
}

async function noteOffer(kubernetes: Kubernetes, offered: number[]): Promise<void> {
  const node: Found = await kubernetes.read(`/api/v1/nodes/${machine}`).catch(() => undefined);
  const count = Number(node?.status?.allocatable?.["nvidia.com/gpu"] ?? 0);
  if (count > 0 && offered.at(-1) !== count) offered.push(count);
}

/** First process of the node's own namespaces. */
function firstProcess(folder: string): number {
  const found = fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      const [, command, spec] = readOr(`/proc/${pid}/cmdline`).split("\0");
      return command === "real-node-inside" && spec!.startsWith(`${folder}/`);
    });
  if (found === undefined) throw new Error(`no real node runs in ${folder}`);
  return Number(found);
}

/** What a node may leave on this computer: mounts, links of the network, control groups. */
function traces(): string[] {
  const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const links = fs.readdirSync("/sys/class/net").filter((name) => name.startsWith("tgnode"));
  const roots = ["/sys/fs/cgroup", ...folders("/sys/fs/cgroup")];
  const groups = roots.flatMap(folders).filter((folder) => path.basename(folder).startsWith("talos-gpu-lab-"));
  return [...mounts.filter((line) => line.includes("talos-gpu-lab-")), ...links, ...groups];
}

const folders = (at: string): string[] =>
  fs
    .readdirSync(at, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(at, name));

/** Asks until the answer is as wanted; fails with the last answer. */
export async function until<Answer>(
  what: string,
  asked: () => Promise<Answer>,
  holds: (answer: Answer) => boolean,
  seconds = 90,
): Promise<Answer> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await asked();
    if (holds(answer)) return answer;
    if (performance.now() > deadline)
      throw new Error(`not within ${seconds} s: ${what}; last: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 500)); // the doctor looks once; nothing tells when to look again
  }
}
