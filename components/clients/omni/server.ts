import { stringify } from "yaml";
import {
  configPatchType,
  type OmniPatch,
  type OmniResource,
  templateAnnotation,
} from "../../recipe/machine/omni";
import { CallError, type CallErrorKind } from "../failure";
import type { SecretFiles } from "../secret-files";
import { valuesOf } from "../talos/configuration-text";
import type { Talosctl } from "../talos/talosctl";

/** Time limit in milliseconds for one call: enough for a deletion, which waits for Omni's controllers. */
const LIMIT = 60_000;

/** A resource as `omnictl get -o yaml` prints it. Keys of `spec` are the fields of Omni's Go types in lower case. */
interface Printed {
  metadata: {
    type: string;
    id: string;
    phase?: string;
    labels?: Record<string, string>;
    annotations?: object;
  };
  spec: Record<string, any>;
}

/** Omni's facts about one of its machines. */
export interface OmniMachineState {
  cluster: string | undefined;
  machineSet: string | undefined;
  /** Why Omni could not apply the configuration; empty if Omni applied it. */
  configError: string;
  configUpToDate: boolean;
  ready: boolean;
}

/** Omni's facts about the image that a machine runs. */
export interface OmniImageState {
  talosVersion: string;
  schematicId: string;
  extensions: string[];
}

/** Content of a resource that users may write. Keys of `spec` are as omnictl prints them. */
export interface OmniContent {
  spec: Record<string, unknown>;
  labels: Record<string, string>;
}

/** Omni's facts about a cluster. */
export interface OmniCluster {
  /** Whether a cluster template manages it. */
  templated: boolean;
}

/** Calls to an Omni server. Each call throws CallError. */
export interface Omni {
  /** All configuration patches. */
  patches(): Promise<OmniPatch[]>;
  /** A resource in Omni; undefined if it does not exist. */
  resource(type: string, id: string): Promise<OmniContent | undefined>;
  /** A cluster by its name; undefined if Omni has no such cluster. */
  cluster(name: string): Promise<OmniCluster | undefined>;
  /** All resources of a type. */
  list(type: string): Promise<(OmniContent & { id: string })[]>;
  /** Creates or updates resources, in the order of the list. */
  apply(resources: OmniResource[]): Promise<void>;
  /** Deletes a resource. A missing resource is no error, because an earlier attempt may have deleted it. */
  delete(type: string, id: string): Promise<void>;
  /** State of a machine in its cluster; undefined if none of Omni's clusters has it. */
  clusterMachine(uuid: string): Promise<OmniMachineState | undefined>;
  /** The image that a machine runs; undefined if Omni does not know it. */
  image(uuid: string): Promise<OmniImageState | undefined>;
  /** Whether Omni still has changes to apply to the machine. */
  pending(uuid: string): Promise<boolean>;
}

/**
 * Omni through omnictl. Credentials are passed in the environment and resources in a file, never as arguments. Source
 * of the formats: siderolabs/omni, client/pkg/omnictl and client/api/omni/specs.
 */
export class OmniServer implements Omni {
  constructor(
    private readonly omnictl: Talosctl,
    private readonly files: SecretFiles,
  ) {}

  async patches(): Promise<OmniPatch[]> {
    const printedResources = await this.get(configPatchType);
    return printedResources.map(({ metadata, spec }) => ({
      id: metadata.id,
      labels: metadata.labels ?? {},
      data: String(spec["data"] ?? ""),
    }));
  }

  /** A resource in Omni; undefined if it does not exist. */
  async resource(type: string, id: string): Promise<OmniContent | undefined> {
    const [resource] = await this.get(type, id);
    return resource === undefined
      ? undefined
      : { spec: resource.spec, labels: resource.metadata.labels ?? {} };
  }

  async cluster(name: string) {
    const [resource] = await this.get("Clusters.omni.sidero.dev", name);
    // Whether `omnictl cluster template sync` manages the cluster; it deletes everything that its template lacks.
    return resource
      ? { templated: templateAnnotation in (resource.metadata.annotations ?? {}) }
      : undefined;
  }

  async list(type: string): Promise<(OmniContent & { id: string })[]> {
    const printedResources = await this.get(type);
    return printedResources.map(({ metadata: { id, labels = {} }, spec }) => ({
      id,
      labels,
      spec,
    }));
  }

  /** Creates or updates resources, in the order of the list. */
  async apply(resources: OmniResource[]): Promise<void> {
    const text = resources.map((resource) => stringify(resource, { lineWidth: 0 })).join("---\n");
    const file = this.files.write("omni.yaml", text);
    try {
      await this.omnictl.run(["apply", "-f", file], LIMIT);
    } finally {
      this.files.remove("omni.yaml");
    }
  }

  /**
   * Deletes a resource. A missing resource is no error: an earlier attempt may have deleted it, and its answer was
   * lost.
   */
  async delete(type: string, id: string): Promise<void> {
    try {
      await this.omnictl.run(["delete", type, id], LIMIT);
    } catch (error) {
      if (!(error instanceof CallError) || problemOf(error) !== "missing") throw error;
    }
  }

  /** State of a machine in its cluster; undefined if no cluster in Omni has a machine with that ID. */
  async clusterMachine(uuid: string) {
    const [status] = await this.get("ClusterMachineStatuses.omni.sidero.dev", uuid);
    if (status === undefined) return undefined;
    const { labels = {} } = status.metadata;
    return {
      cluster: labels["omni.sidero.dev/cluster"],
      machineSet: labels["omni.sidero.dev/machine-set"],
      /** Why Omni could not apply the configuration to the machine; empty if Omni applied it. */
      configError: String(status.spec["lastconfigerror"] ?? ""),
      /** Whether the machine has the latest configuration that Omni made for the machine. */
      configUpToDate: status.spec["configuptodate"] === true,
      ready: status.spec["ready"] === true,
    };
  }

  async image(uuid: string) {
    const [status] = await this.get("MachineStatuses.omni.sidero.dev", uuid);
    if (status === undefined) return undefined;
    const schematic = (status.spec["schematic"] ?? {}) as {
      fullid?: string;
      extensions?: string[] | null;
    };
    return {
      talosVersion: `v${String(status.spec["talosversion"] ?? "").replace(/^v/, "")}`,
      schematicId: schematic.fullid ?? "",
      extensions: schematic.extensions ?? [],
    };
  }

  /** Whether Omni still has changes to apply to the machine. */
  async pending(uuid: string): Promise<boolean> {
    return (await this.get("MachinePendingUpdates.omni.sidero.dev", uuid)).length > 0;
  }

  private async get(type: string, ...id: string[]): Promise<Printed[]> {
    try {
      return valuesOf(
        await this.omnictl.run(["get", type, ...id, "-o", "yaml"], LIMIT),
      ) as Printed[];
    } catch (error) {
      if (error instanceof CallError && problemOf(error) === "missing") return [];
      throw error;
    }
  }
}

/**
 * The kind of a failed call. COSI's message for a missing resource is `resource T(n/id@undefined) doesn't exist`
 * (cosi-project/runtime, pkg/state/errors.go).
 */
const problemOf = (error: CallError): CallErrorKind =>
  /doesn't exist/.test(error.message) ? "missing" : error.problem;
