import * as semver from "semver";
import type { RunningImage } from "../../recipe/machine/losses";
import { defined } from "../../recipe/mapping";
import { imageId } from "../../recipe/machine/schematic";
import { bootErrorsOf, consoleLines } from "./console";
import { bootPartitionOf, bootsByGrub, takesImageArgs } from "./boot-loader";
import { volumesWithTpmKey } from "../../recipe/machine/secure-boot";
import { hasArgsConflict, installArgs, valuesOf } from "./configuration-text";
import { CallError, lastLine } from "../failure";
import type { SecretFiles } from "../secret-files";
import type { Configurations, Ending, ImagePlace, InstallerPlace, UpgradeApi } from "../machine";
import { hex, isNvidiaCard, type PciDevice } from "./pci-device";
import type { Talosctl } from "./talosctl";
import {
  configurationText,
  parseResources,
  parseTable,
  parseVersion,
  type Resource,
} from "./talosctl-output";

/** Time limit in milliseconds for a call that only reads. */
const ASK = 30_000;

/** Time limit in milliseconds for a call that sends a configuration or a request. */
const HAND_OVER = 120_000;

/** First release of talosctl whose `upgrade` uses the lifecycle API, and by default drains the node itself. */
const DRAINING_CLIENT = "1.13.0-beta.0";

/** The configuration on disk (talos v1.9.6, pkg/machinery/constants: StateMountPoint, ConfigFilename). */
const onDisk = "/system/state/config.yaml";

/** Stage of a machine's boot, in Talos' terms. */
export interface MachineStatus {
  /** Stage, e.g. `running`, `booting`. */
  stage: string;
  ready: boolean;
  /** Conditions that a machine must still meet before it is ready. */
  unmet: string[];
}

/** A member of etcd, as Talos lists it. */
export interface EtcdMember {
  id: string;
  hostname: string;
  learner: boolean;
  /** URLs at which other members and clients reach this member. */
  urls: string[];
}

/** Calls to one Talos machine; tests implement them in memory. Each call throws CallError. */
export interface Machine {
  /** Release that runs, e.g. `v1.12.6`. */
  version(): Promise<string>;
  /** Stage of the boot. */
  status(): Promise<MachineStatus>;
  /** ID of the current boot, which changes with every boot. */
  bootId(): Promise<string>;
  /**
   * ID of the running schematic with its extensions sorted (`imageId`); undefined if no Image Factory made the image.
   */
  schematic(): Promise<string | undefined>;
  /** Kubeconfig of the cluster's administrator, which a control plane makes. */
  adminKubeconfig(): Promise<string>;
  /** Facts about the running image, to compare it with the next one. */
  image(): Promise<RunningImage>;
  /** Lines of the console of this boot, as far as the kernel still has them. */
  console(): Promise<string[]>;
  /**
   * Lines of this boot about installed images, with other lines between them: the console, then machined's log. Talos
   * 1.13 writes about an installation on the console, Talos 1.14 in machined's log. Failed pulls are on the console.
   */
  installationLog(): Promise<string[]>;
  /** Why the machine's boot does not go on, in Talos' own lines; empty if it goes on. */
  bootErrors(): Promise<string[]>;
  /**
   * Whether the machine runs an upgrade that Talos has not confirmed yet. If a boot then fails, Talos rolls back to the
   * previous image.
   */
  isUnconfirmed(): Promise<boolean>;
  /** Content of a file; undefined if it is missing. */
  read(path: string): Promise<string | undefined>;
  /** State of every service by name, e.g. `Running`. */
  services(): Promise<Record<string, string>>;
  /** A service of Talos; undefined if Talos has not started the service in this boot. */
  service(name: string): Promise<ServiceState | undefined>;
  /** The active configuration, and the configuration of the next boot. */
  configurations(): Promise<Configurations>;
  /** Stages `configuration` for the next boot; until then nothing changes. */
  stage(configuration: string): Promise<void>;
  /** Puts `configuration` into effect at once, without a reboot; Talos refuses a configuration that needs a reboot. */
  activate(configuration: string): Promise<void>;
  /** Whether the machine's disk has an image from an earlier pull. */
  hasPulled(image: string, place?: "disk" | "pods"): Promise<boolean>;
  /**
   * Brings an image onto the machine.
   *
   * @param limit time limit in milliseconds.
   * @param ending condition that ends the call before its limit. Default never.
   */
  pull(image: string, place: ImagePlace, limit: number, ending?: Ending): Promise<void>;
  /**
   * Starts the upgrade; resolves when the machine has accepted it. The machine then reboots by itself.
   *
   * @param limit time limit in milliseconds.
   */
  upgrade(image: string, place: InstallerPlace, api: UpgradeApi, limit: number): Promise<void>;
  /** Starts a reboot. */
  reboot(): Promise<void>;
  /** Members of etcd; only a control plane lists them. */
  etcdMembers(): Promise<EtcdMember[]>;
  /** ID of this machine's etcd member, as in `etcdMembers`; undefined if etcd gives no status. */
  etcdMember(): Promise<string | undefined>;
  /** The machine at another address, with the same credentials. */
  at(address: string): Machine;
  /** Problems of this machine's etcd member; empty if it is healthy. */
  etcdProblems(): Promise<string[]>;
  /** Containers of a control plane's static pods; empty on a worker, and while the kubelet does not run. */
  staticPods(): Promise<StaticContainer[]>;
  /** Kubernetes manifests that Talos makes from the machine's configuration; empty on a worker. */
  manifests(): Promise<KubernetesManifest[]>;
}

/** A Kubernetes manifest that Talos makes. It may contain secrets. */
export interface KubernetesManifest {
  /** Talos' name for the manifest, e.g. `10-kube-proxy`. */
  id: string;
  objects: KubernetesManifestObject[];
}

/** An object of a Kubernetes manifest. */
export interface KubernetesManifestObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; [key: string]: unknown };
  [key: string]: unknown;
}

/** A container of a static pod. */
export interface StaticContainer {
  /** Name of the container, e.g. `kube-apiserver`. */
  name: string;
  /** Image that the container runs, as containerd names it. */
  image: string;
  /** Whether its pod is ready. */
  ready: boolean;
}

/** A service of Talos. */
export interface ServiceState {
  /** State of the service, e.g. `Running`, `Waiting`. */
  state: string;
  /** Whether Talos' health check of the service has failed. */
  failing: boolean;
  /** Last event, e.g. `Health check successful`. */
  event: string;
}

/**
 * talosctl's option `--namespace` for each place of an image (talos v1.13.0, cmd/talosctl/cmd/talos/upgrade.go and
 * image.go).
 */
const namespaces: Record<ImagePlace, string> = { disk: "system", memory: "inmem", pods: "cri" };

/** The part of a static pod's status that `staticPods` reads (kubernetes, core/v1 PodStatus). */
interface StaticPodStatus {
  conditions?: { type: string; status: string }[];
  containerStatuses?: { name: string; image: string }[];
}

/** A machine through talosctl. */
export class TalosMachine implements Machine {
  constructor(
    private readonly talosctl: Talosctl,
    private readonly address: string,
    private readonly files: SecretFiles,
  ) {}

  /** Release that runs, e.g. `v1.12.6`. */
  async version(): Promise<string> {
    return parseVersion(await this.ask("version", "--json"));
  }

  async status() {
    const [status] = parseResources(await this.ask("get", "machinestatus", "-o", "json"));
    const unmet: { name: string; reason: string }[] = status?.spec?.status?.unmetConditions ?? [];
    return {
      /** Stage, e.g. `running`, `booting`, `upgrading`, `rebooting`, `maintenance`. */
      stage: String(status?.spec?.stage ?? "unknown"),
      /** Whether everything that must run in this stage is up. */
      ready: status?.spec?.status?.ready === true,
      /** Talos' reasons why the machine is not ready. */
      unmet: unmet.map(({ name, reason }) => `${name}: ${reason}`),
    };
  }

  /** ID of the current boot, which changes with every boot. */
  async bootId(): Promise<string> {
    return (await this.ask("read", "/proc/sys/kernel/random/boot_id")).trim();
  }

  /**
   * ID of the running schematic, with its extensions sorted (`imageId`); undefined if no Image Factory made the image.
   */
  async schematic(): Promise<string | undefined> {
    return (await this.extensions()).image;
  }

  /**
   * Names of the running image's extensions, the ID of its schematic, and the ID by which this package compares images
   * (`imageId`).
   */
  async extensions(): Promise<{ names: string[]; schematic?: string; image?: string }> {
    const layers = await this.layers();
    const schematic = layers.find(({ name }) => name === "schematic");
    const { version: id } = schematic ?? {};
    return {
      names: layers.filter((layer) => layer !== schematic).map(({ name = "" }) => name),
      ...defined({ schematic: id, image: id && imageId(id, schematic?.extraInfo) }),
    };
  }

  /**
   * Layers of the image, including the Image Factory's virtual extension `schematic`. The version of this extension is
   * the schematic's ID, and its extra info is the schematic's text (image-factory, internal/artifacts).
   */
  private async layers(): Promise<{ name?: string; version?: string; extraInfo?: string }[]> {
    return (await this.resources("extensions")).map(({ spec }) => spec?.metadata ?? {});
  }

  adminKubeconfig(): Promise<string> {
    return this.ask("kubeconfig", "-", "--merge=false");
  }

  async resources(type: string): Promise<Resource[]> {
    return parseResources(await this.ask("get", type, "-o", "json"));
  }

  /** PCI IDs of NVIDIA's cards in the machine, with or without a driver, e.g. `10de:2204`. */
  async cards(): Promise<string[]> {
    const devices = await this.resources("pcidevices");
    return devices
      .filter(({ spec }) => isNvidiaCard(spec ?? {}))
      .map(({ spec }) => `10de:${hex((spec as PciDevice).product_id) ?? ""}`);
  }

  /** Facts about the running image, to compare it with the next one. */
  async image(): Promise<RunningImage> {
    const metadata = await this.layers();
    const schematic = metadata.find(({ name }) => name === "schematic")?.extraInfo;
    const [platformResource] = parseResources(
      await this.ask("get", "platformmetadata", "-o", "json"),
    );
    const platform = platformResource?.spec?.platform as string | undefined;
    const [security] = parseResources(await this.ask("get", "securitystate", "-o", "json"));
    const { active = "", persistent = active } = await this.configurations();
    const commandLine = await this.read("/proc/cmdline");
    const volumes = await this.resources("discoveredvolumes");
    const isArgsOfImage = takesImageArgs(active, bootsByGrub(volumes));
    return {
      ...defined({ schematic: schematic || undefined, commandLine: commandLine?.trim() }),
      extensions: Object.fromEntries(
        metadata.map(({ name = "", version = "" }) => [name, version]),
      ),
      // A boot loader that uses the image's arguments never reads those of the configuration.
      configuredArgs: isArgsOfImage ? [] : installArgs(persistent),
      // Talos' installer checks `machine.install` only on metal (talos v1.13.0, runtime/mode.go, RequiresInstall).
      ...(platform === "metal" && [active, persistent].some(hasArgsConflict)
        ? { hasArgsConflict: true }
        : {}),
      ...defined({
        bootArgs: isArgsOfImage ? undefined : installArgs(active),
        bootPartition: bootPartitionOf(volumes),
        platform,
        secureBoot: security?.spec?.secureBoot as boolean | undefined,
      }),
      tpmVolumes: volumesWithTpmKey(valuesOf(active)).flatMap(({ name, hasOnlyTpmKey }) =>
        hasOnlyTpmKey ? [name] : [],
      ),
    };
  }

  /** Lines of the console of this boot, as far as the kernel still has them. */
  async console(): Promise<string[]> {
    return consoleLines(await this.log()); // the kernel's log, which has Talos' own lines, and only this boot's
  }

  async installationLog(): Promise<string[]> {
    const lines = await this.console();
    return [...lines, ...consoleLines(await this.log("machined"))];
  }

  /** Why the machine's boot does not go on, in Talos' own lines; empty if it goes on. */
  async bootErrors(): Promise<string[]> {
    return bootErrorsOf(await this.console());
  }

  /** The unchanged log of a service or of the kernel. */
  log(service?: string, lines = -1): Promise<string> {
    return service === undefined
      ? this.ask("dmesg")
      : this.ask("logs", service, "--tail", String(lines));
  }

  async lastWords(service: string): Promise<string[]> {
    return (await this.log(service, 20)).split("\n").filter((line) => line.trim() !== "");
  }

  /**
   * Whether the machine runs an upgrade that Talos has not confirmed yet. If a boot then fails, Talos rolls back to the
   * previous image.
   */
  async isUnconfirmed(): Promise<boolean> {
    // The installer stores the previous boot entry under this key; Talos reads it at boot, and deletes it once the
    // machine runs and is ready (talos v1.13.0, pkg/machinery/meta/constants.go, and
    // controllers/runtime/drop_upgrade_fallback.go). talosctl's JSON shows `0x06` as a number (seen on Talos v1.13.0).
    return (await this.resources("metakeys")).some(({ metadata }) => Number(metadata.id) === 6);
  }

  /** Content of a file; undefined if the file does not exist. */
  async read(path: string): Promise<string | undefined> {
    try {
      return await this.ask("read", path);
    } catch (error) {
      if (error instanceof CallError && error.problem === "missing") return undefined;
      throw error;
    }
  }

  /** State of every service by name, e.g. `Running`. */
  async services(): Promise<Record<string, string>> {
    const rows = parseTable(await this.ask("services"));
    return Object.fromEntries(rows.map((row) => [row["SERVICE"] ?? "", row["STATE"] ?? ""]));
  }

  /** A service of Talos; undefined if Talos has not started it in this boot. */
  async service(name: string): Promise<ServiceState | undefined> {
    const rows = parseTable(await this.ask("services"));
    const row = rows.find(({ SERVICE }) => SERVICE === name);
    return row
      ? {
          state: row["STATE"] ?? "",
          failing: row["HEALTH"] === "Fail",
          event: row["LAST EVENT"] ?? "",
        }
      : undefined;
  }

  async configurations(): Promise<Configurations> {
    const resources = parseResources(await this.ask("get", "machineconfig", "-o", "json"));
    const text = (id: string): string | undefined => {
      const resource = resources.find(({ metadata }) => metadata.id === id);
      return resource === undefined ? undefined : configurationText(resource);
    };
    const active = text("v1alpha1");
    // Talos < 1.10 has no such resource (talos v1.9.6 and v1.10.0, pkg/machinery/resources/config/machine_config.go),
    // and stores the configuration of the next boot in a file.
    const persistent =
      text("persistent") ?? (active === undefined ? undefined : await this.read(onDisk));
    return defined({ active, persistent });
  }

  /** Stages `configuration` for the next boot; until then nothing changes. */
  stage(configuration: string): Promise<void> {
    return this.apply("staged", configuration);
  }

  /** Puts `configuration` into effect at once, without a reboot; Talos refuses a configuration that needs a reboot. */
  activate(configuration: string): Promise<void> {
    return this.apply("no-reboot", configuration);
  }

  /** Whether the machine's disk has an image from an earlier pull. */
  async hasPulled(image: string, place: "disk" | "pods" = "disk"): Promise<boolean> {
    try {
      const images = parseTable(await this.ask("image", "list", "--namespace", namespaces[place]));
      return images.some(({ IMAGE }) => IMAGE === image);
    } catch (error) {
      if (error instanceof CallError && error.problem === "unimplemented") return false;
      throw error;
    }
  }

  /**
   * Brings an image onto the machine.
   *
   * @param ending condition that ends the call before its limit. Default never.
   */
  async pull(image: string, place: ImagePlace, limit: number, ending?: Ending): Promise<void> {
    // `system`: Talos 1.13 and newer store installers there. In older releases this pull only checks the
    // registry: the upgrade pulls the installer once more, into memory (seen on Talos v1.12.6; talos v1.12.6,
    // internal/pkg/install/pull.go).
    const args = [
      "image",
      "pull",
      image,
      "--namespace",
      namespaces[place],
      "--nodes",
      this.address,
    ];
    await this.talosctl.run(args, limit, ending);
  }

  /** Starts the upgrade; resolves when the machine has accepted it. The machine then reboots by itself. */
  async upgrade(
    image: string,
    place: InstallerPlace,
    api: UpgradeApi,
    limit: number,
  ): Promise<void> {
    // This program itself drains the node and tracks the reboot. Talos reboots after the legacy call; after the new one
    // talosctl requests the reboot.
    const canDrain = semver.gte(await this.talosctl.version(), DRAINING_CLIENT);
    const flags = canDrain
      ? ["--drain=false", "--progress=plain", ...(api === "legacy" ? ["--legacy"] : [])]
      : [];
    const namespaceArgs = place === "disk" ? [] : ["--namespace", namespaces[place]];
    await this.call(limit, "upgrade", "--image", image, "--wait=false", ...flags, ...namespaceArgs);
  }

  async reboot(): Promise<void> {
    await this.call(HAND_OVER, "reboot", "--wait=false");
  }

  async etcdMembers() {
    return parseTable(await this.ask("etcd", "members")).map((row) => ({
      id: row["ID"] ?? "",
      hostname: row["HOSTNAME"] ?? "",
      /** A learner does not vote yet. */
      learner: row["LEARNER"] === "true",
      // URLs at which other members and clients reach it, separated by commas (talos v1.13.0
      // cmd/talosctl/cmd/talos/etcd.go). A member that has not started has no client URL yet.
      urls: [row["PEER URLS"] ?? "", row["CLIENT URLS"] ?? ""]
        .flatMap((cell) => cell.split(","))
        .filter(Boolean),
    }));
  }

  /** ID of this machine's etcd member, as in `etcdMembers`; undefined if etcd gives no status. */
  async etcdMember(): Promise<string | undefined> {
    return parseTable(await this.ask("etcd", "status"))[0]?.["MEMBER"] || undefined;
  }

  /** The machine at another address, with the same credentials. */
  at(address: string): Machine {
    return new TalosMachine(this.talosctl, address, this.files);
  }

  /** Problems that this machine's etcd member reports; empty if it is healthy. */
  async etcdProblems(): Promise<string[]> {
    try {
      const [row] = parseTable(await this.ask("etcd", "status"));
      if (row === undefined) return ["it gives no status"];
      return [
        ...(row["ERRORS"] ? [row["ERRORS"]] : []),
        ...(/^0*$/.test(row["LEADER"] ?? "") ? ["it sees no leader"] : []),
      ];
    } catch (error) {
      if (error instanceof CallError && error.problem === "refused") return [lastLine(error)];
      throw error;
    }
  }

  /**
   * Containers of a control plane's static pods, as the kubelet reports them to Talos. Talos asks the kubelet every 15
   * seconds, and only on a control plane (talos v1.13.0 controllers/k8s/kubelet_static_pod.go). So this works without
   * kube-apiserver. Talos' copy has no annotations, so only the image's tag shows the version.
   */
  async staticPods(): Promise<StaticContainer[]> {
    return (await this.resources("staticpodstatuses")).flatMap(({ spec }) => {
      const { conditions = [], containerStatuses = [] } = (spec ?? {}) as StaticPodStatus;
      const ready = conditions.some(({ type, status }) => type === "Ready" && status === "True");
      return containerStatuses.map(({ name, image }) => ({ name, image, ready }));
    });
  }

  async manifests(): Promise<KubernetesManifest[]> {
    return (await this.resources("manifests")).map(({ metadata, spec }) => ({
      id: String(metadata.id),
      objects: spec as KubernetesManifestObject[],
    }));
  }

  private async apply(mode: string, configuration: string): Promise<void> {
    const file = this.files.write("machine.yaml", configuration);
    try {
      await this.call(HAND_OVER, "apply-config", "--mode", mode, "--file", file);
    } finally {
      this.files.remove("machine.yaml");
    }
  }

  private ask(...args: string[]): Promise<string> {
    return this.call(ASK, ...args);
  }

  private call(limit: number, ...args: string[]): Promise<string> {
    return this.talosctl.run([...args, "--nodes", this.address], limit);
  }
}
