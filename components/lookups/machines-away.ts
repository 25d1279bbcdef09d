import * as net from "node:net";
import { expandStack } from "../recipe/stack/pools";
import type { StackSpec } from "../recipe/spec/index";
import { askCluster, type Open } from "./ask-cluster";
import type { AskedStack } from "./release-facts";

/** Port of Talos' API, and the milliseconds within which a running machine accepts a connection. */
const [port, patience] = [50_000, 3_000];

/**
 * Adds the machines with `mayBeAway` that are offline: their node is missing or not ready, and their Talos API accepts
 * no connection. Both are required: this update may repair a node that is not ready, and a machine without a connection
 * may only be unreachable from here. Never fails: if the cluster does not answer, no machine counts as away.
 */
export async function withAway(
  { away, bootstrap, kubeconfig, ...stack }: AskedStack,
  open?: Open,
  answers: (address: string) => Promise<boolean> = takesConnection,
  environment?: NodeJS.ProcessEnv,
): Promise<{ away?: string[] }> {
  if (away !== undefined || bootstrap === true) return {};
  const able = machinesOf(stack);
  if (able.length === 0) return {};
  const nodeOf = (name: string) => ({ apiVersion: "v1", kind: "Node", name });
  const ready = await askCluster(
    kubeconfig,
    (objects) => Promise.all(able.map(async ([name]) => readyOf(await objects.read(nodeOf(name))))),
    open,
    environment,
  );
  if (ready === undefined) return {};
  const missed = await Promise.all(
    able.map(async ([name, { address }], index) =>
      ready[index] || (await answers(address)) ? [] : [name],
    ),
  );
  return missed.flat().length === 0 ? {} : { away: missed.flat().sort() };
}

/** Machines with `mayBeAway`; empty for a malformed stack, which a check refuses. */
function machinesOf(stack: AskedStack): [string, { address: string }][] {
  try {
    const { machines } = expandStack(stack as StackSpec).spec;
    return Object.entries(machines).filter(([, machine]) => machine.mayBeAway === true);
  } catch {
    return [];
  }
}

const readyOf = (node: Awaited<ReturnType<ReturnType<Open>["read"]>>): boolean =>
  node?.object?.status?.conditions?.some(
    ({ type, status }) => type === "Ready" && status === "True",
  ) ?? false;

const takesConnection = (host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: patience });
    const end = (is: boolean) => (): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", end(true)).once("timeout", end(false)).once("error", end(false));
  });
