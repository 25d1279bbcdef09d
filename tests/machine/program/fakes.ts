import type { Clock } from "../../../components/machine/program/clock";
import { CallError, type CallProblem } from "../../../components/machine/program/failure";
import type {
  Cluster,
  Configurations,
  EtcdMember,
  Machine,
  MachineStatus,
  NodeState,
  PodState,
  UpgradeApi,
} from "../../../components/machine/program/machine";
import { upgradeTask, type UpgradeTask } from "../../../components/machine/program/task";

/** Thrown where a test kills the program. */
export class Killed extends Error {}

/** A clock that goes as fast as it is asked to, and does what is due on its way. */
export class FakeClock implements Clock {
  private time = 0;
  private due: { at: number; what: () => void }[] = [];

  now(): number {
    return this.time;
  }

  async sleep(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.due.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.due = this.due.filter((item) => item !== next);
      this.time = next.at;
      next.what();
    }
    this.time = end;
  }

  after(seconds: number, what: () => void): void {
    this.due.push({ at: this.time + seconds * 1_000, what });
  }
}

export const schematics = { plain: "3".repeat(64), gpu: "a".repeat(64), other: "b".repeat(64) };
const NVIDIA: Record<string, string> = { [schematics.gpu]: "570.211.01", [schematics.other]: "570.211.01" };
const MODULES = ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"];

/**
 * A machine in memory. Emulates what the phases depend on: an upgrade takes an image on, then the machine goes down and
 * comes back with a new boot id and whatever was staged, with the old image after a rollback.
 */
export class FakeMachine implements Machine {
  talosVersion = "v1.12.4";
  schematicId: string | undefined = schematics.plain;
  boots = 1;
  stageName = "running";
  unmet: string[] = [];
  bootProblems: string[] = [];
  down = false;
  active = "machine: {type: worker}\n";
  persistent = this.active;
  /** Whether the driver of the running image is loaded, given that the configuration asks for it. */
  driverWorks = true;
  rollback = false;
  /** Whether what is staged takes effect only at boot. */
  needsBoot = false;
  /** Calls of `pull` that never come back. */
  hangingPulls = 0;
  /** Seconds from the request to the way down, and from there to running. */
  timing = { install: 40, boot: 120 };
  members: EtcdMember[] = [{ id: "1", hostname: "cp-1", learner: false }];
  etcdComplaints: string[] = [];
  /** Mutating calls, in order. */
  readonly calls: string[] = [];
  /** Called after every mutating call took effect. */
  afterCall: (call: string) => void = () => {};
  private readonly faults: { call: string; problem: CallProblem; times: number; effect: boolean }[] = [];

  constructor(readonly clock: FakeClock) {}

  /** Makes a call fail so many times; with `effect` it is done all the same and only the answer is lost. */
  fail(call: string, problem: CallProblem, times = 1, effect = false): void {
    this.faults.push({ call, problem, times, effect });
  }

  async version(): Promise<string> {
    return this.ask("version", () => this.talosVersion);
  }
  async status(): Promise<MachineStatus> {
    return this.ask("status", () => ({ stage: this.stageName, unmet: this.unmet }));
  }
  async bootId(): Promise<string> {
    return this.ask("bootId", () => `boot-${this.boots}`);
  }
  async schematic(): Promise<string | undefined> {
    return this.ask("schematic", () => this.schematicId);
  }
  async read(path: string): Promise<string | undefined> {
    const driver = this.loadedDriver();
    return this.ask("read", () => {
      if (driver === undefined) return path === "/proc/modules" ? "overlay 1 0 - Live 0x0\n" : undefined;
      if (path === "/proc/modules") return MODULES.map((name) => `${name} 62 0 - Live 0x0 (O)\n`).join("");
      return `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${driver}  Release Build  (builder@host)\nGCC version: x\n`;
    });
  }
  async services(): Promise<Record<string, string>> {
    return this.ask("services", () =>
      this.loadedDriver() === undefined ? {} : { "ext-nvidia-persistenced": "Running" },
    );
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
      if (this.needsBoot) throw new CallError("refused", "this config change can't be applied in immediate mode");
      this.active = this.persistent = configuration;
    });
  }
  async pull(image: string, limit: number): Promise<void> {
    if (this.hangingPulls-- > 0) {
      await this.clock.sleep(limit); // as talosctl is ended at its limit
      throw new CallError("unreachable", `talosctl image did not end within ${limit} ms`);
    }
    return this.act(`pull ${image}`, () => {});
  }
  async upgrade(image: string, api: UpgradeApi): Promise<void> {
    return this.act(`upgrade ${api}`, () => this.goDown(image));
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

  private goDown(image?: string): void {
    this.stageName = image === undefined ? "rebooting" : "upgrading";
    this.clock.after(this.timing.install, () => (this.down = true));
    this.clock.after(this.timing.install + this.timing.boot, () => {
      this.down = false;
      this.boots++;
      this.stageName = "booting";
      this.active = this.persistent;
      if (image !== undefined && !this.rollback) {
        const [, id, version] = /\/([0-9a-f]{64}):(v.*)$/.exec(image)!;
        [this.schematicId, this.talosVersion] = [id, version!];
      }
    });
    this.clock.after(this.timing.install + this.timing.boot + 20, () => {
      if (this.stageName === "booting" && this.unmet.length === 0) this.stageName = "running";
    });
  }

  private loadedDriver(): string | undefined {
    return this.driverWorks && this.active.includes("nvidia") ? NVIDIA[this.schematicId ?? ""] : undefined;
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

/** Kubernetes in memory, with one node. */
export class FakeCluster implements Cluster {
  state: NodeState | undefined = { unschedulable: false, annotations: {}, ready: true };
  podList: PodState[] = [];
  /** Why an eviction is refused, by pod name. */
  readonly budgets: Record<string, string> = {};
  readonly calls: string[] = [];
  afterCall: (call: string) => void = () => {};
  unreachable = false;
  alone = false;

  constructor(
    private readonly clock: FakeClock,
    private readonly machine: FakeMachine,
  ) {}

  async node(): Promise<NodeState | undefined> {
    if (this.unreachable) throw new CallError("unreachable", "Kubernetes: no answer");
    return (
      this.state && {
        ...this.state,
        ready: this.state.ready && !this.machine.down && this.machine.stageName === "running",
      }
    );
  }
  async isAlone(): Promise<boolean> {
    return this.alone;
  }
  async cordon(_name: string, annotation: string, value: string): Promise<void> {
    this.state = {
      ...this.state!,
      unschedulable: true,
      annotations: { ...this.state!.annotations, [annotation]: value },
    };
    this.done("cordon");
  }
  async uncordon(_name: string, annotation: string): Promise<void> {
    const { [annotation]: _gone, ...annotations } = this.state!.annotations;
    this.state = { ...this.state!, unschedulable: false, annotations };
    this.done("uncordon");
  }
  async pods(): Promise<PodState[]> {
    return this.podList;
  }
  async evict(pod: PodState): Promise<{ refused?: string }> {
    const refused = this.budgets[pod.name];
    if (refused !== undefined) return { refused };
    this.clock.after(10, () => (this.podList = this.podList.filter(({ uid }) => uid !== pod.uid)));
    this.done(`evict ${pod.name}`);
    return {};
  }

  private done(call: string): void {
    this.calls.push(call);
    this.afterCall(call.split(" ")[0]!);
  }
}

export function pod(name: string, more: Partial<PodState> = {}): PodState {
  return { namespace: "default", name, uid: `uid-${name}`, mirror: false, finished: false, ...more };
}

/** A task that brings the fake machine from a plain v1.12.4 to v1.12.6 with NVIDIA's driver. */
export function task(more: Partial<UpgradeTask> = {}): UpgradeTask {
  const talosVersion = more.talosVersion ?? "v1.12.6";
  const schematicId = more.schematicId ?? schematics.gpu;
  return upgradeTask.parse({
    machine: "gpu-1",
    address: "10.0.0.1",
    role: "worker",
    talosVersion,
    schematicId,
    installerImage: `factory.talos.dev/metal-installer/${schematicId}:${talosVersion}`,
    configurationHash: "1",
    modules: MODULES,
    driverVersion: "570.211.01",
    extensionServices: [{ name: "ext-nvidia-persistenced", state: "Running" }],
    drain: true,
    otherControlPlanes: [],
    timeouts: { pull: "10m", drain: "5m", reboot: "30m", verify: "5m" },
    ...more,
  });
}
