import { formatDuration } from "../../../recipe/rules/duration";
import { LimitReached, waitFor, type Clock } from "../../../clients/clock";
import { Failure } from "../../../clients/failure";
import type { Cluster } from "../../../clients/machine";

/** What the wait for a new node needs. */
export interface Joining {
  cluster: Cluster;
  clock: Clock;
  /** Node name. */
  node: string;
  /** Address of the machine's Talos API, for the message. */
  address: string;
  /** Milliseconds. */
  limit: number;
  /** Milliseconds. */
  poll: number;
}

/** Waits until a machine that was just installed has its node in Kubernetes, whose API may be starting itself. */
export async function join({ cluster, clock, node, address, limit, poll }: Joining): Promise<void> {
  try {
    await waitFor(clock, {
      what: `node ${node} to join the cluster`,
      limit,
      poll,
      look: async () =>
        (await cluster.node(node)) === undefined ? { not: "Kubernetes has no such node" } : { done: true },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: `machines.${node}`,
        problem: `its node did not join the cluster within ${formatDuration(limit)} (last: ${error.missing})`,
        why: "the machine runs, but Kubernetes gives it no pods",
        remedy:
          "check that clusterEndpoint reaches a control plane, that the machine's host name is its name here, and " +
          `\`talosctl -n ${address} logs kubelet\`, then run again`,
      },
    ]);
  }
}
