import { CallError, type CallErrorKind } from "../../../components/clients/failure";
import {
  controlPlaneParts,
  isolatesWorkload,
  kubernetesImages,
} from "../../../components/clients/talos/configuration-text";
import type {
  EtcdMember,
  Machine,
  MachineStatus,
  ServiceState,
  StaticContainer,
} from "../../../components/clients/talos/talos-machine";
import type {
  Configurations,
  Ending,
  ImagePlace,
  InstallerPlace,
  UpgradeApi,
} from "../../../components/clients/machine";
import type { RunningImage } from "../../../components/recipe/machine/losses";
import type { FakeClock } from "./clock";
import { MODULES, schematics } from "./task";

const running: ServiceState = {
  state: "Running",
  failing: false,
  event: "Health check successful",
};

/** State of cri after workload isolation was added to the configuration without a boot (seen on Talos v1.14.1). */
export const waitingForSandbox: ServiceState = {
  state: "Waiting",
  failing: true,
  event: 'Waiting for service "sandboxd" to be registered',
};

const NVIDIA: Record<string, string> = {
  [schematics.gpu]: "570.211.01",
  [schematics.other]: "570.211.01",
};

/**
 * A machine in memory. It emulates what the phases depend on: after an upgrade the machine goes down, and comes
 * back with the new image, a new boot id and the staged configuration. After a rollback it has the old image. The
 * errors of its calls, the images on its disk and its console lines are those of Talos v1.13.0.
 */
export class FakeMachine implements Machine {
  talosVersion = "v1.12.4";
  running: RunningImage = {
    extensions: {},
    configuredArgs: [],
    platform: "metal",
    secureBoot: false,
  };
  schematicId: string | undefined = schematics.plain;
  boots = 1;
  stageName = "running";
  unmet: string[] = [];
  bootProblems: string[] = [];
  /** Stage in which a boot ends. */
  bootsTo = "running";
  down = false;
  active = "machine: {type: worker}\n";
  persistent = this.active;
  /** The active configuration at the beginning of the last boot. */
  bootedWith = this.active;
  /** State of the service cri. */
  cri: ServiceState = running;
  /** Seconds until Kubernetes' static pods run the images of a new configuration. */
  partsTake = 20;
  /** The configuration whose images the static pods run; undefined if it is the active one. */
  partsRun: string | undefined;
  /** Static pods that do not become ready. */
  unreadyParts: string[] = [];
  /** Whether the driver of the running image loads if the configuration asks for it. */
  driverWorks = true;
  /** The driver's version by Talos release, where it is not that of v1.12.6. */
  drivers: Record<string, string> = {};
  rollback = false;
  /** Seconds until a machine that runs is also ready. */
  readyAfter = 0;
  /** Lines of the console. */
  lines: string[] = [];
  /** Files on the machine, by path, in addition to those that show its driver. */
  files: Record<string, string> = {};
  /** Images on the disk. */
  disk: string[] = [];
  /** Whether the connection of `upgrade` by the newer API breaks before it asks for the reboot. */
  cutOff = false;
  /** The image that the next boot starts; undefined if it is the running one. */
  private next: string | undefined;
  /** The image that Talos boots if a boot fails. */
  private fallback: string | undefined;
  private runsSince = 0;
  /** Whether a staged configuration takes effect only at a boot. */
  needsBoot = false;
  /** Images that were pulled. */
  pulled: string[] = [];
  /** Number of the next calls of `pull` that hang until their limit. */
  hangingPulls = 0;
  /** Seconds from the request until the machine is down, and from there until its API answers. */
  timing = { install: 40, boot: 120 };
  members: EtcdMember[] = [
    { id: "1", hostname: "cp-1", learner: false, urls: ["https://10.0.0.1:2380"] },
  ];
  memberId: string | undefined = "1";
  etcdComplaints: string[] = [];
  /** State of the service etcd; undefined on a worker, which has no etcd. */
  etcdState: string | undefined;
  /** Machines at other addresses of the cluster. No other address answers. */
  readonly network: Record<string, FakeMachine> = {};
  /** Calls that change the machine, in order. */
  readonly calls: string[] = [];
  /** Called after each call that changed the machine. */
  afterCall: (call: string) => void = () => {};
  private readonly faults: {
    call: string;
    problem: CallErrorKind;
    times: number;
    effect: boolean;
  }[] = [];

  constructor(readonly clock: FakeClock) {}

  /**
   * Makes a call fail this many times. With `effect` the machine does what was asked, and only the answer is lost.
   */
  fail(call: string, problem: CallErrorKind, times = 1, effect = false): void {
    this.faults.push({ call, problem, times, effect });
  }

  async version(): Promise<string> {
    return this.ask("version", () => this.talosVersion);
  }
  async status(): Promise<MachineStatus> {
    return this.ask("status", () => {
      const ready =
        this.stageName === "running" &&
        this.clock.now() >= this.runsSince + this.readyAfter * 1_000;
      return { stage: this.stageName, ready, unmet: ready ? [] : this.unmet };
    });
  }
  async bootId(): Promise<string> {
    return this.ask("bootId", () => `boot-${this.boots}`);
  }
  async schematic(): Promise<string | undefined> {
    return this.ask("schematic", () => this.schematicId);
  }
  async image(): Promise<RunningImage> {
    return this.ask("image", () => this.running);
  }
  async read(path: string): Promise<string | undefined> {
    const driver = this.loadedDriver();
    return this.ask("read", () => {
      if (this.files[path] !== undefined) return this.files[path];
      if (path === "/proc/cmdline") return this.running.commandLine;
      if (driver === undefined)
        return path === "/proc/modules" ? "overlay 1 0 - Live 0x0\n" : undefined;
      if (path === "/proc/modules")
        return MODULES.map((name) => `${name} 62 0 - Live 0x0 (O)\n`).join("");
      return `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${driver}  Release Build  (builder@host)\nGCC version: x\n`;
    });
  }
  async services(): Promise<Record<string, string>> {
    return this.ask("services", () => ({
      ...(this.etcdState === undefined ? {} : { etcd: this.etcdState }),
      ...(this.bootProblems.length > 0 ? {} : { cri: "Running", kubelet: "Running" }),
      ...(NVIDIA[this.schematicId ?? ""] === undefined
        ? {}
        : { "ext-nvidia-persistenced": this.loadedDriver() === undefined ? "Waiting" : "Running" }),
      ...(/^v1\.1[34]\./.test(this.talosVersion) && this.loadedDriver() !== undefined
        ? { "ext-nvidia-cdi-gen": "Finished" }
        : {}),
    }));
  }
  async service(name: string): Promise<ServiceState | undefined> {
    return this.ask("service", () => {
      const isolates = isolatesWorkload(this.bootedWith);
      if (name === "sandboxd")
        return isolates ? { state: "Running", failing: false, event: "" } : undefined;
      return this.bootProblems.length > 0 ? undefined : this.cri;
    });
  }
  async console(): Promise<string[]> {
    return this.ask("console", () => this.lines);
  }
  async isUnconfirmed(): Promise<boolean> {
    return this.ask("isUnconfirmed", () => this.fallback !== undefined && this.next === undefined);
  }
  async bootErrors(): Promise<string[]> {
    return this.ask("bootErrors", () => this.bootProblems);
  }
  async configurations(): Promise<Configurations> {
    return this.ask("configurations", () => ({ active: this.active, persistent: this.persistent }));
  }
  async stage(configuration: string): Promise<void> {
    return this.act("stage", () => void (this.persistent = configuration));
  }
  async activate(configuration: string): Promise<void> {
    return this.act("activate", () => {
      if (this.needsBoot)
        throw new CallError("refused", "this config change can't be applied in immediate mode");
      this.partsRun = this.active;
      this.clock.after(this.partsTake, () => (this.partsRun = undefined));
      this.active = this.persistent = configuration;
      // Talos v1.14.1 does this if containerd starts again.
      if (isolatesWorkload(configuration) && !isolatesWorkload(this.bootedWith))
        this.cri = waitingForSandbox;
    });
  }
  async staticPods(): Promise<StaticContainer[]> {
    return this.ask("staticPods", () => {
      const images = kubernetesImages(this.partsRun ?? this.active);
      return controlPlaneParts.flatMap((name) => {
        const image = images[name];
        const ready = !this.unreadyParts.includes(name);
        return image === undefined ? [] : [{ name, image, ready }];
      });
    });
  }
  async pull(image: string, place: ImagePlace, limit: number, ending?: Ending): Promise<void> {
    if (this.hangingPulls-- > 0) {
      const end = this.clock.now() + limit; // talosctl is killed at this time
      do await this.clock.sleep(Math.min(ending?.every ?? limit, end - this.clock.now()));
      while (this.clock.now() < end && !(await ending?.ends()));
      throw new CallError("unreachable", `talosctl image did not end within ${limit} ms`);
    }
    return this.act(
      `pull ${image}${{ disk: "", memory: " into memory", pods: " for pods" }[place]}`,
      () => void this.pulled.push(image),
    );
  }
  async hasPulled(image: string): Promise<boolean> {
    return this.pulled.includes(image);
  }
  async upgrade(image: string, place: InstallerPlace, api: UpgradeApi): Promise<void> {
    return this.act(`upgrade ${api}${place === "disk" ? "" : " from memory"}`, () => {
      this.install(image);
      if (api === "legacy") return this.goDown();
      this.lines.push(`starting upgrade: installer_image=${image}, disk=/dev/vda`);
      this.lines.push("upgrade completed successfully: exit_code=0");
      if (this.cutOff) throw new CallError("unreachable", "connection reset");
      return this.goDown();
    });
  }
  async reboot(): Promise<void> {
    return this.act("reboot", () => this.goDown());
  }
  async etcdMembers(): Promise<EtcdMember[]> {
    return this.ask("etcdMembers", () => this.members);
  }
  async etcdProblems(): Promise<string[]> {
    return this.ask("etcdProblems", () => this.etcdComplaints);
  }
  async etcdMember(): Promise<string | undefined> {
    return this.ask("etcdMember", () => this.memberId);
  }
  at(address: string): FakeMachine {
    const nothing = new FakeMachine(this.clock);
    nothing.down = true;
    return this.network[address] ?? nothing;
  }

  /** Sets the image of the next boot. Apart from it, only the fallback image stays on the disk. */
  install(reference: string): void {
    this.fallback = this.next ?? `${this.schematicId}:${this.talosVersion}`;
    this.next = reference.split("/").at(-1)!;
    this.disk = [this.fallback, this.next];
  }

  /** Boots the machine until its API answers. */
  boot(): void {
    this.down = false;
    this.boots++;
    this.lines = [];
    this.stageName = "booting";
    this.active = this.bootedWith = this.persistent;
    this.cri = running;
    this.partsRun = undefined;
    if (this.next !== undefined && !this.rollback)
      [this.schematicId, this.talosVersion] = this.next.split(":") as [string, string];
    this.next = undefined;
  }

  private goDown(): void {
    // The boot failed.
    if (this.bootProblems.length > 0) [this.next, this.fallback] = [this.fallback, undefined];
    this.stageName = this.next === undefined ? "rebooting" : "upgrading";
    this.clock.after(this.timing.install, () => (this.down = true));
    this.clock.after(this.timing.install + this.timing.boot, () => {
      this.boot();
    });
    this.clock.after(this.timing.install + this.timing.boot + 20, () => {
      if (this.stageName !== "booting" || this.unmet.length > 0) return;
      this.stageName = this.bootsTo;
      this.runsSince = this.clock.now();
      this.fallback = undefined;
    });
  }

  private loadedDriver(): string | undefined {
    return this.driverWorks && this.active.includes("nvidia")
      ? NVIDIA[this.schematicId ?? ""] && (this.drivers[this.talosVersion] ?? "570.211.01")
      : undefined;
  }

  private async ask<T>(call: string, answer: () => T): Promise<T> {
    if (this.down) throw new CallError("unreachable", "connection refused");
    this.throwFault(call, () => {});
    return answer();
  }

  private async act(call: string, effect: () => void): Promise<void> {
    if (this.down) throw new CallError("unreachable", "connection refused");
    this.calls.push(call);
    this.throwFault(call.split(" ")[0]!, effect);
    effect();
    this.afterCall(call.split(" ")[0]!);
  }

  private throwFault(call: string, effect: () => void): void {
    const fault = this.faults.find((item) => item.call === call && item.times > 0);
    if (fault === undefined) return;
    fault.times--;
    if (fault.effect) effect();
    throw new CallError(fault.problem, `${call}: ${fault.problem}`);
  }
}
