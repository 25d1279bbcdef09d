import type { ReportedCard } from "../../components/clients/kubernetes/reported-cards";
import type { PciDevice } from "../../components/clients/talos/pci-device";
import type { ChartName } from "../../components/recipe/facts/chart";
import type { RunningImage } from "../../components/recipe/machine/losses";

/** Observed facts about a machine. A fact that could not be read is missing. */
export interface SeenMachine {
  name: string;
  address: string;
  controlPlane: boolean;
  /** UUID of the hardware, by which Omni identifies the machine. */
  uuid?: string;
  /** Talos release that the machine reports, else the release that the node reports. */
  talosVersion?: string;
  image?: RunningImage;
  /**
   * Versions of the image's extensions by name, from the node's labels. They can be read without access to the machine.
   */
  labelledExtensions?: Record<string, string>;
  installer?: string;
  devices?: PciDevice[];
  /** The machine's cards with their memory, as NVIDIA's programs on the node report them. */
  reportedCards?: ReportedCard[];
  labels: Record<string, string>;
  /** Field managers of each label, by the label's key. A label without known managers is left out. */
  labelManagers?: Record<string, string[]>;
  /** NVIDIA's resources that the machine's node offers, e.g. `nvidia.com/gpu`. */
  offers?: string[];
  /** In kubectl's form, e.g. `gpu=true:NoSchedule`. */
  taints: string[];
  /** Content of the file with the user's settings for containerd; empty if there is no such file. */
  containerdPart?: string;
  /** containerd's whole configuration, if Talos merges the user's settings without such a file (Talos ≥ 1.14). */
  mergedContainerd?: string;
  /** Name of the machine's Talos cluster, and the URL of the cluster's Kubernetes API. */
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
  /**
   * The tool that manages the release, found by the labels or annotations of its objects; undefined if they name no
   * tool.
   */
  by?: "Flux" | "Argo CD";
  namespace: string;
}

/** Observed facts about a cluster. */
export interface SeenCluster {
  machines: SeenMachine[];
  releases: SeenRelease[];
  /** One sentence for each failed read, with the reason. */
  unseen: string[];
}
