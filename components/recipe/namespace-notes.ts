import type { ClusterSpec } from "./spec/index";
import { namespacesMade, plannedVolumes } from "./stack/workloads/index";

/** Volumes in a namespace that another workload of the stack makes: taking that workload out deletes the namespace with all in it. */
export function namespaceNotes(spec: ClusterSpec): string[] {
  const makers = new Map(namespacesMade(spec).map(({ workload, namespace }) => [namespace, workload.field]));
  return plannedVolumes(spec).flatMap(({ field, namespace }) => {
    const maker = makers.get(namespace);
    return maker === undefined || maker === field
      ? []
      : [
          `${field}: its volume is in namespace ${namespace}, which ${maker} makes; an update that takes ${maker} out deletes the namespace and this volume with it, so give ${field} a namespace of its own`,
        ];
  });
}
