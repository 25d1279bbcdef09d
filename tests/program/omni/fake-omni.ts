import type {
  Omni,
  OmniCluster,
  OmniImageState,
  OmniMachineState,
} from "../../../components/clients/omni/server";
import {
  configPatchType,
  extensionsType,
  type OmniPatch,
  type OmniResource,
} from "../../../components/recipe";

/** Omni in memory. */
export class FakeOmni implements Omni {
  readonly held = new Map<string, OmniResource>();
  readonly calls: string[] = [];
  state: OmniMachineState | undefined = {
    cluster: "frank",
    machineSet: "frank-workers",
    configError: "",
    configUpToDate: true,
    ready: true,
  };
  clusters = ["frank"];
  templated = false;
  seen: OmniImageState | undefined = {
    talosVersion: "v1.12.6",
    schematicId: "s",
    extensions: ["siderolabs/x"],
  };
  changes = false;

  putExtensions(id: string, labels: Record<string, string>, extensions: string[]): void {
    const metadata = { namespace: "default", type: extensionsType, id, labels };
    this.held.set(`${extensionsType}/${id}`, { metadata, spec: { extensions } });
  }
  put(id: string, labels: Record<string, string>, data: string): void {
    const metadata = { namespace: "default", type: configPatchType, id, labels };
    this.held.set(`${configPatchType}/${id}`, { metadata, spec: { data } });
  }
  patches = async (): Promise<OmniPatch[]> =>
    [...this.held.values()].flatMap(({ metadata: { id, labels }, spec }) =>
      "data" in spec ? [{ id, labels, data: spec.data }] : [],
    );
  resource = async (type: string, id: string) => {
    const found = this.held.get(`${type}/${id}`);
    // omnictl prints a patch in this form (siderolabs/omni, client/pkg/template/testdata/cluster1-resources.yaml).
    const beside = type === configPatchType ? { compresseddata: [] } : {};
    return found && { spec: { ...found.spec, ...beside }, labels: found.metadata.labels };
  };
  list = async (type: string) =>
    [...this.held.values()]
      .filter(({ metadata }) => metadata.type === type)
      .map(({ metadata: { id, labels }, spec }) => ({ id, labels, spec: { ...spec } }));
  apply = async (resources: OmniResource[]): Promise<void> => {
    for (const resource of resources) {
      this.calls.push(`apply ${resource.metadata.type.split(".")[0]} ${resource.metadata.id}`);
      this.held.set(`${resource.metadata.type}/${resource.metadata.id}`, resource);
    }
  };
  delete = async (type: string, id: string): Promise<void> => {
    this.calls.push(`delete ${type.split(".")[0]} ${id}`);
    this.held.delete(`${type}/${id}`);
  };
  cluster = async (name: string): Promise<OmniCluster | undefined> =>
    this.clusters.includes(name) ? { templated: this.templated } : undefined;
  clusterMachine = async () => this.state;
  image = async () => this.seen;
  pending = async () => this.changes;
}
