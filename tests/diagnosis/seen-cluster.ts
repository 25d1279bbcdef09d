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
export interface SeenCluster {
  all: Required<Observations>;
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
export function seenWith(plan: Plan, change: (seen: SeenCluster) => void): Observations {
  const all = structuredClone(asPlanned(plan)) as Required<Observations>;
  const named = <Named extends { name: string }>(list: Named[], name: string): Named => {
    const found = list.find((each) => each.name === name);
    if (found === undefined) throw new Error(`nothing is named ${name}`);
    return found;
  };
  change({
    all,
    node: all.nodes[0]!,
    machine: all.machines[0]!,
    // The operator's DaemonSet has another name.
    plugin: all.daemonSets.find(({ name }) => name.startsWith("nvidia-device-plugin"))!,
    release: all.releases[0]!,
    job: all.jobs[0]!,
    runtimeClass: all.runtimeClasses[0]!,
    namespace: all.namespaces[0]!,
    pod: (name) => named(all.pods, name),
  });
  return all;
}
