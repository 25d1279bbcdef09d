import { parseArgs } from "node:util";
import { planCluster } from "../../components/recipe";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import { KubernetesView } from "../../lab/cluster/kubernetes-view";
import { Cluster } from "../../lab/providers/kubernetes/cluster";
import { onNode } from "../../lab/node/on-node";
import { judge, type Judged } from "../../lab/node/faults/judge";
import type { Scene } from "../../lab/node/faults/scene";
import { faults } from "../../lab/node/faults/table";

// Makes each fault in a lab with a real node that is up and kept, and prints what came of it: one JSON object a line.

/** One line of this program's output. */
export interface Line extends Judged {
  id: string;
  seconds: number;
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const options = { kubeconfig: text, talosconfig: text, talosctl: text, stack: text, node: text, folder: text };
  const { values } = parseArgs({ options });
  const { kubeconfig = "", talosconfig = "", talosctl = "", stack = "", node = "", folder = "" } = values;
  const scene: Scene = {
    node,
    cluster: Cluster.of(kubeconfig),
    kubernetes: KubernetesView.fromFile(kubeconfig),
    plan: planCluster(clusterOf(readStackFile(stack))),
    talos: { talosctl, talosconfig },
    signal: new AbortController().signal,
    onNode: (command) => onNode(folder, command),
  };
  let judged: Judged | undefined;
  for (const fault of faults) {
    const begin = performance.now();
    judged = await judge(scene, fault, judged).catch((error: unknown): Judged => {
      const said = error instanceof Error ? error.message : String(error);
      return { held: false, said, wrong: [said] };
    });
    const line: Line = { id: fault.id, ...judged, seconds: (performance.now() - begin) / 1000 };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
  scene.cluster.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
