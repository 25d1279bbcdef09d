import { configPatchType, extensionsType, omniLabel } from "../../components/recipe";

/** A resource as omnictl reads and writes it. */
export interface Resource {
  metadata: { namespace: string; type: string; id: string; labels?: Record<string, string> };
  spec: Record<string, unknown>;
}

/** A request that the server refuses, with Omni's message. */
export class Refused extends Error {}

/** The labels by which resources select a machine. */
export interface MachineLabels {
  cluster: string;
  machineSet: string;
  uuid: string;
}

/** Resources that users write: patches and extensions. Only omnictl creates them. */
export class Resources {
  private readonly byKey = new Map<string, Resource>();

  all(type: string): Resource[] {
    return [...this.byKey.values()].filter(({ metadata }) => metadata.type === type);
  }

  put(resource: Resource): void {
    const { type, id } = resource.metadata ?? {};
    if (type !== configPatchType && type !== extensionsType) {
      throw new Refused(
        `rpc error: code = PermissionDenied desc = only read access is permitted on ${type}`,
      );
    }
    this.byKey.set(`${type}/${id}`, resource);
  }

  delete(type: string, id: string): boolean {
    return this.byKey.delete(`${type}/${id}`);
  }

  /**
   * Patches of a machine in the order in which they are merged: cluster, machine set, cluster machine, machine; within
   * each by ID (siderolabs/omni, internal/backend/runtime/omni/controllers/omni/internal/configpatch).
   */
  patchesOf(machine: MachineLabels): string[] {
    const enabled = this.all(configPatchType).filter(
      ({ metadata }) => metadata.labels?.[omniLabel.disabled] === undefined,
    );
    return resourcesByScope(enabled, machine).flatMap((scope) =>
      scope.map(({ spec }) => (spec["data"] as string | undefined) ?? ""),
    );
  }

  /**
   * Extensions of a machine: the most specific list, and among several the one with the highest ID; undefined if there
   * is none. Omni reads only lists with a cluster's label, and ignores whether they are disabled (siderolabs/omni,
   * machine_extensions.go).
   */
  extensionsOf(machine: MachineLabels): string[] | undefined {
    const inCluster = this.all(extensionsType).filter(
      (item) => label(item, omniLabel.cluster) === machine.cluster,
    );
    return resourcesByScope(inCluster, machine).flat().at(-1)?.spec["extensions"] as
      string[] | undefined;
  }
}

/**
 * Resources that select a machine, from the scope of the cluster to that of the machine, sorted by ID within a scope.
 */
function resourcesByScope(
  resources: Resource[],
  { cluster, machineSet, uuid }: MachineLabels,
): Resource[][] {
  const inCluster = resources.filter((item) => label(item, omniLabel.cluster) === cluster);
  const scopes = [
    inCluster.filter(
      (item) => !label(item, omniLabel.machineSet) && !label(item, omniLabel.clusterMachine),
    ),
    inCluster.filter(
      (item) =>
        label(item, omniLabel.machineSet) === machineSet && !label(item, omniLabel.clusterMachine),
    ),
    inCluster.filter((item) => label(item, omniLabel.clusterMachine) === uuid),
    resources.filter(
      (item) => !label(item, omniLabel.cluster) && label(item, omniLabel.machine) === uuid,
    ),
  ];
  return scopes.map((items) => items.sort((a, b) => (a.metadata.id < b.metadata.id ? -1 : 1)));
}

const label = ({ metadata }: Resource, name: string): string | undefined => metadata.labels?.[name];
