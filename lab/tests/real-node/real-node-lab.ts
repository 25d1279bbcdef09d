import * as fs from "node:fs";
import * as path from "node:path";
import { onNode } from "../../node/on-node";
import { waitUntilNothingIsLeft, startLab } from "../../../tests/e2e/support/labs";
import { Cluster } from "../../kubernetes/cluster";
import { untilSeen } from "../../until";

/** Any object of the Kubernetes API. */
export type KubernetesObject = any;

/** Name of the machine whose node is real (stacks/Pulumi.node.yaml). */
export const realNode = "gpu-1";

/** Name of the machine next to it, whose node is emulated. */
export const emulatedNode = "gpu-2";

/** A running lab with a real node. */
export interface RealNodeLab {
  kubernetes: Cluster;
  /** Runs a shell command on the node as root. */
  onNode(command: string): Promise<string>;
  /** Arguments with which this package's commands find the cluster and the stack. */
  accessOptions: string[];
  /** Ends the lab. Rejects if processes, mounts, network links, control groups or the folder remain. */
  close(): Promise<void>;
}

/** Brings a stack of `stacks/` up, and keeps it. */
export async function startRealNodeLab(name = "node"): Promise<RealNodeLab> {
  const stack = path.join(__dirname, `stacks/Pulumi.${name}.yaml`);
  const lab = startLab(["--machines", "node", "--stack", stack, "--keep"]);
  const folder = await lab.folder();
  await lab.line(/export TALOSCONFIG=/);
  const kubeconfig = kubeconfigIn(folder);
  return {
    kubernetes: Cluster.of(kubeconfig),
    onNode: (command) => onNode(folder, command),
    accessOptions: [
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
      await waitUntilNothingIsLeft(folder);
    },
  };
}

/** Finds the lab's administrator's kubeconfig, which the control plane wrote. */
function kubeconfigIn(folder: string): string {
  const kubeconfig = fs
    .readdirSync(path.join(folder, "controlplane"), { recursive: true, encoding: "utf8" })
    .find((name) => name === "super-admin.conf");
  if (kubeconfig === undefined)
    throw new Error(`no administrator's kubeconfig in ${folder}/controlplane`);
  return path.join(folder, "controlplane", kubeconfig);
}

/** Reads a value again and again until a condition holds. Fails with the last value. */
export const waitFor = <Value>(
  description: string,
  read: () => Promise<Value>,
  condition: (value: Value) => boolean,
  seconds = 90,
): Promise<Value> => untilSeen(description, { seconds }, read, condition);
