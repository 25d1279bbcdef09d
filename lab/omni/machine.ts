import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import { installerImage } from "../../components/recipe";
import type { Factory } from "../factory";
import type { Machines, MachineState } from "../machines";
import type { Resources, Target } from "./resources";

const run = promisify(execFile);

/** A machine that Omni manages. */
export interface ManagedMachine extends Target {
  name: string;
  address: string;
  talosVersion: string;
  /** File: its configuration without any patch. */
  config: string;
}

/** What Omni works with. */
export interface OmniParts {
  /** Folder for its files, which are secret. */
  dir: string;
  talosctl: string;
  /** File: credentials of the machine API. */
  talosconfig(): string;
  factory: Factory;
  machines: Machines;
  resources: Resources;
  signal: AbortSignal;
}

/** The kernel arguments that bring a machine to Omni, which every schematic of Omni's has. An address of RFC 5737. */
const siderolink = ["siderolink.api=grpc://192.0.2.2:8090", "talos.events.sink=[fdae:41e4:649b:9303::1]:8090"];

/** Milliseconds between two looks at a machine that reboots. */
const poll = 200;

/**
 * Brings one machine to what Omni's resources say, in Omni's order (siderolabs/omni,
 * internal/backend/runtime/omni/controllers/omni/machineconfig/status.go): the image first, by an upgrade, and the
 * configuration only once that runs, by apply-config in mode auto. So a machine whose image and files both change boots
 * twice. Locks, rolling strategies and retries are left out: a lab has few machines.
 */
export class OmniMachine {
  /** Whether the configuration is the one that was made last. */
  upToDate = true;
  lastError = "";
  private work: Promise<void> = Promise.resolve();

  constructor(
    readonly managed: ManagedMachine,
    private readonly parts: OmniParts,
  ) {}

  /** Something was written: look again, after what is under way. */
  changed(): void {
    this.upToDate = false;
    this.work = this.work
      .then(() => this.reconcile())
      .catch((error: Error) => {
        this.lastError = (error.message.split("\n").findLast((line) => line.trim() !== "") ?? "").trim();
      });
  }

  state(): Promise<MachineState> {
    return this.parts.machines.state().then((states) => states[this.managed.name]!);
  }

  private async reconcile(): Promise<void> {
    const { managed, parts } = this;
    parts.signal.throwIfAborted();
    const schematicId = parts.factory.register(omniSchematic(parts.resources.extensionsOf(managed)));
    const before = await this.state();
    if (before.schematicId !== schematicId || before.talosVersion !== managed.talosVersion) {
      const image = installerImage({
        factoryUrl: "https://factory.talos.dev",
        schematicId,
        talosVersion: managed.talosVersion,
        minor: Number(managed.talosVersion.split(".")[1]),
        platform: "metal",
        secureBoot: false,
      });
      await this.talosctl("upgrade", "--image", image, "--wait=false", "--drain=false", "--progress=plain", "--legacy");
      await this.booted(before.bootId);
    }
    const file = await this.configuration();
    // What needed a reboot is confirmed after it, by applying it once more.
    for (let bootId = await this.apply(file); bootId !== undefined; bootId = await this.apply(file)) {
      await this.booted(bootId);
    }
    this.lastError = "";
    this.upToDate = true;
  }

  /** The machine's configuration with every patch that reaches it, merged by Talos' own rules. */
  private async configuration(): Promise<string> {
    const { managed, parts } = this;
    await fs.mkdir(parts.dir, { recursive: true, mode: 0o700 });
    const file = (name: string): string => path.join(parts.dir, `${managed.name}-${name}.yaml`);
    const patches = parts.resources.patchesOf(managed);
    await Promise.all(patches.map((text, index) => fs.writeFile(file(`patch-${index}`), text, { mode: 0o600 })));
    const flags = patches.flatMap((_, index) => ["--patch", `@${file(`patch-${index}`)}`]);
    if (flags.length === 0) return managed.config;
    await run(parts.talosctl, ["machineconfig", "patch", managed.config, ...flags, "--output", file("made")]);
    return file("made");
  }

  /** Applies the configuration; gives the boot that it ends when the machine reboots for it. */
  private async apply(file: string): Promise<string | undefined> {
    for (;;) {
      this.parts.signal.throwIfAborted();
      const { bootId } = await this.state();
      try {
        const { stdout, stderr } = await this.talosctl("apply-config", "--mode", "auto", "--file", file);
        return /with a reboot/i.test(stdout + stderr) ? bootId : undefined;
      } catch (error) {
        if (!/code = (Unavailable|FailedPrecondition)/.test((error as Error).message)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, poll));
    }
  }

  /** Waits for another boot than `bootId`, as far as Omni does: `booting` is enough to apply a configuration. */
  private async booted(bootId: string): Promise<void> {
    for (;;) {
      this.parts.signal.throwIfAborted();
      const { stage, bootId: now } = await this.state();
      if (now !== bootId && (stage === "booting" || stage === "running")) return;
      await new Promise((resolve) => setTimeout(resolve, poll));
    }
  }

  private talosctl(...args: string[]): Promise<{ stdout: string; stderr: string }> {
    const { talosctl, talosconfig, signal } = this.parts;
    return run(talosctl, [...args, "--nodes", this.managed.address, "--talosconfig", talosconfig()], { signal });
  }
}

/** The image that Omni makes for a machine with these extensions. */
export function omniSchematic(extensions: string[]): string {
  const { customization } = parse("customization: {}") as { customization: object };
  return stringify({
    customization: {
      ...customization,
      extraKernelArgs: siderolink,
      ...(extensions.length > 0 ? { systemExtensions: { officialExtensions: [...extensions].sort() } } : {}),
    },
  });
}
