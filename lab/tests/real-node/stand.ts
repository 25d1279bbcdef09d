import * as fs from "node:fs";
import * as path from "node:path";
import { onNode } from "../../node/on-node";
import { nothingLeft, startLab } from "../../../tests/e2e/support/labs";
import { Cluster } from "../../kubernetes/cluster";
import { untilSeen } from "../../until";

/** Any object of the Kubernetes API. */
export type Found = any;

/** Name of the machine whose node is real (stacks/Pulumi.node.yaml). */
export const machine = "gpu-1";

/** Name of the machine next to it, whose node is emulated. */
export const emulated = "gpu-2";

/** A running lab with a real node. */
export interface Stand {
  kubernetes: Cluster;
  /** Runs a shell command on the node as root. */
  onNode(command: string): Promise<string>;
  /** Arguments with which this package's commands find the cluster and the stack. */
  access: string[];
  /** Ends the lab. Rejects if processes, mounts, network links, control groups or the folder remain. */
  close(): Promise<void>;
}

/** Brings a stack of `stacks/` up, and keeps it. */
export async function openStand(name = "node"): Promise<Stand> {
  const stack = path.join(__dirname, `stacks/Pulumi.${name}.yaml`);
  const lab = startLab(["--machines", "node", "--stack", stack, "--keep"]);
  const folder = await lab.folder();
  await lab.line(/export TALOSCONFIG=/);
  const kubeconfig = kubeconfigIn(folder);
  return {
    kubernetes: Cluster.of(kubeconfig),
    onNode: (command) => onNode(folder, command),
    access: [
      "--kubeconfig",
      kubeconfig,
      "--talosconfig",
      path.join(folder, "talosconfig"),
      "--stack",
      stack,
    ],
    close: async () => {
      lab.child.kill("SIGINT");
      await lab.ended;
      await nothingLeft(folder);
    },
  };
}

/** Finds the lab's administrator's kubeconfig, which the control plane wrote. */
function kubeconfigIn(folder: string): string {
  const found = fs
    .readdirSync(path.join(folder, "controlplane"), { recursive: true, encoding: "utf8" })
    .find((name) => name === "super-admin.conf");
  if (found === undefined)
    throw new Error(`no administrator's kubeconfig in ${folder}/controlplane`);
  return path.join(folder, "controlplane", found);
}

/** Repeats a question until the answer is as wanted. Fails with the last answer. */
export const until = <Answer>(
  what: string,
  asked: () => Promise<Answer>,
  holds: (answer: Answer) => boolean,
  seconds = 90,
): Promise<Answer> => untilSeen(what, { seconds }, asked, holds);
