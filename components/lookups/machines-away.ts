import * as net from "node:net";
import { expandStack } from "../recipe/stack/pools";
import type { StackSpec } from "../recipe/spec/index";
import { askCluster, type Open } from "./ask-cluster";
import type { AskedStack } from "./release-facts";

/** Port of Talos' API, and the milliseconds within which a running machine accepts a connection. */
const [port, patience] = [50_000, 3_000];

/**
 * The field `away` of a stack: the machines with `mayBeAway` that are offline. A machine is offline if its node is
 * missing or not ready, and its Talos API accepts no connection. Both conditions are needed: this update may repair a
 * node that is not ready, and a running machine may be unreachable from here. Never fails: if the cluster does not
 * answer, no machine counts as away.
 */
export async function withAway(
  { away, bootstrap, kubeconfig, ...stack }: AskedStack,
  open?: Open,
  isReachable: (address: string) => Promise<boolean> = takesConnection,
  environment?: NodeJS.ProcessEnv,
): Promise<{ away?: string[] }> {
  if (away !== undefined || bootstrap === true) return {};
  const machinesThatMayBeAway = machinesOf(stack);
  if (machinesThatMayBeAway.length === 0) return {};
  const nodeOf = (name: string) => ({ apiVersion: "v1", kind: "Node", name });
  const ready = await askCluster(
    kubeconfig,
    (objects) =>
      Promise.all(
        machinesThatMayBeAway.map(async ([name]) => readyOf(await objects.read(nodeOf(name)))),
      ),
    open,
    environment,
  );
  if (ready === undefined) return {};
  const awayNames = await Promise.all(
    machinesThatMayBeAway.map(async ([name, { address }], index) =>
      ready[index] || (await isReachable(address)) ? [] : [name],
    ),
  );
  return awayNames.flat().length === 0 ? {} : { away: awayNames.flat().sort() };
}

/** Machines with `mayBeAway`. Empty for a stack whose pools cannot be read, which a check refuses. */
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
    const end = (isConnected: boolean) => (): void => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.once("connect", end(true)).once("timeout", end(false)).once("error", end(false));
  });
