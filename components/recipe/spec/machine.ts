import type { DriverSpec } from "./driver";
import type { GpuSpec } from "./gpu";
import type { CustomizationSpec, DropSpec, OverlaySpec } from "./image";

/** Role of a machine in its cluster. The update upgrades control planes one at a time. */
export const MachineRole = { controlplane: "controlplane", worker: "worker" } as const;
/** A role, as text. */
export type MachineRole = (typeof MachineRole)[keyof typeof MachineRole];

/**
 * Owner of a machine's configuration. `owned`: this stack generates all of it. `adopted`: another tool generates it;
 * the stack merges its part in by key and records what it added. `omni`: the stack gives Omni patches and extensions
 * of this machine, and Omni makes the image, upgrades and reboots.
 */
export const ConfigurationOwner = { owned: "owned", adopted: "adopted", omni: "omni" } as const;
/** An owner, as text. */
export type ConfigurationOwner = (typeof ConfigurationOwner)[keyof typeof ConfigurationOwner];

/** Options of the machine's containerd, in the file `/etc/cri/conf.d/20-customization.part`. */
export interface ContainerdSpec {
  /**
   * Make `nvidia` the default runtime. CUDA images then give GPUs to pods that request none.
   * @default `false`
   * @example `true`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  nvidiaDefaultRuntime?: boolean;
  /**
   * Give the nvidia runtime Talos' base OCI specification.
   * @default `false`
   * @example `true`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  baseRuntimeSpec?: boolean;
  /**
   * Further CDI directories. They are added to `/run/cdi` on Talos ≥ 1.13, and to containerd's defaults on older
   * releases.
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
   * Owner of the machine's configuration. `owned`: this stack generates all of it. `adopted`: another tool generates
   * it, and the stack merges its part in. `omni`: Omni generates it, and the stack gives Omni patches.
   * @default the value of the pool or of `machineDefaults`; required in one of the three places
   * @example `adopted`
   * @causes a new configuration, with one reboot of a GPU machine; an update refuses to change `adopted` or `omni`:
   *   remove the machine in one update and add it in the next
   */
  configuration?: ConfigurationOwner;
  /**
   * Talos release of these machines, if it differs from the stack's, e.g. in a pool that is upgraded first. Either
   * both releases are older than Talos 1.13, or neither is: GPUs are offered in a different way from Talos 1.13 on.
   * @default the stack's `talosVersion`
   * @example `v1.12.7`
   * @causes one reboot of each machine that runs another release
   */
  talosVersion?: string;
  /**
   * NVIDIA driver of these machines. The stack's `driver` sets the fields that are missing here. `import` writes `{}`
   * for a machine whose image no file describes. The plan then chooses branch and flavour by the card, with a
   * warning, until you write the driver that the machine runs.
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
   * Names of further official extensions of the image. The package adds NVIDIA's, which follow from the card and the
   * driver.
   * @default none
   * @example `[siderolabs/iscsi-tools]`
   * @causes a new image, and with it one reboot of the machine
   */
  extensions?: string[];
  /**
   * Further kernel arguments of the image. A machine that boots with GRUB uses them only if its configuration sets
   * `machine.install.grubUseUKICmdline: true`. Without it, an update that adds a kernel argument stops before it
   * touches the machine.
   * @default none
   * @example `[pci=realloc]`
   * @causes a new image, and with it one reboot of the machine
   */
  kernelArgs?: string[];
  /**
   * Parameters of NVIDIA's kernel modules, by module. Talos loads the modules with them; a kernel argument such as
   * `nvidia_drm.modeset=1` has no effect.
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
   * Overlay of the image: the addition to Talos that a single-board computer needs to boot.
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
   * Installer image of your own instead of the Image Factory's, by tag or digest. Your imager or your Factory made it
   * with NVIDIA's extensions in it. Its other contents are unknown, so `extensions`, `kernelArgs`, `overlay`,
   * `customization`, `platform`, `secureBoot` and `drop` are refused together with it. The update verifies Talos' release, NVIDIA's modules, the branch of the driver and NVIDIA's services. To
   * change the Talos release, also change this image.
   * @default the Image Factory's image, made from the other fields of the machine
   * @example `registry.example.com/talos/installer:v1.13.6-nvidia-2`
   * @causes one reboot of the machine
   */
  installerImage?: string;
  /**
   * Parts of the machine's current image that an update may remove.
   * @default none: an update that would remove a part stops before the drain
   * @example `{ extensions: [siderolabs/iscsi-tools] }`
   * @causes nothing by itself: it allows the next image to lack these parts
   */
  drop?: DropSpec;
  /**
   * Further strategic-merge patches for the machine's configuration, each as YAML text, applied before the stack's
   * own. Put no secret in them.
   * @default none
   * @example `["machine: { sysctls: { vm.nr_hugepages: '1024' } }"]`
   * @causes a new configuration; one reboot of each GPU machine on Talos 1.13 and older, on newer releases only for
   *   changed modules and files
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
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  taints?: Record<string, string>;
  /**
   * Power limit of every card of the machine in watts.
   * @default the card's own limit
   * @example `250`
   * @causes a DaemonSet that sets the limit, without a reboot
   */
  powerLimit?: number;
  /**
   * Whether the machine, a worker, may be off during an update, e.g. because another system controls its power.
   * While its node is not ready and its Talos API does not answer, updates skip the machine and report that. It must be
   * online for the update that adds it. The program of the stacks and `GpuCluster.withFacts` find out whether it is
   * offline.
   * @default `false`
   * @example `true`
   * @causes nothing by itself
   */
  mayBeAway?: boolean;
  /**
   * Talos release that the machine runs today. With it, a first preview names the releases on the way to the wanted
   * one and refuses a downgrade. Without `versionContract` the configuration of an owned machine is generated for the
   * older of this release and the wanted one.
   * @default unknown: the upgrade reads it from the machine
   * @example `v1.11.5`
   * @causes one reboot of an owned machine, if Talos generates a different configuration for that release
   */
  runningVersion?: string;
  /**
   * Talos' version contract of an owned machine: the release whose defaults its generated configuration has. Write
   * the release that created the cluster, and keep it when `talosVersion` changes: Talos advises against a new
   * contract for an existing cluster. A machine gets its configuration before its upgrade, so the Talos that it still
   * runs must accept the contract. Talos before 1.12 refuses a contract of 1.12 or newer.
   * @default the older of `runningVersion` and `talosVersion`; a preview then refuses a change of `talosVersion` that
   * would change the contract
   * @example `v1.11`
   * @causes one reboot, if Talos generates a different configuration for that release
   */
  versionContract?: string;
  /**
   * Options of containerd. The package writes all of them into one file of the machine,
   * `/etc/cri/conf.d/20-customization.part`.
   * @default none
   * @example `{ cdiSpecDirs: [/var/cdi/static] }`
   * @causes a new configuration; one reboot of a GPU machine on Talos 1.13 and older
   */
  containerd?: ContainerdSpec;
}

/**
 * One Talos machine in a stack file, where `machineDefaults` may set its other fields. Its key in `machines` is its
 * node name.
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

/** One Talos machine, with role and owner. Its key in `machines` is its node name. */
export interface MachineSpec extends MachineEntrySpec {
  /**
   * Role of the machine in its cluster: `controlplane` or `worker`.
   * @example `worker`
   */
  role: MachineRole;
  /**
   * Owner of the machine's configuration. `owned`: this stack generates all of it. `adopted`: another tool generates
   * it, and the stack merges its part in. `omni`: Omni generates it, and the stack gives Omni patches.
   * @example `adopted`
   * @causes a new configuration, with one reboot of a GPU machine; an update refuses to change `adopted` or `omni`:
   *   remove the machine in one update and add it in the next
   */
  configuration: ConfigurationOwner;
}

/** Machines that are alike but for name and address. */
export interface PoolSpec extends MachineDefaultsSpec {
  /**
   * Pattern of the node names: the run of `#` becomes the machine's number, with at least as many digits.
   * @example `gpu-###`
   */
  names: string;
  /**
   * Addresses of the machines' Talos APIs, in the order of the machines' numbers: IPs, host names, and ranges of IPs.
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
