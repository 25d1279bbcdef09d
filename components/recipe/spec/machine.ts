import type { DriverSpec } from "./driver";
import type { GpuSpec } from "./gpu";
import type { CustomizationSpec, DropSpec, OverlaySpec } from "./image";

/** Role of a machine in its cluster. The update upgrades control planes one at a time. */
export const MachineRole = { controlplane: "controlplane", worker: "worker" } as const;
/** A role, as text. */
export type MachineRole = (typeof MachineRole)[keyof typeof MachineRole];

/**
 * Owner of a machine's configuration. `owned`: this stack generates the whole configuration. `adopted`: another tool
 * generates the configuration; the stack merges its own settings into it, key by key, and records what it added.
 * `omni`: Omni generates the configuration, makes the image, and upgrades and reboots the machine; the stack only sets
 * the machine's config patches and extensions in Omni.
 */
export const ConfigurationOwner = { owned: "owned", adopted: "adopted", omni: "omni" } as const;
/** An owner, as text. */
export type ConfigurationOwner = (typeof ConfigurationOwner)[keyof typeof ConfigurationOwner];

/** Options of the machine's containerd, in the file `/etc/cri/conf.d/20-customization.part`. */
export interface ContainerdSpec {
  /**
   * Make `nvidia` the default runtime. A pod that requests no GPU then gets all GPUs of its machine if its image sets
   * `NVIDIA_VISIBLE_DEVICES=all`, as CUDA images do.
   * @default `false`
   * @example `true`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  nvidiaDefaultRuntime?: boolean;
  /**
   * Use Talos' base OCI specification for the runtime `nvidia` (containerd's `base_runtime_spec`).
   * @default `false`
   * @example `true`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  baseRuntimeSpec?: boolean;
  /**
   * Further CDI directories, in addition to `/run/cdi` on Talos ≥ 1.13, and to containerd's defaults on older releases.
   * @default none
   * @example `[/var/cdi/static, /var/cdi/dynamic]`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  cdiSpecDirs?: string[];
  /**
   * Further TOML for containerd's configuration. The key `version` is refused, since Talos sets it.
   * @default none
   * @example `"[debug]\nlevel = \"debug\""`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  extra?: string;
}

/**
 * Fields that `machineDefaults`, a pool or a machine may set. A machine's value overrides its pool's, and a pool's
 * value overrides the defaults.
 */
export interface MachineDefaultsSpec {
  /**
   * Role of the machine in its cluster: `controlplane` or `worker`.
   * @default the value of the pool or of `machineDefaults`; required in one of the three places
   * @example `worker`
   */
  role?: MachineRole;
  /**
   * Owner of the machine's configuration. `owned`: this stack generates the whole configuration. `adopted`: another
   * tool generates it, and the stack merges its own settings into it. `omni`: Omni generates it, and the stack sets
   * config patches in Omni.
   * @default the value of the pool or of `machineDefaults`; required in one of the three places
   * @example `adopted`
   * @causes a new configuration, with one reboot of a GPU machine; an update refuses a change from `adopted`
   *   or `omni` to another owner: remove the machine in one update, then add it in the next
   */
  configuration?: ConfigurationOwner;
  /**
   * Talos release of these machines, if it differs from the stack's, e.g. in a pool that is upgraded first. Both
   * releases must be in the same range: older than 1.13, 1.13 to 1.14, or 1.15 and newer. The reason is that Talos 1.13
   * and Talos 1.15 change how pods get GPUs.
   * @default the stack's `talosVersion`
   * @example `v1.12.7`
   * @causes one reboot of each machine that runs another release
   */
  talosVersion?: string;
  /**
   * NVIDIA driver of these machines. A field that is missing here gets its value from the stack's `driver`. The command
   * `talos-gpu import` writes `{}` if it cannot find out the content of the machine's image. If the stack has no
   * `driver` either, the plan chooses branch and flavour by the card, and warns. Replace `{}` by the driver that the
   * machine runs.
   * @default the stack's `driver`
   * @example `{ branch: lts }`
   * @causes a new image, and with it one reboot of each GPU machine
   */
  driver?: DriverSpec;
  /**
   * GPU cards in the machine. A machine without a card is no GPU machine, and gets no NVIDIA extension.
   * @default none
   * @example `[{ model: RTX 5070 Ti }]`
   * @causes a new image, and with it one reboot of the machine
   */
  gpus?: GpuSpec[];
  /**
   * Names of further official extensions of the image. The package adds NVIDIA's extensions, which it chooses by the
   * card and the driver.
   * @default none
   * @example `[siderolabs/iscsi-tools]`
   * @causes a new image, and with it one reboot of the machine
   */
  extensions?: string[];
  /**
   * Further kernel arguments of the image. A machine that boots with GRUB uses them only if its configuration sets
   * `machine.install.grubUseUKICmdline: true`, which Talos 1.12 and newer know. Without this setting, an update that adds
   * a kernel argument stops before it touches the machine, and names the change that helps.
   * @default none
   * @example `[pci=realloc]`
   * @causes a new image, and with it one reboot of the machine
   */
  kernelArgs?: string[];
  /**
   * Parameters with which Talos loads NVIDIA's kernel modules. The key is the module. A kernel argument such as
   * `nvidia_drm.modeset=1` has no effect on them.
   * @default none
   * @example `{ nvidia: [NVreg_OpenRmEnableUnsupportedGpus=1] }`
   * @causes a new configuration, with one reboot of a GPU machine
   */
  moduleParameters?: Record<string, string[]>;
  /**
   * Platform of the installer image, by its name in the Image Factory.
   * @default `metal`
   * @example `nocloud`
   * @causes no reboot by itself: the next upgrade uses the new installer
   */
  platform?: string;
  /**
   * Whether the machine boots with Secure Boot.
   * @default `false`
   * @example `true`
   * @causes no reboot by itself: the next upgrade uses the new installer
   */
  secureBoot?: boolean;
  /**
   * Overlay of the image: the parts that a single-board computer needs in addition to Talos, such as its boot loader.
   * @default none
   * @example `{ image: siderolabs/sbc-rockchip, name: turingrk1 }`
   * @causes a new image, and with it one reboot of the machine
   */
  overlay?: OverlaySpec;
  /**
   * Other parts of the machine's schematic (boot loader, Secure Boot keys), so that the new image keeps them.
   * @default none
   * @example `{ bootloader: sd-boot }`
   * @causes a new image, and with it one reboot of the machine
   */
  customization?: CustomizationSpec;
  /**
   * Your own installer image instead of the Image Factory's, by tag or digest. You make it with Talos' imager or your
   * own Image Factory, and include NVIDIA's extensions. The package does not know what else the image contains, so
   * `extensions`, `kernelArgs`, `overlay`, `customization`, `platform`, `secureBoot` and `drop` are refused with
   * `installerImage`. The update verifies Talos' release, NVIDIA's modules, the branch of the driver and NVIDIA's
   * services. To change the Talos release, also change this image.
   * @default the Image Factory's image, made from the other fields of the machine
   * @example `registry.example.com/talos/installer:v1.13.6-nvidia-2`
   * @causes one reboot of the machine
   */
  installerImage?: string;
  /**
   * Parts of the machine's current image that an update may remove.
   * @default none: an update that would remove a part stops before the drain
   * @example `{ extensions: [siderolabs/iscsi-tools] }`
   * @causes nothing by itself: the next image may lack these parts
   */
  drop?: DropSpec;
  /**
   * Further strategic-merge patches for the machine's configuration, each as YAML text. They are applied after the
   * stack's `patches`, and before the package's own settings. Put no secret in them.
   * @default none
   * @example `["machine: { sysctls: { vm.nr_hugepages: '1024' } }"]`
   * @causes a new configuration; one reboot only if the running Talos does not apply a changed part, such as
   *   `machine.files`, or if kernel modules of a GPU machine change
   */
  patches?: string[];
  /**
   * Further labels of the node.
   * @default none
   * @example `{ rack: b2 }`
   * @causes a change of the node's labels, without a reboot
   */
  labels?: Record<string, string>;
  /**
   * Taints of the node: key to `value:Effect`, or to `:Effect` for a taint without a value. All pods of this package
   * tolerate them.
   * @default none
   * @example `{ gpu: "true:NoSchedule" }`
   * @causes a new configuration, without a reboot
   */
  taints?: Record<string, string>;
  /**
   * Power limit of each card of the machine, in watts.
   * @default the card's own limit
   * @example `250`
   * @causes a DaemonSet that sets the limit, without a reboot
   */
  powerLimit?: number;
  /**
   * Whether the machine may be off during an update, e.g. because another system controls its power. It must be a
   * worker. If its node is not ready and its Talos API does not answer, an update skips the machine, and reports that.
   * The machine must be online for the update that adds it. No smoke test runs on a machine that is away. A preview
   * finds out whether the machine is offline; in your own program, `GpuCluster.withFacts` finds it out. They cannot find
   * it out with `bootstrap: true`: write the machine's name in `away` while the machine is off.
   *
   * A pod on a node that is off stops the rollout of its DaemonSet on all other nodes. The stack's chart values
   * therefore let more pods be unavailable.
   * @default `false`
   * @example `true`
   * @causes an update of the GPU provider's release
   */
  mayBeAway?: boolean;
  /**
   * Talos release that the machine runs today. If you set it, the first preview already lists the intermediate releases
   * of the upgrade, and refuses a downgrade. Without `versionContract`, Talos generates the configuration of an owned
   * machine for the older of `runningVersion` and `talosVersion`.
   * @default unknown: the upgrade reads it from the machine
   * @example `v1.11.5`
   * @causes one reboot of an owned machine, if Talos generates a different configuration for that release
   */
  runningVersion?: string;
  /**
   * Talos' version contract of an owned machine: Talos generates the machine's configuration with the defaults of this
   * Talos release. Write the release that created the cluster, and keep it when `talosVersion` changes: Talos advises
   * against a new contract for an existing cluster. A machine gets its configuration before its upgrade, so the Talos
   * release before the upgrade must accept the contract. Talos before 1.12 refuses a contract of 1.12 or newer.
   * @default the older of `runningVersion` and `talosVersion`; a preview then refuses a change of `talosVersion` that
   * would change the contract
   * @example `v1.11`
   * @causes one reboot, if Talos generates a different configuration for that release
   */
  versionContract?: string;
  /**
   * Options of containerd. The package writes all these options into one file of the machine,
   * `/etc/cri/conf.d/20-customization.part`.
   * @default none
   * @example `{ cdiSpecDirs: [/var/cdi/static] }`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  containerd?: ContainerdSpec;
}

/**
 * One Talos machine in a stack file. Fields that it does not set come from its pool or `machineDefaults`. Its key in
 * `machines` is its node name.
 */
export interface MachineEntrySpec extends MachineDefaultsSpec {
  /**
   * Address of the machine's Talos API: an IP or a host name.
   * @example `192.168.1.224`
   */
  address: string;
  /**
   * ID of the machine in Omni, which is the UUID of its hardware (`omnictl get machines`). Required with
   * `configuration: omni`, and refused with any other.
   * @default none
   * @example `919108f7-52d1-4320-9bac-f847db4148a8`
   */
  uuid?: string;
}

/** One Talos machine, with its role and the owner of its configuration. Its key in `machines` is its node name. */
export interface MachineSpec extends MachineEntrySpec {
  /**
   * Role of the machine in its cluster: `controlplane` or `worker`.
   * @example `worker`
   */
  role: MachineRole;
  /**
   * Owner of the machine's configuration. `owned`: this stack generates the whole configuration. `adopted`: another
   * tool generates it, and the stack merges its own settings into it. `omni`: Omni generates it, and the stack sets
   * config patches in Omni.
   * @example `adopted`
   * @causes a new configuration, with one reboot of a GPU machine; an update refuses a change from `adopted`
   *   or `omni` to another owner: remove the machine in one update, then add it in the next
   */
  configuration: ConfigurationOwner;
}

/** Machines that differ only in name and address. */
export interface PoolSpec extends MachineDefaultsSpec {
  /**
   * Pattern of the node names. The machine's number replaces the `#` characters, and has at least as many digits.
   * @example `gpu-###`
   */
  names: string;
  /**
   * Addresses of the machines' Talos APIs: IPs, host names, and ranges of IPs. The first address belongs to the machine
   * with the lowest number.
   * @example `[10.1.0.1-10.1.0.200]`
   */
  addresses: string[];
  /**
   * Number of the first machine.
   * @default `1`
   * @example `0`
   */
  first?: number;
}
