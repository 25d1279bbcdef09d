import type { RunningImage } from "../recipe/machine/losses";

/** One Talos machine, as the phases see it. Behind it: talosctl; in tests: a machine in memory. */
export interface Machine {
  /** Release that runs, e.g. `v1.12.6`. */
  version(): Promise<string>;
  status(): Promise<MachineStatus>;
  /** Changes with every boot. */
  bootId(): Promise<string>;
  /** ID of the schematic that runs, with its extensions sorted (`imageId`); undefined when the image was not made by an Image Factory. */
  schematic(): Promise<string | undefined>;
  /** What the running image has that another one may lack. */
  image(): Promise<RunningImage>;
  /** Content of a file; undefined when it is not there. */
  read(path: string): Promise<string | undefined>;
  /** State of every service by name, e.g. `Running`. */
  services(): Promise<Record<string, string>>;
  /** Lines of the console of this boot, as far as the kernel still has them. */
  console(): Promise<string[]>;
  /** Why its boot does not go on, in Talos' own lines; empty when it does. */
  bootErrors(): Promise<string[]>;
  /** Whether it runs an upgrade that Talos has not confirmed yet: a boot that fails then goes back to the image of before. */
  isUnconfirmed(): Promise<boolean>;
  configurations(): Promise<Configurations>;
  /** Makes `configuration` the one of the next boot; nothing changes before. */
  stage(configuration: string): Promise<void>;
  /** Puts `configuration` into effect at once, without a reboot; refused when it needs one. */
  activate(configuration: string): Promise<void>;
  /**
   * Brings the installer onto the machine.
   *
   * @param ending when the call is ended before its limit. Default never.
   */
  pull(image: string, limit: number, ending?: Ending): Promise<void>;
  /** Starts the upgrade; resolves when the machine has taken it on. It then reboots by itself. */
  upgrade(image: string, api: UpgradeApi, limit: number): Promise<void>;
  /** Starts a reboot. */
  reboot(): Promise<void>;
  /** Members of the machine's etcd cluster. */
  etcdMembers(): Promise<EtcdMember[]>;
  /** ID of its own member of etcd; undefined where etcd does not say. */
  etcdMember(): Promise<string | undefined>;
  /** Complaints of this machine's etcd member; empty when it is healthy. */
  etcdProblems(): Promise<string[]>;
  /** The machine at another address of the cluster, asked with the same credentials. */
  at(address: string): Machine;
}

/** When a call is ended before its limit; it then fails as one that got no answer. */
export interface Ending {
  /** Milliseconds between two looks at it. */
  every: number;
  /** Whether it ends now. */
  ends: () => Promise<boolean>;
}

/**
 * `lifecycle` is LifecycleService.Upgrade of Talos 1.13 and newer; `legacy` is MachineService.Upgrade, which Talos 1.12 and
 * older have. Range: talos v1.13.0 cmd/talosctl/cmd/talos/upgrade.go.
 */
export type UpgradeApi = "lifecycle" | "legacy";

/** How far a machine is, in the words of Talos. */
export interface MachineStatus {
  /** E.g. `running`, `booting`, `upgrading`, `rebooting`, `maintenance`. */
  stage: string;
  /** Whether all is up that this stage needs. */
  ready: boolean;
  /** What keeps it from being ready, in Talos' words. */
  unmet: string[];
}

/** Texts of the machine's configuration; more than one YAML document each. */
export interface Configurations {
  /** The one that is in effect (resource `v1alpha1`). */
  active?: string;
  /** The one on disk, in effect after the next boot (resource `persistent`). Differs from `active` when staged. */
  persistent?: string;
}

/** A member of etcd, as Talos lists it. */
export interface EtcdMember {
  id: string;
  hostname: string;
  /** A learner does not vote yet. */
  learner: boolean;
  /** Where the others reach it, for peers and for clients. */
  urls: string[];
}

/** The machine's node in Kubernetes, as the drain sees it. */
export interface Cluster {
  /** The node; undefined when the cluster has none of that name. */
  node(name: string): Promise<NodeState | undefined>;
  /** Whether the cluster has no other node. */
  isAlone(): Promise<boolean>;
  /** Marks the node unschedulable and sets the annotation, in one request. */
  cordon(name: string, annotation: string, value: string): Promise<void>;
  /** Takes both away, in one request. */
  uncordon(name: string, annotation: string): Promise<void>;
  /** Takes the annotation away alone. */
  unmark(name: string, annotation: string): Promise<void>;
  /** Pods on the node. */
  pods(node: string): Promise<PodState[]>;
  /** Asks for the eviction; a disruption budget may refuse. */
  evict(pod: PodState): Promise<{ refused?: string }>;
  /** Volumes that are attached to the node, or on their way there or off. Undefined where the credentials may not see them. */
  attachedVolumes(node: string): Promise<string[] | undefined>;
}

/** What an upgrade asks of a node. */
export interface NodeState {
  unschedulable: boolean;
  annotations: Record<string, string>;
  ready: boolean;
}

/** What a drain asks of a pod. */
export interface PodState {
  namespace: string;
  name: string;
  uid: string;
  /** Kind of its controller, e.g. `DaemonSet`; undefined for a bare pod. */
  controller?: string;
  /** Whether it mirrors a static pod of the kubelet. */
  mirror: boolean;
  /** Whether it ran to its end. */
  finished: boolean;
  /** Whether it was told to go. */
  terminating: boolean;
  /** Whether it keeps something in an emptyDir, which goes with it. */
  localStorage?: boolean;
  /** Cards, or parts of them, that it holds (`nvidia.com/…`). Default none. */
  gpus?: number;
  /** Seconds that it may take to end. */
  grace?: number;
  /** What else must happen before it is gone, in the words of its metadata. Default nothing. */
  finalizers?: string[];
}
