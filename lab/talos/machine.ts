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
  /** Address of its Talos API on this computer, e.g. `127.0.0.1:40123`. */
  endpoint: string;
  /** Addresses of its Kubernetes API and of its kubelet on this computer. Only a control plane serves the API. */
  kubernetes: string;
  kubelet: string;
  /** Its address in its own network. */
  address: string;
  /** Output of its console since the machine was made. */
  console(): string;
  /** Cuts its power. */
  cutPower(): Promise<void>;
  powerOn(): Promise<void>;
  /** Pauses it until `resume`: connections to it stay open, and nothing answers. */
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
  /** Presses a key of its keyboard, by QEMU's name of the key, e.g. `down` or `ret`. */
  press(key: string): Promise<unknown>;
  /** Saves its memory and disk under a name. It is paused while QEMU saves. */
  save(name: string): Promise<void>;
  /** Restores a saved state, from which it continues. Its clock is then late by the time since the save. */
  restore(name: string): Promise<void>;
}

/** Programs that run such machines, and how to install them. */
const runPrograms = {
  "qemu-system-x86_64":
    "Debian and Ubuntu: apt-get install qemu-system-x86; Fedora: dnf install qemu-system-x86",
  "qemu-img": "Debian and Ubuntu: apt-get install qemu-utils; Fedora: dnf install qemu-img",
};
/** Programs that make their images, and how to install them. */
const imagePrograms = {
  go: "https://go.dev/dl",
  "apt-get": "apt: Talos' userland and kernel are Debian's packages",
  "dpkg-deb": "dpkg: it unpacks Debian's packages",
  unshare: "util-linux: it runs Debian's programs in their folder, to make images",
  ip: "iproute2: the lab's network program on a machine uses it",
};
/** UEFI firmware and its empty variables, as Debian's ovmf has them. */
export const firmware = [
  "/usr/share/OVMF/OVMF_CODE_4M.fd",
  "/usr/share/OVMF/OVMF_VARS_4M.fd",
] as const;

/**
 * All reasons why this computer cannot run real Talos; empty if it can.
 *
 * @param published whether published images are used, so that this computer makes none.
 */
export function whyNoMachine(published = false): string[] {
  if (process.platform !== "linux" || process.arch !== "x64")
    return ["images of real Talos can be made only on Linux on x86-64"];
  return [
    ...Object.entries({ ...runPrograms, ...(published ? {} : imagePrograms) })
      .filter(([name]) => programOnPath(name) === undefined)
      .map(([name, installHint]) => `there is no ${name} on PATH (${installHint})`),
    ...(firmware.every((file) => fs.existsSync(file))
      ? []
      : [`there is no ${firmware[0]} (apt-get install ovmf)`]),
  ];
}

/** A machine's network, and its connections to this computer. */
export interface MachineNetwork extends Pick<Site, "net" | "host" | "dns"> {
  /** The machine's own address. */
  address: string;
  /** Address at which a worker requests the certificate of its API: the cluster's. */
  trustd: string;
  /** Ports of 127.0.0.1 to which QEMU forwards addresses of this network, by `address:port`. */
  forwardedPorts: Readonly<Record<string, number>>;
}

/** Ports of a machine that QEMU forwards from 127.0.0.1: Talos API, trustd, Kubernetes API, kubelet. */
export const served = [50_000, 50_001, 6443, 10_250] as const;

/** Ports of this computer that QEMU forwards to a machine, by the machine's port. */
export type Ports = Record<(typeof served)[number], number>;

/** Finds free ports of 127.0.0.1 for a machine. */
export async function freePorts(): Promise<Ports> {
  const ports: Partial<Ports> = {};
  for (const port of served) ports[port] = await freePort();
  return ports as Ports;
}

/** Address of the program that signs a worker's certificate. Talos expects it at the cluster's control plane. */
export const trustdAddress = "10.0.2.100";
const defaultNetwork: MachineNetwork = {
  net: "10.0.2.0/24",
  host: "10.0.2.2",
  dns: "10.0.2.3",
  address: "10.0.2.15",
  trustd: trustdAddress,
  forwardedPorts: {},
};

/** Milliseconds within which the kernel of `tryKvm` must exit. Under the KVM of some hosts it never does. */
const KVM_LIMIT = 15_000;

/** Whether the kernel boots under KVM here. The trial runs once: without a disk the kernel panics and exits. */
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

const tpmSocket = (dir: string): string => path.join(dir, "tpm.sock");
const tpmOf = (dir: string): string[] => [
  ...["-chardev", `socket,id=tpm,path=${tpmSocket(dir)}`],
  ...["-tpmdev", "emulator,id=tpm0,chardev=tpm", "-device", "tpm-crb,tpmdev=tpm0"],
];

/** Starts a machine's TPM, which ends with its connection to QEMU. */
async function startTpm(dir: string): Promise<void> {
  const state = path.join(dir, "tpm");
  fs.mkdirSync(state, { recursive: true });
  const control = `type=unixio,path=${tpmSocket(dir)}`;
  const args = ["socket", "--tpm2", "--tpmstate", `dir=${state}`, "--ctrl", control];
  // It goes to the background once it listens. Its environment has the lab's mark, as QEMU's.
  const { env } = process;
  await promisify(execFile)("swtpm", [...args, "--daemon", "--terminate"], { env });
}

/** Adds a kernel argument through systemd's stub (systemd-stub(7)): published images do not use the serial console. */
const serialConsole = "io.systemd.stub.kernel-cmdline-extra=console=ttyS0";

/**
 * Makes a machine and turns it on. It belongs to the lab that has the folder `dir`: the lab's janitor ends it if it
 * still runs.
 *
 * Its network is QEMU's own. The machine reaches this computer at the address `host`; this computer reaches its APIs at
 * ports of 127.0.0.1.
 *
 * @param options.authority folder with `ca.crt` and `ca.key` of the machines' API. A worker then gets its certificate.
 * @param options.network default: 10.0.2.0/24, with this computer at 10.0.2.2 and trustd at {@link trustdAddress}.
 * @param options.ports default: free ones.
 * @param options.firmware firmware that boots its disk. Default: `uefi`.
 * @param options.device a card of this computer, in the form of QEMU's option `-device`. The image must then be a
 * published one.
 * @param options.tpm whether it has a TPM 2.0 (swtpm), whose content lasts as long as the disk's.
 * @param options.variables variables of its firmware at the first boot. Default: empty ones.
 * @param options.yields whether other machines get this computer's processors first, if QEMU must emulate the
 * processors. Default: no.
 * @param options.cards its cards, written into the board's asset tag, where the stand-ins of NVIDIA's programs read
 * them.
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
    tpm?: boolean;
    variables?: string;
    yields?: boolean;
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
    options.variables ?? firmware[1],
    variables,
  ]);
  const ports = options.ports ?? (await freePorts());
  const localAddress = (port: keyof Ports): string => `127.0.0.1:${ports[port]}`;
  const accelerated = await hasKvm(path.join(path.dirname(images.disk), "vmlinuz"));
  const { net, host, dns, address, trustd, forwardedPorts } = options.network ?? defaultNetwork;
  const program = (name: string): string => path.join(images.programs, name);
  const guestForwards = Object.entries(forwardedPorts).map(
    ([guestAddress, hostPort]) => `${guestAddress}-cmd:${program("connect")} 127.0.0.1:${hostPort}`,
  );
  if (options.authority !== undefined)
    guestForwards.push(
      `${trustd}:50001-cmd:${program("trustd")} ${trustd} ${path.resolve(options.authority)}`,
    );
  const network = [
    `net=${net}`,
    `host=${host}`,
    `dns=${dns}`,
    `dhcpstart=${address}`,
    ...served.map((port) => `hostfwd=tcp:${localAddress(port)}-:${port}`),
    ...guestForwards.map((guestForward) => `guestfwd=tcp:${guestForward}`),
  ];
  const drive = (kind: string, file: string): string[] => ["-drive", `${kind},file=${file}`];
  const args = [
    ...(accelerated
      ? ["-accel", "kvm", "-cpu", "host"]
      : ["-accel", "tcg,thread=multi", "-cpu", emulatedProcessor]),
    // Without SATA: QEMU cannot restore its state after a kexec: "bad FIS receive buffer address".
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
    // This computer's disk gets what the firmware writes and what the machine flushes. Otherwise a power cut would lose
    // data that a real machine keeps.
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
    ...(options.tpm === true ? tpmOf(dir) : []),
    ...(options.cards === undefined ? [] : ["-smbios", `type=2,asset=${options.cards}`]),
    "-qmp",
    "stdio",
  ];
  let qemu: ChildProcess | undefined;
  const cutPower = async (): Promise<void> => {
    const child = qemu;
    qemu = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  };
  const powerOn = async (...extraArgs: string[]): Promise<void> => {
    const errorOutput: Buffer[] = [];
    if (options.tpm === true) await startTpm(dir);
    // Passed explicitly, since a child does not inherit jest's environment. The janitor ends only processes with the
    // lab's mark in their environment.
    const { env } = process;
    const qemuArgs = [...args, ...extraArgs];
    // `nice` becomes QEMU, whose threads all inherit the priority. With KVM there is no need.
    const [program, programArgs] =
      options.yields === true && !accelerated
        ? ["nice", ["-n", "5", "qemu-system-x86_64", ...qemuArgs]]
        : ["qemu-system-x86_64", qemuArgs];
    const child = spawn(program, programArgs, { stdio: ["pipe", "pipe", "pipe"], env });
    child.stdin.on("error", () => undefined);
    child.stdin.write(`${JSON.stringify({ execute: "qmp_capabilities" })}\n`);
    child.stderr.on("data", (chunk: Buffer) => errorOutput.push(chunk));
    qemu = child;
    const errorText = (): string => Buffer.concat(errorOutput).toString("utf8").trim();
    const died = new Promise<never>((_, reject) => {
      child.once("error", reject);
      child.once("exit", (code) =>
        reject(new Error(`QEMU ended (${code ?? "killed"}): ${errorText()}`)),
      );
    });
    died.catch(() => undefined);
    // QEMU listens on its ports before the machine runs.
    const listens = untilSeen(
      "QEMU listens",
      { seconds: 60, every: 50 },
      () => answers(ports[50_000]),
      Boolean,
    );
    listens.catch(() => undefined);
    // QEMU answers once it has loaded the saved state, or ends if it cannot.
    const monitorAnswer = listens.then(() => runMonitorCommand(child, "info status"));
    await Promise.race([
      died,
      monitorAnswer.then((status) => (status === qemuEnded ? died : status)),
    ]);
  };
  options.signal?.addEventListener("abort", () => void cutPower(), { once: true });
  await powerOn();
  let qemuPanics = 0;
  const resetAfterQemuPanic = (): void => {
    if (qemu === undefined) return; // the lab ends, and deletes the console's file
    const panicCount = splitBoots(fs.readFileSync(log, "utf8")).filter(hitQemuPanic).length;
    if (panicCount > qemuPanics)
      void runMonitorCommand(qemu, "system_reset").catch(() => undefined);
    qemuPanics = panicCount;
  };
  setInterval(resetAfterQemuPanic, 5000).unref();
  return {
    endpoint: localAddress(50_000),
    kubernetes: localAddress(6443),
    kubelet: localAddress(10_250),
    address,
    console: () => fs.readFileSync(log, "utf8"),
    cutPower,
    powerOn: () => powerOn(),
    pause: () => runMonitorCommand(qemu!, "stop"),
    resume: () => runMonitorCommand(qemu!, "cont"),
    press: (key) => runMonitorCommand(qemu!, `sendkey ${key}`),
    save: async (name) => {
      const problem = await runMonitorCommand(qemu!, `savevm ${name}`);
      if (problem !== "") throw new Error(`QEMU could not save the machine: ${problem}`);
    },
    restore: async (name) => {
      await cutPower();
      await powerOn("-loadvm", name);
    },
  };
}

/** Splits a console's text into boots. A boot begins within a line, after the last output of the boot menu. */
const splitBoots = (console: string): string[] =>
  console.split(/\[ *0\.000000\] Linux version /).slice(1);
/**
 * Whether a boot panicked because of a fault of QEMU. Without KVM it emulates several processors at once, and may run
 * an instruction that the kernel is just changing. So the lab resets the machine, and does not count that boot.
 */
const hitQemuPanic = (boot: string): boolean => /Oops: int3: [^]*end Kernel panic/.test(boot);

/** Number of boots of a machine, from its console. */
export const bootsOf = (console: string): number =>
  splitBoots(console).filter((boot) => !hitQemuPanic(boot)).length;

/**
 * Processor of a machine without KVM. QEMU emulates `rep movsb` and `rep stosb` byte by byte. The kernel uses them to
 * copy and to clear pages if the processor claims to be fast at that (ERMS, FSRM). Without the claim, a program maps
 * and touches 4 MB 500 times a second instead of 80 times (QEMU 7.2, Linux 7.3, medians of a few runs).
 */
const emulatedProcessor = "max,la57=off,erms=off,fsrm=off";

const qemuEnded = "it has ended";
/** Runs a command in QEMU's monitor, and gives the answer, which comes at the command's end. */
async function runMonitorCommand(
  { stdin, stdout }: ChildProcess,
  command: string,
): Promise<string> {
  const request = {
    execute: "human-monitor-command",
    arguments: { "command-line": command },
    id: command,
  };
  stdin!.write(`${JSON.stringify(request)}\n`);
  for await (const line of createInterface({ input: stdout! })) {
    const reply = JSON.parse(line) as { id?: string; return?: string; error?: { desc: string } };
    if (reply.id === command) return reply.return?.trim() ?? reply.error?.desc ?? "";
  }
  return qemuEnded;
}
