import { configPatchType, extensionsType, omniLabel } from "../../components/recipe";

/** A resource as omnictl reads and writes it. */
export interface Resource {
  metadata: { namespace: string; type: string; id: string; labels?: Record<string, string> };
  spec: Record<string, unknown>;
}

/** What somebody refused, in Omni's words. */
export class Refused extends Error {}

/** A machine as resources are labelled for it. */
export interface Target {
  cluster: string;
  machineSet: string;
  uuid: string;
}

/** What users wrote: patches and extensions. Made by omnictl alone. */
export class Resources {
  private readonly byKey = new Map<string, Resource>();

  all(type: string): Resource[] {
    return [...this.byKey.values()].filter(({ metadata }) => metadata.type === type);
  }

  put(resource: Resource): void {
    const { type, id } = resource.metadata ?? {};
    if (type !== configPatchType && type !== extensionsType) {
      throw new Refused(`rpc error: code = PermissionDenied desc = only read access is permitted on ${type}`);
    }
    this.byKey.set(`${type}/${id}`, resource);
  }

  /** @returns whether it was there. */
  delete(type: string, id: string): boolean {
    return this.byKey.delete(`${type}/${id}`);
  }

  /**
   * Patches of a machine in the order in which they are merged: cluster, machine set, cluster machine, machine; within
   * each by ID (siderolabs/omni, internal/backend/runtime/omni/controllers/omni/internal/configpatch).
   */
  patchesOf(target: Target): string[] {
    return this.scoped(configPatchType, target).flatMap((scope) =>
      scope.map(({ spec }) => (spec["data"] as string | undefined) ?? ""),
    );
  }

  /** Extensions of a machine: the most specific list alone (siderolabs/omni, machine_extensions.go); undefined without any. */
  extensionsOf(target: Target): string[] | undefined {
    const lists = this.scoped(extensionsType, target).flat();
    return lists.at(-1)?.spec["extensions"] as string[] | undefined;
  }

  private scoped(type: string, { cluster, machineSet, uuid }: Target): Resource[][] {
    const enabled = this.all(type).filter(({ metadata }) => metadata.labels?.[omniLabel.disabled] === undefined);
    const label = ({ metadata }: Resource, name: string): string | undefined => metadata.labels?.[name];
    const inCluster = enabled.filter((item) => label(item, omniLabel.cluster) === cluster);
    const scopes = [
      inCluster.filter((item) => !label(item, omniLabel.machineSet) && !label(item, omniLabel.clusterMachine)),
      inCluster.filter(
        (item) => label(item, omniLabel.machineSet) === machineSet && !label(item, omniLabel.clusterMachine),
      ),
      inCluster.filter((item) => label(item, omniLabel.clusterMachine) === uuid),
      enabled.filter((item) => !label(item, omniLabel.cluster) && label(item, omniLabel.machine) === uuid),
    ];
    return scopes.map((items) => items.sort((a, b) => (a.metadata.id < b.metadata.id ? -1 : 1)));
  }
}
