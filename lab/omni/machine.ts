import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { installerImage } from "../../components/recipe";
import { defined } from "../../components/recipe/mapping";
import type { Factory } from "../factory";
import type { Machines, MachineState } from "../machines";
import type { Resources, MachineLabels } from "./resources";

const run = promisify(execFile);

/** A machine that Omni manages. */
export interface ManagedMachine extends MachineLabels {
  name: string;
  address: string;
  talosVersion: string;
  /** Path of its configuration without patches. */
  config: string;
  /** Whether it is in the cluster when the lab begins. Otherwise it waits in maintenance mode until a user adds it. */
  member: boolean;
  /** Content of its boot medium or first image. Default: no extensions. */
  initial?: {
    extensions?: string[];
    kernelArgs?: string[];
    platform?: string;
    secureBoot?: boolean;
  };
}

/** Inputs of Omni. */
export interface OmniParts {
  /** Folder for its files, which are secret. */
  dir: string;
  talosctl: string;
  /** File: credentials of the machine API. */
  talosconfig(): string;
  factory: Factory;
  machines: Pick<Machines, "state" | "maintenance">;
  resources: Resources;
  /** Whether a machine's node is ready in Kubernetes. */
  nodeReady(name: string): Promise<boolean>;
  signal: AbortSignal;
}

/**
 * Kernel arguments with which a machine connects to Omni; every schematic of Omni has them. The address is from RFC
 * 5737.
 */
const siderolink = [
  "siderolink.api=grpc://192.0.2.2:8090",
  "talos.events.sink=[fdae:41e4:649b:9303::1]:8090",
];

/** Milliseconds between two calls to a rebooting machine. */
const pollInterval = 200;

/**
 * Applies Omni's resources to one machine, in Omni's order (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/ machineconfig/status.go): the image first, by an upgrade, then the
 * configuration, by apply-config in mode auto. So a machine whose image and files both change boots twice.
 *
 * A machine in no cluster gets nothing: patches and extensions wait for its ClusterMachine (clustermachine/patches.go,
 * machine_extensions.go). Once it is added, its first configuration, which names the image of its schematic
 * (cluster_machine_config.go), is applied in maintenance mode: Talos installs and boots once (lifecycle/decide.go,
 * DecideOp: OpNone for Talos ≤ 1.12). From 1.13 on Omni installs by LifecycleService.Install, also with one reboot:
 * that is refused here. Locks, rolling strategies and retries are left out.
 */
export class OmniMachine {
  member: boolean;
  /** Whether the machine has the newest configuration. */
  upToDate = true;
  lastError = "";
  private pendingWork: Promise<void> = Promise.resolve();

  constructor(
    readonly managed: ManagedMachine,
    private readonly parts: OmniParts,
  ) {
    this.member = managed.member;
  }

  /** Adds the machine to its machine set (MachineSetNode), as its owner does on Omni's page. */
  joinCluster(): void {
    this.member = true;
    this.scheduleReconcile();
  }

  /** Reads the resources again, once the present work is done. */
  scheduleReconcile(): void {
    if (!this.member) return;
    this.upToDate = false;
    this.pendingWork = this.pendingWork
      .then(() => this.reconcile())
      .catch((error: Error) => {
        this.lastError = (
          error.message.split("\n").findLast((line) => line.trim() !== "") ?? ""
        ).trim();
      });
  }

  state(): Promise<MachineState> {
    return this.parts.machines.state().then((states) => states[this.managed.name]!);
  }

  private async reconcile(): Promise<void> {
    const { managed, parts } = this;
    parts.signal.throwIfAborted();
    // Without any list of extensions, the initial extensions stay; a list replaces them. Omni keeps the other parts of
    // the machine's image (siderolabs/omni, schematic_configuration.go).
    const { extensions: initial = [], kernelArgs } = managed.initial ?? {};
    const extensions = parts.resources.extensionsOf(managed) ?? initial;
    const schematicId = parts.factory.register(omniSchematic(extensions, kernelArgs));
    const state = await this.state();
    const image = imageOf(managed, schematicId);
    if (state.stage === "maintenance") {
      await this.install(await this.configuration(image));
      this.lastError = "";
      this.upToDate = true;
      return;
    }
    if (state.schematicId !== schematicId || state.talosVersion !== managed.talosVersion) {
      await this.talosctl(
        "upgrade",
        "--image",
        image,
        "--wait=false",
        "--drain=false",
        "--progress=plain",
        "--legacy",
      );
      await this.waitForBoot(state.bootId);
    }
    const file = await this.configuration(image);
    // A second apply after the reboot confirms the configuration.
    for (
      let bootId = await this.apply(file);
      bootId !== undefined;
      bootId = await this.apply(file)
    ) {
      await this.waitForBoot(bootId);
    }
    this.lastError = "";
    this.upToDate = true;
  }

  /** Applies the first configuration in maintenance mode: without credentials, at the machine's own address. */
  private async install(file: string): Promise<void> {
    const { managed, parts } = this;
    if (Number(managed.talosVersion.split(".")[1]) > 12) {
      throw new Error(
        `the lab's Omni installs Talos ≤ 1.12 alone, not ${managed.talosVersion}; let the machine be a member`,
      );
    }
    const address = parts.machines.maintenance[managed.address]!;
    const flags = ["--insecure", "--nodes", address, "--mode", "auto", "--file", file];
    await run(parts.talosctl, ["apply-config", ...flags], { signal: parts.signal });
  }

  /** The machine's configuration with its image and all of its patches, merged by Talos' rules. */
  private async configuration(image: string): Promise<string> {
    const { managed, parts } = this;
    await fs.mkdir(parts.dir, { recursive: true, mode: 0o700 });
    const file = (name: string): string => path.join(parts.dir, `${managed.name}-${name}.yaml`);
    const patches = [
      stringify({ machine: { install: { image } } }),
      ...parts.resources.patchesOf(managed),
    ];
    await Promise.all(
      patches.map((text, index) => fs.writeFile(file(`patch-${index}`), text, { mode: 0o600 })),
    );
    const flags = patches.flatMap((_, index) => ["--patch", `@${file(`patch-${index}`)}`]);
    await run(parts.talosctl, [
      "machineconfig",
      "patch",
      managed.config,
      ...flags,
      "--output",
      file("made"),
    ]);
    return file("made");
  }

  /** Applies the configuration. If the machine reboots for it, gives the ID of the boot that ends. */
  private async apply(file: string): Promise<string | undefined> {
    for (;;) {
      this.parts.signal.throwIfAborted();
      const { bootId } = await this.state();
      try {
        const { stdout, stderr } = await this.talosctl(
          "apply-config",
          "--mode",
          "auto",
          "--file",
          file,
        );
        return /with a reboot/i.test(stdout + stderr) ? bootId : undefined;
      } catch (error) {
        if (!/code = (Unavailable|FailedPrecondition)/.test((error as Error).message)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pollInterval));
    }
  }

  /**
   * Waits for a boot ID other than `bootId`. Like Omni, it accepts the stage `booting`, in which a configuration can be
   * applied.
   */
  private async waitForBoot(bootId: string): Promise<void> {
    for (;;) {
      this.parts.signal.throwIfAborted();
      const { stage, bootId: newBootId } = await this.state();
      if (newBootId !== bootId && (stage === "booting" || stage === "running")) return;
      await new Promise((resolve) => setTimeout(resolve, pollInterval));
    }
  }

  private talosctl(...args: string[]): Promise<{ stdout: string; stderr: string }> {
    const { talosctl, talosconfig, signal } = this.parts;
    return run(
      talosctl,
      [...args, "--nodes", this.managed.address, "--talosconfig", talosconfig()],
      { signal },
    );
  }
}

/**
 * The installer for the machine's platform, signed if the machine uses Secure Boot (siderolabs/omni,
 * cluster_machine_config.go).
 */
function imageOf({ talosVersion, initial = {} }: ManagedMachine, schematicId: string): string {
  const { platform, secureBoot } = initial;
  return installerImage(schematicId, talosVersion, defined({ platform, secureBoot }));
}

/** Schematic (YAML) that Omni makes from a machine's extensions. Without extensions: that of the boot medium. */
export const omniSchematic = (extensions: string[], kernelArgs: string[] = []): string =>
  stringify({
    customization: {
      extraKernelArgs: [...siderolink, ...kernelArgs],
      ...(extensions.length > 0
        ? { systemExtensions: { officialExtensions: [...extensions].sort() } }
        : {}),
    },
  });
