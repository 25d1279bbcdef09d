import { CallError, type CallErrorKind } from "../../../components/clients/failure";
import {
  controlPlaneParts,
  isolatesWorkload,
  kubernetesImages,
} from "../../../components/clients/talos/configuration-text";
import type {
  EtcdMember,
  KubernetesManifest,
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
import { compareDotted } from "../../../components/recipe/facts/version";
import type { RunningImage } from "../../../components/recipe/machine/losses";
import type { FakeClock } from "./clock";
import { NVIDIA_MODULES, schematics } from "./task";

const runningService: ServiceState = {
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

const driverOfSchematic: Record<string, string> = {
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
  runningImage: RunningImage = {
    extensions: {},
    configuredArgs: [],
    platform: "metal",
    secureBoot: false,
  };
  schematicId: string | undefined = schematics.plain;
  bootCount = 1;
  stageName = "running";
  unmetConditions: string[] = [];
  bootProblems: string[] = [];
  /** Stage in which a boot ends. */
  stageAfterBoot = "running";
  isDown = false;
  active = "machine: {type: worker}\n";
  persistent = this.active;
  /** The active configuration at the beginning of the last boot. */
  configurationAtBoot = this.active;
  /** State of the service cri. */
  cri: ServiceState = runningService;
  /** Seconds until Kubernetes' static pods run the images of a new configuration. */
  secondsUntilStaticPodsRun = 20;
  /** The configuration whose images the static pods run; undefined if it is the active one. */
  configurationOfStaticPods: string | undefined;
  /** Manifests that Talos makes from the configuration. */
  kubernetesManifests: KubernetesManifest[] = [];
  /** Static pods that do not become ready. */
  unreadyStaticPods: string[] = [];
  /** Whether the driver of the running image loads if the configuration asks for it. */
  driverWorks = true;
  /** The driver's version by Talos release, where it is not that of v1.12.6. */
  driverVersions: Record<string, string> = {};
  rollsBack = false;
  /** Seconds until a machine that runs is also ready. */
  secondsUntilReady = 0;
  /** Lines of the console. */
  consoleLines: string[] = [];
  /** Lines of machined's log, in which Talos 1.14 writes about installations. */
  machinedLines: string[] = [];
  /** Files on the machine, by path, in addition to those that show its driver. */
  files: Record<string, string> = {};
  /** Images on the disk. */
  diskImages: string[] = [];
  /** Whether the connection of `upgrade` by the newer API breaks before the reboot is requested. */
  connectionBreaksInUpgrade = false;
  /** The image that the next boot starts; undefined if it is the running one. */
  private nextImage: string | undefined;
  /** The image that Talos boots if a boot fails. */
  private fallbackImage: string | undefined;
  private runningSince = 0;
  /** Whether a staged configuration takes effect only at a boot. */
  needsBoot = false;
  /** Images that were pulled. */
  pulledImages: string[] = [];
  /** Number of the next calls of `pull` that hang until their limit. */
  hangingPulls = 0;
  /** Lines that a hanging pull writes to the console. */
  linesOfHangingPull: string[] = [];
  /** Seconds from the request until the machine is down, and from there until its API answers. */
  timing = { install: 40, boot: 120 };
  members: EtcdMember[] = [
    { id: "1", hostname: "cp-1", learner: false, urls: ["https://10.0.0.1:2380"] },
  ];
  memberId: string | undefined = "1";
  reportedEtcdProblems: string[] = [];
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
    takesEffect: boolean;
  }[] = [];

  constructor(readonly clock: FakeClock) {}

  /**
   * Makes this many calls of a method fail. With `takesEffect` the machine does what was requested, and only the answer is lost.
   */
  failCalls(call: string, problem: CallErrorKind, times = 1, takesEffect = false): void {
    this.faults.push({ call, problem, times, takesEffect });
  }

  async version(): Promise<string> {
    return this.query("version", () => this.talosVersion);
  }
  async status(): Promise<MachineStatus> {
    return this.query("status", () => {
      const ready =
        this.stageName === "running" &&
        this.clock.now() >= this.runningSince + this.secondsUntilReady * 1_000;
      return { stage: this.stageName, ready, unmet: ready ? [] : this.unmetConditions };
    });
  }
  async adminKubeconfig(): Promise<string> {
    return this.query("adminKubeconfig", () => "kubeconfig of an administrator");
  }
  async bootId(): Promise<string> {
    return this.query("bootId", () => `boot-${this.bootCount}`);
  }
  async schematic(): Promise<string | undefined> {
    return this.query("schematic", () => this.schematicId);
  }
  async image(): Promise<RunningImage> {
    return this.query("image", () => this.runningImage);
  }
  async read(path: string): Promise<string | undefined> {
    const driver = this.loadedDriver();
    return this.query("read", () => {
      if (this.files[path] !== undefined) return this.files[path];
      if (path === "/proc/cmdline") return this.runningImage.commandLine;
      if (driver === undefined)
        return path === "/proc/modules" ? "overlay 1 0 - Live 0x0\n" : undefined;
      if (path === "/proc/modules")
        return NVIDIA_MODULES.map((name) => `${name} 62 0 - Live 0x0 (O)\n`).join("");
      return `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${driver}  Release Build  (builder@host)\nGCC version: x\n`;
    });
  }
  async services(): Promise<Record<string, string>> {
    return this.query("services", () => ({
      ...(this.etcdState === undefined ? {} : { etcd: this.etcdState }),
      ...(this.bootProblems.length > 0 ? {} : { cri: "Running", kubelet: "Running" }),
      ...(driverOfSchematic[this.schematicId ?? ""] === undefined
        ? {}
        : { "ext-nvidia-persistenced": this.loadedDriver() === undefined ? "Waiting" : "Running" }),
      ...(/^v1\.1[34]\./.test(this.talosVersion) && this.loadedDriver() !== undefined
        ? { "ext-nvidia-cdi-gen": "Finished" }
        : {}),
    }));
  }
  async service(name: string): Promise<ServiceState | undefined> {
    return this.query("service", () => {
      const isolates = isolatesWorkload(this.configurationAtBoot);
      if (name === "sandboxd")
        return isolates ? { state: "Running", failing: false, event: "" } : undefined;
      return this.bootProblems.length > 0 ? undefined : this.cri;
    });
  }
  async console(): Promise<string[]> {
    return this.query("console", () => this.consoleLines);
  }
  async installationLog(): Promise<string[]> {
    return this.query("installationLog", () => [...this.consoleLines, ...this.machinedLines]);
  }
  async isUnconfirmed(): Promise<boolean> {
    return this.query(
      "isUnconfirmed",
      () => this.fallbackImage !== undefined && this.nextImage === undefined,
    );
  }
  async bootErrors(): Promise<string[]> {
    return this.query("bootErrors", () => this.bootProblems);
  }
  async configurations(): Promise<Configurations> {
    return this.query("configurations", () => ({
      active: this.active,
      persistent: this.persistent,
    }));
  }
  async stage(configuration: string): Promise<void> {
    return this.change("stage", () => void (this.persistent = configuration));
  }
  async activate(configuration: string): Promise<void> {
    return this.change("activate", () => {
      if (this.needsBoot)
        throw new CallError("refused", "this config change can't be applied in immediate mode");
      this.configurationOfStaticPods = this.active;
      this.clock.after(
        this.secondsUntilStaticPodsRun,
        () => (this.configurationOfStaticPods = undefined),
      );
      this.active = this.persistent = configuration;
      // Talos v1.14.1 does this if containerd starts again.
      if (isolatesWorkload(configuration) && !isolatesWorkload(this.configurationAtBoot))
        this.cri = waitingForSandbox;
    });
  }
  async staticPods(): Promise<StaticContainer[]> {
    return this.query("staticPods", () => {
      const images = kubernetesImages(this.configurationOfStaticPods ?? this.active);
      return controlPlaneParts.flatMap((name) => {
        const image = images[name];
        const ready = !this.unreadyStaticPods.includes(name);
        return image === undefined ? [] : [{ name, image, ready }];
      });
    });
  }
  async manifests(): Promise<KubernetesManifest[]> {
    return this.query("manifests", () => this.kubernetesManifests);
  }
  async pull(image: string, place: ImagePlace, limit: number, ending?: Ending): Promise<void> {
    if (this.hangingPulls-- > 0) {
      this.consoleLines = [...this.consoleLines, ...this.linesOfHangingPull];
      const end = this.clock.now() + limit; // talosctl is killed at this time
      do await this.clock.sleep(Math.min(ending?.every ?? limit, end - this.clock.now()));
      while (this.clock.now() < end && !(await ending?.ends()));
      throw new CallError("unreachable", `talosctl image did not end within ${limit} ms`);
    }
    return this.change(
      `pull ${image}${{ disk: "", memory: " into memory", pods: " for pods" }[place]}`,
      () => void this.pulledImages.push(image),
    );
  }
  async hasPulled(image: string): Promise<boolean> {
    return this.pulledImages.includes(image);
  }
  async upgrade(image: string, place: InstallerPlace, api: UpgradeApi): Promise<void> {
    return this.change(`upgrade ${api}${place === "disk" ? "" : " from memory"}`, () => {
      this.install(image);
      if (api === "legacy") return this.goDown();
      this.logInstallation(image);
      if (this.connectionBreaksInUpgrade) throw new CallError("unreachable", "connection reset");
      return this.goDown();
    });
  }
  /** Logs an installation as the running Talos does: 1.13 on its console, 1.14 in machined's log. */
  private logInstallation(image: string): void {
    if (compareDotted(this.talosVersion.slice(1), "1.14") < 0)
      this.consoleLines.push(
        `starting upgrade: installer_image=${image}, disk=/dev/vda`,
        "upgrade completed successfully: exit_code=0",
      );
    else
      this.machinedLines.push(
        `starting upgrade {"component": "machined", "service": "lifecycle", "installer_image": "${image}", "disk": "/dev/vda"}`,
        'upgrade completed {"component": "machined", "service": "lifecycle", "exit_code": 0}',
      );
  }
  async reboot(): Promise<void> {
    return this.change("reboot", () => this.goDown());
  }
  async etcdMembers(): Promise<EtcdMember[]> {
    return this.query("etcdMembers", () => this.members);
  }
  async etcdProblems(): Promise<string[]> {
    return this.query("etcdProblems", () => this.reportedEtcdProblems);
  }
  async etcdMember(): Promise<string | undefined> {
    return this.query("etcdMember", () => this.memberId);
  }
  at(address: string): FakeMachine {
    const unreachableMachine = new FakeMachine(this.clock);
    unreachableMachine.isDown = true;
    return this.network[address] ?? unreachableMachine;
  }

  /** Sets the image of the next boot. Apart from it, only the fallback image stays on the disk. */
  install(reference: string): void {
    this.fallbackImage = this.nextImage ?? `${this.schematicId}:${this.talosVersion}`;
    this.nextImage = reference.split("/").at(-1)!;
    this.diskImages = [this.fallbackImage, this.nextImage];
  }

  /** Boots the machine until its API answers. */
  boot(): void {
    this.isDown = false;
    this.bootCount++;
    this.consoleLines = [];
    this.stageName = "booting";
    this.active = this.configurationAtBoot = this.persistent;
    this.cri = runningService;
    this.configurationOfStaticPods = undefined;
    if (this.nextImage !== undefined && !this.rollsBack)
      [this.schematicId, this.talosVersion] = this.nextImage.split(":") as [string, string];
    this.nextImage = undefined;
  }

  private goDown(): void {
    // The boot failed.
    if (this.bootProblems.length > 0)
      [this.nextImage, this.fallbackImage] = [this.fallbackImage, undefined];
    this.stageName = this.nextImage === undefined ? "rebooting" : "upgrading";
    this.clock.after(this.timing.install, () => (this.isDown = true));
    this.clock.after(this.timing.install + this.timing.boot, () => {
      this.boot();
    });
    this.clock.after(this.timing.install + this.timing.boot + 20, () => {
      if (this.stageName !== "booting" || this.unmetConditions.length > 0) return;
      this.stageName = this.stageAfterBoot;
      this.runningSince = this.clock.now();
      this.fallbackImage = undefined;
    });
  }

  private loadedDriver(): string | undefined {
    return this.driverWorks && this.active.includes("nvidia")
      ? driverOfSchematic[this.schematicId ?? ""] &&
          (this.driverVersions[this.talosVersion] ?? "570.211.01")
      : undefined;
  }

  private async query<T>(call: string, answer: () => T): Promise<T> {
    if (this.isDown) throw new CallError("unreachable", "connection refused");
    this.throwFault(call, () => {});
    return answer();
  }

  private async change(call: string, effect: () => void): Promise<void> {
    if (this.isDown) throw new CallError("unreachable", "connection refused");
    this.calls.push(call);
    this.throwFault(call.split(" ")[0]!, effect);
    effect();
    this.afterCall(call.split(" ")[0]!);
  }

  private throwFault(call: string, effect: () => void): void {
    const fault = this.faults.find((fault) => fault.call === call && fault.times > 0);
    if (fault === undefined) return;
    fault.times--;
    if (fault.takesEffect) effect();
    throw new CallError(fault.problem, `${call}: ${fault.problem}`);
  }
}
