import type { ToldCard } from "../../components/clients/kubernetes/told-cards";
import type { PciDevice } from "../../components/clients/talos/pci-device";
import type { ChartName } from "../../components/recipe/facts/chart";
import type { RunningImage } from "../../components/recipe/machine/losses";

/** Observed facts about a machine, without those that could not be read. */
export interface SeenMachine {
  name: string;
  address: string;
  controlPlane: boolean;
  /** ID of its hardware, which is its name in Omni. */
  uuid?: string;
  /** As the machine says it, else as its node does. */
  talosVersion?: string;
  image?: RunningImage;
  /** Extensions of its image as its node's labels name them, with their versions: known without the machine. */
  labelledExtensions?: Record<string, string>;
  installer?: string;
  devices?: PciDevice[];
  /** Its cards with their memory, as NVIDIA's programs on its node tell them. */
  toldCards?: ToldCard[];
  labels: Record<string, string>;
  /** Field managers that set a label, by its key; a key whose managers the API does not tell stays out. */
  labelManagers?: Record<string, string[]>;
  /** Resources of NVIDIA's that its node offers, e.g. `nvidia.com/gpu`. */
  offers?: string[];
  /** As kubectl writes them, e.g. `gpu=true:NoSchedule`. */
  taints: string[];
  /** Content of the file with the user's settings for containerd; empty without one. */
  containerdPart?: string;
  /** containerd's whole configuration, if Talos merges the user's settings without such a file (Talos ≥ 1.14). */
  mergedContainerd?: string;
  /** Name of its Talos cluster, and the URL of its Kubernetes API. */
  clusterName?: string;
  clusterEndpoint?: string;
}

/** A release of a chart of NVIDIA's that is in the cluster. */
export interface SeenRelease {
  chart: ChartName;
  /** Version of the chart; undefined where its label does not tell. */
  version?: string;
  /** Name of the Helm release; undefined where it was not Helm that brought it. */
  name?: string;
  /** Who keeps it, by the marks that they set; undefined where there is none. */
  by?: "Flux" | "Argo CD";
  namespace: string;
}

/** Observed facts about a cluster. */
export interface Seen {
  machines: SeenMachine[];
  releases: SeenRelease[];
  /** Reads that failed, each with its reason, one sentence each. */
  unseen: string[];
}
