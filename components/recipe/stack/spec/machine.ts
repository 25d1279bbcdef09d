/** Role of a machine in its cluster. Control planes are upgraded one at a time. */
export const MachineRole = { controlplane: "controlplane", worker: "worker" } as const;
export type MachineRole = (typeof MachineRole)[keyof typeof MachineRole];

/**
 * Who holds a machine's configuration: `owned` (this stack, all of it), `adopted` (somebody else; we merge by key and
 * remember what we added), `omni` (Omni; we give it patches and extensions of the one machine, and it makes the image,
 * upgrades and reboots).
 */
export const ConfigurationOwner = { owned: "owned", adopted: "adopted", omni: "omni" } as const;
export type ConfigurationOwner = (typeof ConfigurationOwner)[keyof typeof ConfigurationOwner];

/** Architecture of a card that no table has. */
export const GpuArchitecture = {
  Maxwell: "Maxwell",
  Pascal: "Pascal",
  Volta: "Volta",
  Turing: "Turing",
  Ampere: "Ampere",
  Ada: "Ada",
  Hopper: "Hopper",
  Blackwell: "Blackwell",
} as const;
export type GpuArchitecture = (typeof GpuArchitecture)[keyof typeof GpuArchitecture];

/** A kind of card in a machine. */
export interface GpuSpec {
  /** Name as `nvidia-smi -L` prints it, with or without vendor and family, e.g. `RTX 5070 Ti`, `NVIDIA H100 NVL`. */
  model: string;
  /** Architecture of a card that the tables do not have, e.g. `Blackwell`. Default: by the tables. */
  architecture?: GpuArchitecture;
  /** Memory of such a card, e.g. `48Gi`. Default unknown. */
  memory?: string;
  /** Number of such cards in the machine. Default 1. */
  count?: number;
}

/** One Talos machine. Its key in `machines` is its node name. */
export interface MachineSpec {
  /** Address of the machine's Talos API: IP or host name. */
  address: string;
  /** `controlplane` or `worker`. */
  role: MachineRole;
  /** Who holds its configuration: `owned`, `adopted` or `omni`. */
  configuration: ConfigurationOwner;
  /** ID of the machine in Omni, which is the UUID of its hardware (`omnictl get machines`). Required with `omni`, and only there. */
  uuid?: string;
  /** Cards in the machine. Empty or absent: not a GPU machine; it gets no NVIDIA extension. */
  gpus?: GpuSpec[];
  /** Further official extensions, e.g. `siderolabs/iscsi-tools`. NVIDIA's follow from the card and the driver. */
  extensions?: string[];
  /** Further kernel arguments of the image. Default none. */
  kernelArgs?: string[];
  /** Image Factory platform of the installer, e.g. `metal`, `nocloud`. Default `metal`. */
  platform?: string;
  /** Whether the machine boots with Secure Boot. Default false. */
  secureBoot?: boolean;
  /** Further strategic-merge patches of this machine (YAML text), applied before ours. Nothing secret belongs here. */
  patches?: string[];
  /** Further node labels. */
  labels?: Record<string, string>;
  /** Node taints: key to `value:Effect` (or `:Effect`), e.g. `gpu: "true:NoSchedule"`. */
  taints?: Record<string, string>;
  /** Power limit of every card of the machine in watts. Default: the card's own. */
  powerLimit?: number;
  /** Release the machine runs today, e.g. `v1.11.5`; lets preview refuse a jump over a minor. Default unknown (the upgrade program checks). */
  runningVersion?: string;
  /** Sets one containerd option each; all end in the machine's single containerd part. */
  containerd?: ContainerdSpec;
}

/** Options of the machine's containerd part, `/etc/cri/conf.d/20-customization.part`. */
export interface ContainerdSpec {
  /** Make `nvidia` the default runtime. Default false: CUDA images would give GPUs to pods that request none. */
  nvidiaDefaultRuntime?: boolean;
  /** Give the nvidia runtime Talos' base OCI specification. Default false. */
  baseRuntimeSpec?: boolean;
  /** CDI directories. Default none (Talos' own). On Talos ≥ 1.13 they are added to `/run/cdi`, before to containerd's own. */
  cdiSpecDirs?: string[];
  /** Further TOML of the part; no `version` key. Default none. */
  extra?: string;
}
