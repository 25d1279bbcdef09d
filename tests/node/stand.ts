import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";
import type { Line } from "./faults";
import { onNode } from "../../lab/node/on-node";
import { startApart } from "../e2e/support/apart";
import { type Found, type Kubernetes, kubernetesOf } from "../e2e/support/kubernetes";
import { left, nothingLeft, startLab } from "../e2e/support/labs";
import { traces } from "../e2e/support/real-node";
import { untilSeen } from "../../lab/until";

/** Name of the machine whose node is real (stacks/Pulumi.node-*.yaml). */
export const machine = "gpu-1";

/** Name of the machine beside it, whose node is emulated. */
export const emulated = "gpu-2";

/** File of a stack beside this one. */
export const stackOf = (slices: number): string => path.join(__dirname, `stacks/Pulumi.node-${slices}.yaml`);

/** A lab with a real node, up and kept. */
export interface Stand {
  kubernetes: Kubernetes;
  /** Makes every fault, one after the other; gives what came of one as soon as it is known. */
  faults(): { of(id: string): Promise<Line> };
  /** Runs a shell's command on the node as its root. */
  onNode(command: string): Promise<string>;
  /** Arguments by which a command of ours finds the cluster and the stack. */
  access: string[];
  /** Counts of nvidia.com/gpu that the node offered, one after the other, each once. */
  offered: number[];
  /** What the lab said on standard error. */
  lines: string[];
  /** Takes everything away, and says what is left: processes, mounts, links of the network, control groups, the folder. */
  close(): Promise<string[]>;
}

/** Brings a stack up on a real node, lets it become others, and keeps it. */
export async function openStand(talosctl: string, stacks: readonly string[]): Promise<Stand> {
  const [first, ...later] = stacks;
  const more = later.flatMap((stack) => ["--then", stack]);
  const lab = startLab(["--node", "real", "--stack", first!, ...more, "--keep"]);
  const folder = await lab.folder();
  await lab.line(/✔ Talos machines/);
  const kubernetes = kubernetesOf(kubeconfigIn(folder));
  const offered: number[] = [];
  const watch = setInterval(() => void noteOffer(kubernetes, offered), 500);
  await lab.line(/export TALOSCONFIG=/).finally(() => clearInterval(watch));
  const last = stacks.at(-1)!;
  const access = [
    "--kubeconfig",
    kubeconfigIn(folder),
    "--talosconfig",
    path.join(folder, "talosconfig"),
    "--stack",
    last,
  ];
  return {
    kubernetes,
    faults: () => startFaults([...access, "--talosctl", talosctl, "--node", machine, "--folder", folder]),
    onNode: (command) => onNode(folder, command),
    access,
    offered,
    lines: lab.lines,
    close: async () => {
      lab.child.kill("SIGINT");
      await lab.ended;
      await nothingLeft(folder);
      return [...traces(folder), ...left(folder)];
    },
  };
}

/** Starts what makes the faults: a process of its own, as the doctor's libraries are none that Jest can load. */
function startFaults(args: string[]): { of(id: string): Promise<Line> } {
  const child = startApart("tests/node/faults.ts", args);
  const known = new Map<string, Line>();
  const waiting = new Map<string, (line: Line) => void>();
  const said: string[] = [];
  readline.createInterface({ input: child.stderr! }).on("line", (line) => said.push(line));
  readline.createInterface({ input: child.stdout! }).on("line", (text) => {
    const line = JSON.parse(text) as Line;
    known.set(line.id, line);
    waiting.get(line.id)?.(line);
  });
  const ended = new Promise<never>((_, reject) =>
    child.on("close", () => reject(new Error(`what makes the faults ended: ${said.slice(-20).join("\n")}`))),
  );
  ended.catch(() => undefined); // whoever waits then, hears of it
  const comes = (id: string): Promise<Line> => new Promise((resolve) => waiting.set(id, resolve));
  return { of: async (id) => known.get(id) ?? Promise.race([comes(id), ended]) };
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

/** Asks until the answer is as wanted; fails with the last answer. */
export const until = <Answer>(
  what: string,
  asked: () => Promise<Answer>,
  holds: (answer: Answer) => boolean,
  seconds = 90,
): Promise<Answer> => untilSeen(what, { seconds }, asked, holds);
