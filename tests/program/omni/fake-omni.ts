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
  readonly resources = new Map<string, OmniResource>();
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
  imageState: OmniImageState | undefined = {
    talosVersion: "v1.12.6",
    schematicId: "s",
    extensions: ["siderolabs/x"],
  };
  hasPendingChanges = false;

  putExtensions(id: string, labels: Record<string, string>, extensions: string[]): void {
    const metadata = { namespace: "default", type: extensionsType, id, labels };
    this.resources.set(`${extensionsType}/${id}`, { metadata, spec: { extensions } });
  }
  put(id: string, labels: Record<string, string>, data: string): void {
    const metadata = { namespace: "default", type: configPatchType, id, labels };
    this.resources.set(`${configPatchType}/${id}`, { metadata, spec: { data } });
  }
  patches = async (): Promise<OmniPatch[]> =>
    [...this.resources.values()].flatMap(({ metadata: { id, labels }, spec }) =>
      "data" in spec ? [{ id, labels, data: spec.data }] : [],
    );
  resource = async (type: string, id: string) => {
    const resource = this.resources.get(`${type}/${id}`);
    // omnictl prints a patch in this form (siderolabs/omni, client/pkg/template/testdata/cluster1-resources.yaml).
    const additionalFields = type === configPatchType ? { compresseddata: [] } : {};
    return (
      resource && {
        spec: { ...resource.spec, ...additionalFields },
        labels: resource.metadata.labels,
      }
    );
  };
  list = async (type: string) =>
    [...this.resources.values()]
      .filter(({ metadata }) => metadata.type === type)
      .map(({ metadata: { id, labels }, spec }) => ({ id, labels, spec: { ...spec } }));
  apply = async (resources: OmniResource[]): Promise<void> => {
    for (const resource of resources) {
      this.calls.push(`apply ${resource.metadata.type.split(".")[0]} ${resource.metadata.id}`);
      this.resources.set(`${resource.metadata.type}/${resource.metadata.id}`, resource);
    }
  };
  delete = async (type: string, id: string): Promise<void> => {
    this.calls.push(`delete ${type.split(".")[0]} ${id}`);
    this.resources.delete(`${type}/${id}`);
  };
  cluster = async (name: string): Promise<OmniCluster | undefined> =>
    this.clusters.includes(name) ? { templated: this.templated } : undefined;
  clusterMachine = async () => this.state;
  image = async () => this.imageState;
  pending = async () => this.hasPendingChanges;
}
