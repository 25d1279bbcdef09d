import { execFile, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import * as semver from "semver";
import { parse, stringify } from "yaml";
import { bundle } from "../../../generate/package/bundles";
import { upgradeTask, type UpgradeTask } from "../../../components/program/task";
import { injectionOf } from "../../../components/recipe/facts/talos-release";
import {
  kubeletImage,
  provideTalos,
  startMachine,
  trustdAddress,
  whyNoMachine,
  type ImageFactory,
  type RealMachine,
} from "../../talos";
import { parseResources } from "../../../components/clients/talos/talosctl-output";
import { capabilitiesOf } from "../../../components/recipe/facts/talos-release";
import { startFront } from "../../talos/front";
import { provideSigned } from "../../talos/secure";
import { ownDocuments } from "../../talos/site";
import { hostnamePatch } from "../../cluster/existing-cluster";
import { openWorkspace } from "../../session/session";
import { provideTools } from "../../tools";

const requestedTests = process.env.TALOS_GPU_REAL_TALOS ?? "";

/** Talos release of the machine; `TALOS_GPU_REAL_TALOS=v1.12.6` selects one. */
export const RELEASE = /^v\d/.test(requestedTests) ? requestedTests : "v1.13.0";

/**
 * Boot loader. `TALOS_GPU_REAL_BOOT=grub-bios` and `grub-uefi` select GRUB, which machines installed before Talos 1.10
 * keep.
 */
export const BOOT = bootOf(process.env.TALOS_GPU_REAL_BOOT ?? "systemd-boot");

function bootOf(bootLoader: string): "systemd-boot" | "grub-bios" | "grub-uefi" {
  if (bootLoader === "systemd-boot" || bootLoader === "grub-bios" || bootLoader === "grub-uefi")
    return bootLoader;
  throw new Error(
    `TALOS_GPU_REAL_BOOT: ${bootLoader} is none of systemd-boot, grub-bios, grub-uefi`,
  );
}

/**
 * Upgrade API of the release: the new one only installs, and its client then requests the reboot; the old one does
 * both.
 */
export const API = capabilitiesOf(RELEASE).upgradeApi;

/** Name of the machine's node. */
export const NODE = "talos-lab";

/**
 * Reasons to skip tests with real Talos: the environment does not request them, or this computer cannot run them.
 * Empty: they run.
 */
export const reasonsToSkip = (selectors: readonly string[]): string[] =>
  selectors.includes(requestedTests)
    ? whyNoMachine()
    : [`nothing selects them; TALOS_GPU_REAL_TALOS=${selectors.join(" or ")} does`];

/** Result of a run of the machine program. */
export interface ProgramResult {
  code: number | null;
  /** The JSON of its standard output; empty if it printed none. */
  answer: Record<string, any>;
  /** Its messages: its standard error. */
  output: string;
  seconds: number;
}

/** A worker without a cluster, with a registry of installers, and functions that run the product's machine program. */
export interface TestBed {
  machine: RealMachine;
  imageFactory: ImageFactory;
  /**
   * Schematics by their content: no extensions (`plain`), NVIDIA's extensions (`gpu`), these and {@link imageArgument}
   * (`argument`), these without the toolkit (`modules`), a kernel that does not boot (`broken`). The installer of `empty`
   * lacks the image.
   */
  schematics: Record<"plain" | "gpu" | "argument" | "modules" | "broken" | "empty", string>;
  /** Folder of the lab. */
  dir: string;
  /** Contents of the schematics. */
  schematicTexts: readonly string[];
  /** Runs talosctl on the machine, and gives its standard output. */
  talosctl(...args: string[]): Promise<string>;
  /** Runs talosctl on another machine with the same authority and address, behind this endpoint. */
  talosctlAt(endpoint: string, ...args: string[]): Promise<string>;
  /** Applies a whole configuration, or the present one merged with a patch, as an owner does. Default: staged. */
  apply(change: object | string, mode?: "staged" | "auto"): Promise<void>;
  /**
   * Configuration of the next boot, which `adopt` stages. Talos lists it once a configuration was applied in this boot.
   */
  configuration(): Promise<string>;
  /** The running configuration. */
  activeConfiguration(): Promise<string>;
  schematic(): Promise<string>;
  bootId(): Promise<string>;
  /** Whether the machine runs and is ready. */
  isRunning(): Promise<boolean>;
  /** Waits until a condition on Talos' answers holds. */
  waitUntil(description: string, minutes: number, condition: () => Promise<boolean>): Promise<void>;
  startProgram(
    verb: string,
    task: object,
    env?: NodeJS.ProcessEnv,
  ): { child: ChildProcess; result: Promise<ProgramResult> };
  upgradeTaskFor(schematicId: string, overrides?: Partial<UpgradeTask>): UpgradeTask;
  /** Task of an upgrade to an image with NVIDIA's driver. Default: the schematic `gpu`. */
  gpuTask(overrides?: Partial<UpgradeTask>, schematicId?: string): UpgradeTask;
  /** Task of `adopt` and `release`: a stack's patches for NVIDIA's modules, and further ones. */
  adoptTask(...furtherPatches: string[]): object;
  /** Console output since the machine was created, or last restored (`restore`). */
  console(): string;
  /** Number of successful installations in the console output. */
  installationCount(): number;
  /** Whether an upgrade is unconfirmed: META's key 0x06 then names the image for a rollback. */
  isUpgradeUnconfirmed(): Promise<boolean>;
  /** Restores a saved state of the machine. */
  restore(name: string): Promise<void>;
  close(): Promise<void>;
}

const run = promisify(execFile);

const patches = [
  "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters:\n          - NVreg_PreserveVideoMemoryAllocations=1\n      - name: nvidia_uvm\n      - name: nvidia_drm\n      - name: nvidia_modeset\n",
  "machine:\n  sysctls:\n    net.core.bpf_jit_harden: '1'\n",
];

const schematicOf = (...extensions: string[]): string =>
  stringify({
    customization: {
      systemExtensions: {
        officialExtensions: extensions.map((name) => `siderolabs/nvidia-${name}`),
      },
    },
  });
const plainSchematic = "customization: {}\n";
const gpuSchematic = schematicOf("container-toolkit-lts", "open-gpu-kernel-modules-lts");

/** Kernel argument of the schematic `argument`. */
export const imageArgument = "lab.image=1";
const argumentSchematic = gpuSchematic.replace(
  "customization:\n",
  `customization:\n  extraKernelArgs:\n    - ${imageArgument}\n`,
);

/** Kernel arguments with which the kernel finds no init, and reboots. */
export const noInit = ["rdinit=/is-not-there", "panic=5"];

/** Owner's configuration documents with which a machine uses only this registry and no external network. */
const machinePatch = (port: number, image: string): object => ({
  machine: {
    install: { disk: "/dev/vda", image },
    registries: { mirrors: { "*": { endpoints: [`http://10.0.2.2:${port}`] } } },
    time: { disabled: true },
    features: {
      hostDNS: { enabled: false, forwardKubeDNSToHost: false },
      kubePrism: { enabled: false },
    },
    kubelet: { skipNodeRegistration: true },
  },
  cluster: { discovery: { enabled: false } },
});

/**
 * Follows a service's log over reboots. From 1.14 on Talos writes its messages about an installation only to machined's
 * log (internal/app/lifecycle/lifecycle.go), and not to the console.
 */
function followLog(program: string, args: string[]): { lines: string[]; stop(): void } {
  const lines: string[] = [];
  // Each connection begins with the log's lines so far; their times tell them apart.
  const knownLines = new Set<string>();
  let child: ChildProcess | undefined;
  let stopped = false;
  const follow = (): void => {
    if (stopped) return;
    child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], env: process.env });
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (knownLines.has(line)) return;
      knownLines.add(line);
      lines.push(line);
    });
    child.once("close", () => setTimeout(follow, 500).unref());
  };
  follow();
  return {
    lines,
    stop: () => {
      stopped = true;
      child?.kill();
    },
  };
}

/** Encrypts the volume of what Talos runs with a key in the TPM. */
const encryptedEphemeral = {
  apiVersion: "v1alpha1",
  kind: "VolumeConfig",
  name: "EPHEMERAL",
  encryption: { provider: "luks2", keys: [{ slot: 0, tpm: {} }] },
};

/**
 * Under Secure Boot Talos' kernel is locked down, and then starts no unsigned kernel itself (siderolabs/pkgs#1681). The
 * lab's is not, so that it loads unsigned modules.
 */
const withoutKexec = { machine: { sysctls: { "kernel.kexec_load_disabled": "1" } } };

/**
 * Starts a machine from its first power-on, until it is a worker that runs and is ready.
 *
 * @param options.secure whether its firmware enforces Secure Boot, with keys of the lab's own. Its volume EPHEMERAL is
 * then encrypted with a key in its TPM. Images of another signer are under `untrusted/`.
 */
export async function startTestBed({ secure = false } = {}): Promise<TestBed> {
  const workspace = openWorkspace();
  const dir = (...names: string[]): string => path.join(workspace.dir, ...names);
  const images = await provideTalos(RELEASE);
  const program = images.talosctl ?? (await provideTools({ only: ["talosctl"] })).talosctl;
  const signed = secure ? await provideSigned(images, program) : undefined;
  const imageFactory = await (signed?.factory("trusted", dir("factory")) ??
    images.factory(dir("factory")));
  const otherFactory = await signed?.factory("untrusted", dir("untrusted"));
  const front = await startFront(
    RELEASE,
    imageFactory,
    otherFactory === undefined ? {} : { factories: { untrusted: otherFactory.port } },
  );
  const installer = secure ? "metal-installer-secureboot" : "metal-installer";
  /** Registers a schematic, and builds its installer, so that no machine waits for it. */
  const buildInstaller = async (
    schematic: string,
    name = installer,
    { url, errors, register } = imageFactory,
  ): Promise<string> => {
    const id = await register(schematic);
    const response = await fetch(`${url}/v2/${name}/${id}/manifests/${RELEASE}`);
    if (!response.ok) throw new Error(`no installer of ${schematic}: ${errors.join("\n")}`);
    return id;
  };
  if (otherFactory !== undefined) {
    await buildInstaller(gpuSchematic, "metal-installer");
    await buildInstaller(gpuSchematic, installer, otherFactory);
  }
  const schematics = {
    plain: await buildInstaller(plainSchematic),
    gpu: await buildInstaller(gpuSchematic),
    argument: await buildInstaller(argumentSchematic),
    modules: await buildInstaller(schematicOf("open-gpu-kernel-modules-lts")),
    broken: await buildInstaller(stringify({ customization: { extraKernelArgs: [...noInit] } })),
    empty: "e".repeat(64),
  };
  await run(program, ["gen", "secrets", "-o", dir("secrets.yaml"), "--talos-version", RELEASE]);
  const { certs } = parse(fs.readFileSync(dir("secrets.yaml"), "utf8")) as {
    certs: { os: Record<string, string> };
  };
  fs.mkdirSync(dir("authority"));
  for (const kind of ["crt", "key"])
    fs.writeFileSync(dir(`authority/ca.${kind}`), Buffer.from(certs.os[kind]!, "base64"), {
      mode: 0o600,
    });
  const disk = signed?.disk ?? (BOOT === "systemd-boot" ? images.disk : await images.grubDisk());
  const machine = await startMachine({ ...images, disk }, dir("machine"), {
    authority: dir("authority"),
    firmware: BOOT === "grub-bios" ? "bios" : "uefi",
    ...(signed === undefined ? {} : { tpm: true, variables: signed.variables }),
  });
  const installerOf = (id: string): string =>
    id === schematics.empty
      ? `ghcr.io/siderolabs/installer-base:${RELEASE}`
      : `factory.talos.dev/${installer}/${id}:${RELEASE}`;
  const image = installerOf(schematics.plain);
  const documents = [
    ...(images.talosctl === undefined
      ? [machinePatch(front.port, image)]
      : [
          ...ownDocuments(`http://10.0.2.2:${front.port}`, image),
          { apiVersion: "v1alpha1", kind: "KubeNodeConfig", skipNodeRegistration: true },
        ]),
    parse(hostnamePatch(NODE, RELEASE)) as object,
    ...(secure ? [encryptedEphemeral, withoutKexec] : []),
  ];
  // Each document is a patch of its own: for Talos before 1.12, two of them change the same document.
  const patchFlags = documents.flatMap((document) => ["--config-patch", JSON.stringify(document)]);
  const kubernetesVersion = kubeletImage(RELEASE).split(":")[1]!;
  const inputFlags = ["--with-secrets", dir("secrets.yaml"), ...patchFlags];
  await run(program, [
    "gen",
    "config",
    "lab",
    `https://${trustdAddress}:6443`,
    "--additional-sans",
    "127.0.0.1",
    "--kubernetes-version",
    kubernetesVersion,
    "--talos-version",
    RELEASE,
    ...inputFlags,
    "--output-types",
    "worker,talosconfig",
    "-o",
    dir("config"),
  ]);
  await bundle(dir("program"), ["program"]);
  const configOf = (endpoint: string): string[] => [
    "--talosconfig",
    dir("config/talosconfig"),
    "-e",
    endpoint,
    "-n",
    machine.address,
  ];
  // An upgrade installs while its client waits.
  const runTalosctl = async (args: string[]): Promise<string> =>
    (
      await run(program, args, {
        timeout: args[0] === "upgrade" ? 900_000 : 30_000,
        maxBuffer: 1 << 24,
      })
    ).stdout;
  const talosctlAt: TestBed["talosctlAt"] = (endpoint, ...args) =>
    runTalosctl([...args, ...configOf(endpoint)]);
  const talosctl: TestBed["talosctl"] = (...args) => talosctlAt(machine.endpoint, ...args);

  let consoleStart = 0;
  const machinedLog = semver.gte(RELEASE, "1.14.0")
    ? followLog(program, ["logs", "machined", "--follow", ...configOf(machine.endpoint)])
    : undefined;
  const console = (): string =>
    `${machine.console().slice(consoleStart)}\n${machinedLog?.lines.join("\n") ?? ""}`;
  const waitUntil: TestBed["waitUntil"] = async (description, minutes, condition) => {
    const deadline = Date.now() + minutes * 60_000;
    let lastError: unknown = "the condition did not hold";
    const tryCondition = (): Promise<boolean> =>
      condition().catch((error: unknown) => {
        lastError = error;
        return false;
      });
    while (Date.now() < deadline) {
      if (await tryCondition()) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    throw new Error(
      `${description}: not within ${minutes} min; last: ${String(lastError)}\n${console().slice(-3000)}`,
    );
  };

  const applyArgs = [
    "apply-config",
    "--insecure",
    "-n",
    machine.endpoint,
    "-f",
    dir("config/worker.yaml"),
  ];
  await waitUntil("maintenance mode takes a configuration", 10, async () => {
    await runTalosctl(applyArgs);
    return true;
  });

  const isRunning = async (): Promise<boolean> =>
    /stage: running[^]*ready: true/.test(await talosctl("get", "machinestatus", "-o", "yaml"));
  await waitUntil("the machine runs and is ready", 15, isRunning);

  const configurations = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      parseResources(await talosctl("get", "machineconfig", "-o", "json")).map(
        ({ metadata, spec }) => [metadata.id, spec as string],
      ),
    );
  const activeConfiguration = async (): Promise<string> => (await configurations())["v1alpha1"]!;
  const configuration = async (): Promise<string> =>
    (await configurations())["persistent"] ?? (await activeConfiguration());
  const hasDriver = (id: string): boolean => id === schematics.gpu || id === schematics.argument;
  const upgradeTaskFor: TestBed["upgradeTaskFor"] = (schematicId, overrides = {}) =>
    upgradeTask.parse({
      machine: NODE,
      address: machine.address,
      role: "worker",
      talosVersion: RELEASE,
      schematicId,
      installerImage: installerOf(schematicId),
      image: {
        extensions: hasDriver(schematicId) ? gpuSchematic.match(/siderolabs\/\S+/g) : [],
        // Every image of the lab has these arguments (lab/talos/index.ts), which Talos' own images lack: a stack would
        // list them.
        kernelArgs: [
          "talos.dashboard.disabled=1",
          "oops=panic",
          ...(schematicId === schematics.broken ? noInit : []),
          ...(schematicId === schematics.argument ? [imageArgument] : []),
        ],
      },
      configurationHash: "1",
      modules: hasDriver(schematicId)
        ? ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"]
        : [],
      extensionServices: [],
      drain: false,
      otherControlPlanes: [],
      timeouts: { pull: "10m", drain: "2m", reboot: "20m", verify: "5m" },
      ...overrides,
    });

  return {
    dir: workspace.dir,
    schematicTexts: [plainSchematic, gpuSchematic, argumentSchematic],
    talosctlAt,
    machine,
    imageFactory,
    schematics,
    talosctl,
    waitUntil,
    isRunning,
    upgradeTaskFor,
    console,
    configuration,
    activeConfiguration,
    apply: async (change, mode = "staged") => {
      const file = dir("owners.yaml");
      fs.writeFileSync(file, typeof change === "string" ? change : await configuration());
      if (typeof change !== "string")
        await runTalosctl([
          "machineconfig",
          "patch",
          file,
          "--patch",
          JSON.stringify(change),
          "-o",
          file,
        ]);
      await talosctl("apply-config", "--mode", mode, "-f", file);
    },
    schematic: async () =>
      parseResources(await talosctl("get", "extensions", "-o", "json")).find(
        ({ spec }) => spec.metadata.name === "schematic",
      )?.spec.metadata.version as string,
    gpuTask: (overrides = {}, schematicId = schematics.gpu) =>
      upgradeTaskFor(schematicId, {
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          ...(injectionOf(RELEASE) === "cdi"
            ? [{ name: "ext-nvidia-cdi-gen", state: "Finished" as const }]
            : []),
        ],
        ...overrides,
      }),
    adoptTask: (...furtherPatches) => ({
      machine: NODE,
      address: machine.address,
      patches: [...patches, ...furtherPatches],
    }),
    // From 1.14 on Talos logs `upgrade completed {…, "exit_code": 0}` (internal/app/lifecycle/lifecycle.go).
    installationCount: () =>
      console().split(/upgrade (?:completed )?successful|upgrade completed \{.*"exit_code": 0/)
        .length - 1,
    isUpgradeUnconfirmed: async () => / 0x06 /.test(await talosctl("get", "metakeys")),
    restore: async (name) => {
      consoleStart = machine.console().length;
      machinedLog?.lines.splice(0);
      await machine.restore(name);
    },
    bootId: async () => (await talosctl("read", "/proc/sys/kernel/random/boot_id")).trim(),
    startProgram: (verb, task, env = {}) => start(dir("program/program.js"), verb, task, env),
    close: async () => {
      machinedLog?.stop();
      await machine.cutPower();
      await front.close();
      await imageFactory.stop();
      await otherFactory?.stop();
      await workspace.remove();
    },
  };

  function start(
    file: string,
    verb: string,
    task: object,
    env: NodeJS.ProcessEnv,
  ): ReturnType<TestBed["startProgram"]> {
    const startTime = performance.now();
    const child = spawn(process.execPath, [file, verb], {
      env: {
        PATH: process.env.PATH,
        HOME: workspace.dir,
        TMPDIR: process.env.TMPDIR,
        TALOS_GPU_LAB: workspace.dir,
        TALOS_GPU_TALOSCTL: program,
        TALOS_GPU_ENDPOINT: machine.endpoint,
        TALOS_GPU_TALOSCONFIG: fs.readFileSync(dir("config/talosconfig"), "utf8"),
        ...env,
      },
    });
    let [stdout, output] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stdin.end(JSON.stringify(task));
    const result = new Promise<ProgramResult>((resolve) =>
      child.on("close", (code) => {
        const answer = (stdout === "" ? {} : JSON.parse(stdout)) as Record<string, unknown>;
        process.stderr.write(
          `${verb}: exit ${code} after ${Math.round((performance.now() - startTime) / 1000)} s\n${output}\n`,
        );
        resolve({ code, answer, output, seconds: (performance.now() - startTime) / 1000 });
      }),
    );
    return { child, result };
  }
}
