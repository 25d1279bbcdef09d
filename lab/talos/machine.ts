import { execFile, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { answers, freePort } from "../loopback";
import { programOnPath } from "../on-path";
import { untilSeen } from "../until";
import type { Site } from "./site";

/** A virtual machine that runs real Talos. */
export interface RealMachine {
  /** Where its Talos API is on this computer, e.g. `127.0.0.1:40123`. */
  endpoint: string;
  /** Where its Kubernetes API is on this computer, where it serves one, and its kubelet. */
  kubernetes: string;
  kubelet: string;
  /** Its own address, inside. */
  address: string;
  /** Output of its console since the machine was made. */
  console(): string;
  /** Turns it off without a word, as a power cut does. */
  cutPower(): Promise<void>;
  powerOn(): Promise<void>;
  /** Pauses it, until `goOn`: it takes whatever is sent to it, and does not answer. */
  standStill(): Promise<unknown>;
  goOn(): Promise<unknown>;
  /** Keeps its memory and disk under a name. The machine is paused meanwhile. */
  save(name: string): Promise<void>;
  /** Puts it back to where it was saved. It goes on from there, and its clock is late by the time in between. */
  restore(name: string): Promise<void>;
}

/** Programs that run such machines, and where they come from. */
const running = {
  "qemu-system-x86_64":
    "Debian and Ubuntu: apt-get install qemu-system-x86; Fedora: dnf install qemu-system-x86",
  "qemu-img": "Debian and Ubuntu: apt-get install qemu-utils; Fedora: dnf install qemu-img",
};
/** Programs that make their images. */
const making = {
  go: "https://go.dev/dl",
  "apt-get": "apt: Talos' userland and kernel are Debian's packages",
  "dpkg-deb": "dpkg: Debian's packages are unpacked with it",
  unshare: "util-linux: images are made in a folder of Debian's programs",
  ip: "iproute2: what stands in for the cluster's network on a machine has it",
};
/** UEFI firmware and its empty variables, as Debian's ovmf has them. */
const firmware = ["/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"] as const;

/**
 * Why this computer cannot run real Talos, all reasons at once; empty where it can.
 *
 * @param published its images are
 * not made here.
 */
export function whyNoMachine(published = false): string[] {
  if (process.platform !== "linux" || process.arch !== "x64")
    return ["images of real Talos are made on Linux on x86-64 alone"];
  return [
    ...Object.entries({ ...running, ...(published ? {} : making) })
      .filter(([name]) => programOnPath(name) === undefined)
      .map(([name, from]) => `there is no ${name} on PATH (${from})`),
    ...(firmware.every((file) => fs.existsSync(file))
      ? []
      : [`there is no ${firmware[0]} (apt-get install ovmf)`]),
  ];
}

/** A machine's network, and what leads out of it. */
export interface MachineNetwork extends Pick<Site, "net" | "host" | "dns"> {
  /** The machine's own address. */
  address: string;
  /** Where a worker asks for the certificate of its API: the cluster's address. */
  trustd: string;
  /** Ports of 127.0.0.1 that addresses in it lead to, by `address:port`. */
  leads: Readonly<Record<string, number>>;
}

/** Ports of a machine that ports of 127.0.0.1 lead to: its Talos API, trustd, its Kubernetes API, its kubelet. */
export const served = [50_000, 50_001, 6443, 10_250] as const;

/** Ports of this computer, by the machine's that they lead to. */
export type Ports = Record<(typeof served)[number], number>;

/** Ports of 127.0.0.1 for a machine. */
export async function freePorts(): Promise<Ports> {
  const ports: Partial<Ports> = {};
  for (const port of served) ports[port] = await freePort();
  return ports as Ports;
}

/** Where a machine finds what signs a worker's certificate: the address of its cluster's control plane. */
export const trustdAddress = "10.0.2.100";
const usualNetwork: MachineNetwork = {
  net: "10.0.2.0/24",
  host: "10.0.2.2",
  dns: "10.0.2.3",
  address: "10.0.2.15",
  trustd: trustdAddress,
  leads: {},
};

/**
 * Milliseconds in which the trial of `tryKvm` must have ended: under the KVM of some hosts a kernel never comes that
 * far.
 */
const KVM_LIMIT = 15_000;

/**
 * Whether the kernel boots under KVM here. It is tried once, by booting it without a disk, at which it panics and
 * ends.
 */
let kvm: Promise<boolean> | undefined;
const hasKvm = (kernel: string): Promise<boolean> => (kvm ??= tryKvm(kernel));
async function tryKvm(kernel: string): Promise<boolean> {
  try {
    fs.accessSync("/dev/kvm", fs.constants.R_OK | fs.constants.W_OK);
    const trial = [
      "-accel",
      "kvm",
      "-cpu",
      "host",
      "-m",
      "512",
      "-display",
      "none",
      "-no-reboot",
      "-no-user-config",
      "-nodefaults",
    ];
    const args = [...trial, "-kernel", kernel, "-append", "panic=-1 quiet"];
    await promisify(execFile)("qemu-system-x86_64", args, {
      timeout: KVM_LIMIT,
      killSignal: "SIGKILL",
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * What systemd's stub takes for more of a kernel's arguments (systemd-stub(7)): a published image's console is not
 * the serial one.
 */
const serialConsole = "io.systemd.stub.kernel-cmdline-extra=console=ttyS0";

/**
 * Makes a machine and turns it on. It belongs to the lab that has the folder `dir`: if we leave the machine running,
 * that lab's janitor ends it.
 *
 * Its network is QEMU's own. The machine reaches this computer at the address `host`; this computer reaches its APIs
 * at ports of 127.0.0.1.
 *
 * @param options.authority folder with `ca.crt` and `ca.key` of the machines' API. A worker then gets its certificate.
 * @param options.network default: 10.0.2.0/24, with this computer at 10.0.2.2 and the signer at {@link trustdAddress}.
 * @param options.ports default: any.
 * @param options.firmware what boots its disk. Default: `uefi`.
 * @param options.device a card of this computer's, as QEMU's option `-device` takes it. The image is a published one
 * then.
 * @param options.cards as its board's asset tag says it, by which the stand-ins of NVIDIA's programs know of them.
 */
export async function startMachine(
  images: { disk: string; programs: string },
  dir: string,
  options: {
    memory?: number;
    authority?: string;
    network?: MachineNetwork;
    ports?: Ports;
    cards?: string;
    firmware?: "uefi" | "bios";
    device?: string;
    signal?: AbortSignal;
  } = {},
): Promise<RealMachine> {
  fs.mkdirSync(dir, { recursive: true });
  const files = ["disk.qcow2", "variables.qcow2", "console.log"].map((file) =>
    path.join(dir, file),
  );
  const [disk, variables, log] = files as [string, string, string];
  await promisify(execFile)("qemu-img", [
    "create",
    "-q",
    "-f",
    "qcow2",
    "-F",
    "qcow2",
    "-b",
    images.disk,
    disk,
    "20G",
  ]);
  // Only a disk of this format can be saved (`savevm`).
  await promisify(execFile)("qemu-img", [
    "convert",
    "-f",
    "raw",
    "-O",
    "qcow2",
    firmware[1],
    variables,
  ]);
  const ports = options.ports ?? (await freePorts());
  const local = (port: keyof Ports): string => `127.0.0.1:${ports[port]}`;
  const accelerated = await hasKvm(path.join(path.dirname(images.disk), "vmlinuz"));
  const { net, host, dns, address, trustd, leads } = options.network ?? usualNetwork;
  const program = (name: string): string => path.join(images.programs, name);
  const leading = Object.entries(leads).map(
    ([from, to]) => `${from}-cmd:${program("connect")} 127.0.0.1:${to}`,
  );
  if (options.authority !== undefined)
    leading.push(
      `${trustd}:50001-cmd:${program("trustd")} ${trustd} ${path.resolve(options.authority)}`,
    );
  const network = [
    `net=${net}`,
    `host=${host}`,
    `dns=${dns}`,
    `dhcpstart=${address}`,
    ...served.map((port) => `hostfwd=tcp:${local(port)}-:${port}`),
    ...leading.map((each) => `guestfwd=tcp:${each}`),
  ];
  const drive = (kind: string, file: string): string[] => ["-drive", `${kind},file=${file}`];
  const args = [
    ...(accelerated
      ? ["-accel", "kvm", "-cpu", "host"]
      : ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"]),
    // Without SATA, whose state cannot be restored in a kernel that a kernel started (kexec): "bad FIS receive buffer
    // address".
    "-machine",
    "q35,smm=off,sata=off",
    "-display",
    "none",
    "-no-user-config",
    "-nodefaults",
    "-smp",
    String(Math.min(2, os.availableParallelism())),
    "-m",
    String(options.memory ?? 2048),
    // What the firmware writes, and what the machine flushes, is on this computer's disk: else a power cut would lose
    // what a real one keeps.
    ...(options.firmware === "bios"
      ? []
      : [
          ...drive("if=pflash,format=raw,unit=0,readonly=on", firmware[0]),
          ...drive("if=pflash,format=qcow2,cache=writethrough,unit=1", variables),
        ]),
    ...drive("if=virtio,format=qcow2,cache=writeback", disk),
    "-netdev",
    `user,id=net,${network.join(",")}`,
    "-device",
    "virtio-net-pci,netdev=net",
    "-device",
    "virtio-rng-pci",
    "-chardev",
    `file,id=console,path=${log},append=on`,
    "-serial",
    "chardev:console",
    ...(options.device === undefined
      ? []
      : ["-device", options.device, "-smbios", `type=11,value=${serialConsole}`]),
    ...(options.cards === undefined ? [] : ["-smbios", `type=2,asset=${options.cards}`]),
    "-qmp",
    "stdio",
  ];
  let running: ChildProcess | undefined;
  const cutPower = async (): Promise<void> => {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  const powerOn = async (...more: string[]): Promise<void> => {
    const said: Buffer[] = [];
    // Passed explicitly: a child does not inherit jest's environment, and by the environment the janitor knows what
    // it may end.
    const { env } = process;
    const child = spawn("qemu-system-x86_64", [...args, ...more], {
      stdio: ["pipe", "pipe", "pipe"],
      env,
    });
    child.stdin.on("error", () => undefined);
    child.stdin.write(`${JSON.stringify({ execute: "qmp_capabilities" })}\n`);
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    running = child;
    const words = (): string => Buffer.concat(said).toString("utf8").trim();
    const died = new Promise<never>((_, reject) => {
      child.once("error", reject);
      child.once("exit", (code) =>
        reject(new Error(`QEMU ended (${code ?? "killed"}): ${words()}`)),
      );
    });
    died.catch(() => undefined);
    // QEMU takes its ports before the machine runs.
    const listens = untilSeen(
      "QEMU listens",
      { seconds: 60, every: 50 },
      () => answers(ports[50_000]),
      Boolean,
    );
    listens.catch(() => undefined);
    // It answers when it has loaded the saved machine, or has failed to and ended.
    const answer = listens.then(() => told(child, "info status"));
    await Promise.race([died, answer.then((status) => (status === hasEnded ? died : status))]);
  };
  options.signal?.addEventListener("abort", () => void cutPower(), { once: true });
  await powerOn();
  let stumbles = 0;
  const beginAgain = (): void => {
    if (running === undefined) return; // its folder goes with the lab
    const seen = bootsIn(fs.readFileSync(log, "utf8")).filter(stumbled).length;
    if (seen > stumbles) void told(running, "system_reset").catch(() => undefined);
    stumbles = seen;
  };
  setInterval(beginAgain, 5000).unref();
  return {
    endpoint: local(50_000),
    kubernetes: local(6443),
    kubelet: local(10_250),
    address,
    console: () => fs.readFileSync(log, "utf8"),
    cutPower,
    powerOn: () => powerOn(),
    standStill: () => told(running!, "stop"),
    goOn: () => told(running!, "cont"),
    save: async (name) => {
      const problem = await told(running!, `savevm ${name}`);
      if (problem !== "") throw new Error(`QEMU could not save the machine: ${problem}`);
    },
    restore: async (name) => {
      await cutPower();
      await powerOn("-loadvm", name);
    },
  };
}

/**
 * A console's text, boot by boot. A boot begins amid a line: the boot menu's last drawing stands before the kernel's
 * first words.
 */
const bootsIn = (console: string): string[] =>
  console.split(/\[ *0\.000000\] Linux version /).slice(1);
/**
 * Whether a boot panicked since QEMU, which without KVM emulates several processors at once, ran an instruction that
 * the kernel was just changing. It is no fault of Talos, so the machine is reset, and the boot does not count.
 */
const stumbled = (boot: string): boolean => /Oops: int3: [^]*end Kernel panic/.test(boot);

/** How often a machine has booted, by its console. */
export const bootsOf = (console: string): number =>
  bootsIn(console).filter((boot) => !stumbled(boot)).length;

const hasEnded = "it has ended";
/** Answer of QEMU's monitor to a command, which comes when the command is done. */
async function told({ stdin, stdout }: ChildProcess, command: string): Promise<string> {
  const asked = {
    execute: "human-monitor-command",
    arguments: { "command-line": command },
    id: command,
  };
  stdin!.write(`${JSON.stringify(asked)}\n`);
  for await (const line of createInterface({ input: stdout! })) {
    const answer = JSON.parse(line) as { id?: string; return?: string; error?: { desc: string } };
    if (answer.id === command) return answer.return?.trim() ?? answer.error?.desc ?? "";
  }
  return hasEnded;
}
