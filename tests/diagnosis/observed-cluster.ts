import type {
  Observations,
  ObservedDaemonSet,
  ObservedJob,
  ObservedMachine,
  ObservedNode,
  ObservedPod,
  ObservedRelease,
} from "../../components/diagnosis";
import type { Plan } from "../../components/recipe";
import { asPlanned } from "./as-planned";

/** Observations of a cluster, and their parts, which a test may change. */
export interface ObservedCluster {
  observations: Required<Observations>;
  /** The first node. */
  node: ObservedNode;
  /** The first machine. */
  machine: ObservedMachine;
  /** The device plugin's DaemonSet. */
  plugin: ObservedDaemonSet;
  /** The Helm release of the GPU provider. */
  release: ObservedRelease;
  /** The first smoke test. */
  job: ObservedJob;
  runtimeClass: Required<Observations>["runtimeClasses"][number];
  /** The namespace of the GPU provider. */
  namespace: Required<Observations>["namespaces"][number];
  /** The pod with this name. */
  pod: (name: string) => ObservedPod;
}

/** Observations of a cluster that equals its plan apart from a change. */
export function observationsWith(
  plan: Plan,
  change: (cluster: ObservedCluster) => void,
): Observations {
  const observations = structuredClone(asPlanned(plan)) as Required<Observations>;
  const itemNamed = <Item extends { name: string }>(list: Item[], name: string): Item => {
    const item = list.find((candidate) => candidate.name === name);
    if (item === undefined) throw new Error(`nothing is named ${name}`);
    return item;
  };
  change({
    observations,
    node: observations.nodes[0]!,
    machine: observations.machines[0]!,
    // The operator's DaemonSet has another name.
    plugin: observations.daemonSets.find(({ name }) => name.startsWith("nvidia-device-plugin"))!,
    release: observations.releases[0]!,
    job: observations.jobs[0]!,
    runtimeClass: observations.runtimeClasses[0]!,
    namespace: observations.namespaces[0]!,
    pod: (name) => itemNamed(observations.pods, name),
  });
  return observations;
}
