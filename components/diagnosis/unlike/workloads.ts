import { plannedServers } from "../../recipe/stack/workloads";
import type { Plan } from "../../recipe/types";
import type { Observations } from "../observations";
import { difference, type Difference } from "./difference";
import { unready } from "./exposure";
import { wordsOfPod } from "./last-words";

/** Where a workload of the plan is not there or not ready. */
export function unlikeWorkloads(plan: Plan, seen: Observations): Difference[] {
  return [...servers(plan, seen), ...pods(plan, seen)];
}

function servers({ spec }: Plan, seen: Observations): Difference[] {
  if (seen.deployments === undefined) return [];
  return plannedServers(spec).flatMap(({ name, namespace, active }) => {
    if (!active) return [];
    const found = seen.deployments!.find((candidate) => candidate.namespace === namespace && candidate.name === name);
    if (found === undefined) return [difference(`Deployment ${namespace}/${name}`, "is not there")];
    if (found.desired === 0) return [difference(`Deployment ${namespace}/${name}`, "is scaled to 0")];
    return unready(seen, "Deployment", found);
  });
}

function pods({ spec }: Plan, seen: Observations): Difference[] {
  if (seen.pods === undefined) return [];
  return Object.entries(spec.workloads?.pods ?? {}).flatMap(([key, { namespace = "gpu-pods" }]) => {
    const name = key.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    const about = `Pod ${namespace}/${name}`;
    const found = seen.pods!.find((pod) => pod.namespace === namespace && pod.name === name);
    if (found === undefined) return [difference(about, "is not there")];
    const ready = found.phase === "Running" && (found.containers ?? []).every((container) => container.ready !== false);
    return found.phase === "Succeeded" || ready ? [] : [difference(about, "not ready", wordsOfPod(found))];
  });
}
