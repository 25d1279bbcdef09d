import type { ReportedCard } from "../../components/clients/kubernetes/reported-cards";
import type { PciDevice } from "../../components/clients/talos/pci-device";
import type { ChartName } from "../../components/recipe/facts/chart";
import type { RunningImage } from "../../components/recipe/machine/losses";

/** Observed facts about a machine, without those that could not be read. */
export interface SeenMachine {
  name: string;
  address: string;
  controlPlane: boolean;
  /** UUID of its hardware, by which Omni identifies it. */
  uuid?: string;
  /** From the machine, else from its node. */
  talosVersion?: string;
  image?: RunningImage;
  /** Extensions of its image with their versions, from the node's labels. Known without access to the machine. */
  labelledExtensions?: Record<string, string>;
  installer?: string;
  devices?: PciDevice[];
  /** Its cards with their memory, from NVIDIA's programs on the node. */
  reportedCards?: ReportedCard[];
  labels: Record<string, string>;
  /** Field managers of each label, by the label's key. A label without known managers is left out. */
  labelManagers?: Record<string, string[]>;
  /** Resources of NVIDIA's that its node offers, e.g. `nvidia.com/gpu`. */
  offers?: string[];
  /** In kubectl's form, e.g. `gpu=true:NoSchedule`. */
  taints: string[];
  /** Content of the file with the user's settings for containerd; empty without one. */
  containerdPart?: string;
  /** containerd's whole configuration, if Talos merges the user's settings without such a file (Talos ≥ 1.14). */
  mergedContainerd?: string;
  /** Name of its Talos cluster, and the URL of its Kubernetes API. */
  clusterName?: string;
  clusterEndpoint?: string;
}

/** A release of a chart of NVIDIA's that is installed in the cluster. */
export interface SeenRelease {
  chart: ChartName;
  /** Version of the chart; undefined if its label is missing. */
  version?: string;
  /** Name of the Helm release; undefined if Helm did not install it. */
  name?: string;
  /** The tool that manages it, known by its labels or annotations; undefined without these. */
  by?: "Flux" | "Argo CD";
  namespace: string;
}

/** Observed facts about a cluster. */
export interface SeenCluster {
  machines: SeenMachine[];
  releases: SeenRelease[];
  /** Reads that failed, each with its reason, one sentence each. */
  unseen: string[];
}
