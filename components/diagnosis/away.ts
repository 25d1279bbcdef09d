import { defined } from "../recipe/mapping";
import type { Plan } from "../recipe/types";
import type { Observations } from "./observations";

/**
 * Leaves out the offline machines with `mayBeAway`. A machine is offline if its Talos API gave no answer and its node
 * is not ready in Kubernetes. Also subtracts these machines from the number of pods that a DaemonSet wants, if it wants
 * one on a node that is off. Pure.
 *
 * @returns the remaining plan and observations, with the names of the offline machines.
 */
export function withoutAway(
  plan: Plan,
  observations: Observations,
): { plan: Plan; observations: Observations; away: string[] } {
  const { machines = [], nodes } = observations;
  const isReady = (name: string): boolean =>
    nodes?.find((node) => node.name === name)?.ready === true;
  const hasAnswered = (name: string): boolean =>
    machines.find((machine) => machine.name === name)?.talosVersion !== undefined;
  const away = plan.machines
    .map(({ name }) => name)
    .filter((name) => plan.spec.machines[name]?.mayBeAway === true && nodes !== undefined)
    .filter((name) => !isReady(name) && !hasAnswered(name));
  if (away.length === 0) return { plan, observations, away };
  const isPresent = ({ name }: { name: string }): boolean => !away.includes(name);
  const awayNodesLeft = away.filter((name) => nodes!.some((node) => node.name === name)).length;
  return {
    plan: { ...plan, machines: plan.machines.filter(isPresent) },
    observations: {
      ...observations,
      machines: machines.filter(isPresent),
      nodes: nodes!.filter(isPresent),
      ...defined({
        daemonSets: observations.daemonSets?.map((set) => ({
          ...set,
          desired: set.wantsUnreachableNodes
            ? Math.max(set.ready, set.desired - awayNodesLeft)
            : set.desired,
        })),
        pods: observations.pods?.filter(({ node }) => node === undefined || !away.includes(node)),
      }),
    },
    away,
  };
}
