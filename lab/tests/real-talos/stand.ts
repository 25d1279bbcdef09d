import { execFile, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import * as semver from "semver";
import { parse, stringify } from "yaml";
import { bundle } from "../../../generate/package/bundles";
import { upgradeTask, type UpgradeTask } from "../../../components/program/task";
import { eraOf } from "../../../components/recipe/facts/talos-release";
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

const asked = process.env.TALOS_GPU_REAL_TALOS ?? "";

/** Talos release of the machine; `TALOS_GPU_REAL_TALOS=v1.12.6` selects one. */
export const RELEASE = /^v\d/.test(asked) ? asked : "v1.13.0";

/**
 * Boot loader. `TALOS_GPU_REAL_BOOT=grub-bios` and `grub-uefi` select GRUB, which machines installed before Talos 1.10
 * keep.
 */
export const BOOT = bootOf(process.env.TALOS_GPU_REAL_BOOT ?? "systemd-boot");

function bootOf(said: string): "systemd-boot" | "grub-bios" | "grub-uefi" {
  if (said === "systemd-boot" || said === "grub-bios" || said === "grub-uefi") return said;
  throw new Error(`TALOS_GPU_REAL_BOOT: ${said} is none of systemd-boot, grub-bios, grub-uefi`);
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
export const whyNotReal = (by: readonly string[]): string[] =>
  by.includes(asked)
    ? whyNoMachine()
    : [`it is not asked for: TALOS_GPU_REAL_TALOS=${by.join(" or ")} does`];

/** Result of a run of the machine program. */
export interface Ended {
  code: number | null;
  /** Its answer; empty if it gave none. */
  answer: Record<string, any>;
  /** Its output, without the times of its phases. */
  said: string;
  seconds: number;
}

/** A worker without a cluster, with a registry of installers, and functions that run the product's machine program. */
export interface Stand {
  machine: RealMachine;
  imageFactory: ImageFactory;
  /**
   * Schematics: without extensions, with NVIDIA's, with NVIDIA's except the toolkit, with a kernel that does not boot,
   * and with an installer that lacks the image.
   */
  schematics: Record<"plain" | "gpu" | "modules" | "broken" | "empty", string>;
  /** Folder of the lab. */
  dir: string;
  /** Contents of the schematics. */
  texts: readonly string[];
  /**
   * Runs talosctl on the machine; `talosctlOf` on a machine with the same authority and address behind another
   * endpoint.
   */
  talosctl(...args: string[]): Promise<string>;
  talosctlOf(endpoint: string, ...args: string[]): Promise<string>;
  /** Applies a whole configuration, or the present one merged with a patch, as an owner does. Default: staged. */
  apply(change: object | string, mode?: "staged" | "auto"): Promise<void>;
  /**
   * Configuration of the next boot, which `adopt` stages. Talos lists it once a configuration was applied in this boot.
   */
  configuration(): Promise<string>;
  /** The running configuration. */
  active(): Promise<string>;
  schematic(): Promise<string>;
  bootId(): Promise<string>;
  /** Whether the machine runs and is ready. */
  runs(): Promise<boolean>;
  /** Waits until a condition on Talos' answers holds. */
  until(what: string, minutes: number, is: () => Promise<boolean>): Promise<void>;
  start(
    verb: string,
    task: object,
    env?: NodeJS.ProcessEnv,
  ): { child: ChildProcess; ended: Promise<Ended> };
  upgradeTo(schematicId: string, more?: Partial<UpgradeTask>): UpgradeTask;
  /** Task of an upgrade to NVIDIA's image. */
  gpuTask(more?: Partial<UpgradeTask>): UpgradeTask;
  /** Task of `adopt` and `release`: a stack's patches for NVIDIA's modules, and further ones. */
  adoption(...more: string[]): object;
  /** Console output since the machine was created, or last restored (`restore`). */
  console(): string;
  /** Number of successful installations in the console output. */
  installed(): number;
  /** Whether an upgrade is unconfirmed: META's key 0x06 then names the image for a rollback. */
  unconfirmed(): Promise<boolean>;
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
const plain = "customization: {}\n";
const gpuSchematic = schematicOf("container-toolkit-lts", "open-gpu-kernel-modules-lts");

/** Kernel arguments with which the kernel finds no init, and reboots. */
const noInit = ["rdinit=/is-not-there", "panic=5"];

/** Owner's configuration documents with which a machine uses only this registry and no external network. */
const ownPatch = (port: number, image: string): object => ({
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
 * Follows a service's log over reboots. From 1.14 on Talos writes what it says of an installation only to machined's
 * log (internal/app/lifecycle/lifecycle.go), and not to the console.
 */
function followLog(program: string, args: string[]): { lines: string[]; stop(): void } {
  const lines: string[] = [];
  // Each connection begins with the log's lines so far; their times tell them apart.
  const known = new Set<string>();
  let child: ChildProcess | undefined;
  let stopped = false;
  const follow = (): void => {
    if (stopped) return;
    child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], env: process.env });
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (known.has(line)) return;
      known.add(line);
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
const sealedEphemeral = {
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
 * then encrypted with a key in its TPM. Images of another signer are under `theirs/`.
 */
export async function openStand({ secure = false } = {}): Promise<Stand> {
  const workspace = openWorkspace();
  const dir = (...names: string[]): string => path.join(workspace.dir, ...names);
  const images = await provideTalos(RELEASE);
  const program = images.talosctl ?? (await provideTools({ only: ["talosctl"] })).talosctl;
  const signed = secure ? await provideSigned(images, program) : undefined;
  const imageFactory = await (signed?.factory("ours", dir("factory")) ??
    images.factory(dir("factory")));
  const theirs = await signed?.factory("theirs", dir("theirs"));
  const front = await startFront(
    RELEASE,
    imageFactory,
    theirs === undefined ? {} : { factories: { theirs: theirs.port } },
  );
  const installer = secure ? "metal-installer-secureboot" : "metal-installer";
  /** Registers a schematic, and builds its installer, so that no machine waits for it. */
  const made = async (
    schematic: string,
    name = installer,
    { url, errors, register } = imageFactory,
  ): Promise<string> => {
    const id = await register(schematic);
    const answer = await fetch(`${url}/v2/${name}/${id}/manifests/${RELEASE}`);
    if (!answer.ok) throw new Error(`no installer of ${schematic}: ${errors.join("\n")}`);
    return id;
  };
  if (theirs !== undefined) {
    await made(gpuSchematic, "metal-installer");
    await made(gpuSchematic, installer, theirs);
  }
  const schematics = {
    plain: await made(plain),
    gpu: await made(gpuSchematic),
    modules: await made(schematicOf("open-gpu-kernel-modules-lts")),
    broken: await made(stringify({ customization: { extraKernelArgs: [...noInit] } })),
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
  const own = [
    ...(images.talosctl === undefined
      ? [ownPatch(front.port, image)]
      : [
          ...ownDocuments(`http://10.0.2.2:${front.port}`, image),
          { apiVersion: "v1alpha1", kind: "KubeNodeConfig", skipNodeRegistration: true },
        ]),
    parse(hostnamePatch(NODE, RELEASE)) as object,
    ...(secure ? [sealedEphemeral, withoutKexec] : []),
  ];
  fs.writeFileSync(
    dir("patch.yaml"),
    own.map((document) => JSON.stringify(document)).join("\n---\n"),
  );
  const kubernetesVersion = kubeletImage(RELEASE).split(":")[1]!;
  const from = ["--with-secrets", dir("secrets.yaml"), "--config-patch", `@${dir("patch.yaml")}`];
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
    ...from,
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
  const call = async (args: string[]): Promise<string> =>
    (
      await run(program, args, {
        timeout: args[0] === "upgrade" ? 900_000 : 30_000,
        maxBuffer: 1 << 24,
      })
    ).stdout;
  const talosctlOf: Stand["talosctlOf"] = (endpoint, ...args) =>
    call([...args, ...configOf(endpoint)]);
  const talosctl: Stand["talosctl"] = (...args) => talosctlOf(machine.endpoint, ...args);

  let begin = 0;
  const machined = semver.gte(RELEASE, "1.14.0")
    ? followLog(program, ["logs", "machined", "--follow", ...configOf(machine.endpoint)])
    : undefined;
  const console = (): string =>
    `${machine.console().slice(begin)}\n${machined?.lines.join("\n") ?? ""}`;
  const until: Stand["until"] = async (what, minutes, is) => {
    const end = Date.now() + minutes * 60_000;
    let last: unknown = "it was not so";
    while (Date.now() < end) {
      if (await is().catch((error: unknown) => ((last = error), false))) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    throw new Error(
      `${what}: not within ${minutes} min; last: ${String(last)}\n${console().slice(-3000)}`,
    );
  };
  const done = async (work: Promise<unknown>): Promise<true> => (await work, true as const);
  const apply = [
    "apply-config",
    "--insecure",
    "-n",
    machine.endpoint,
    "-f",
    dir("config/worker.yaml"),
  ];
  await until("maintenance mode takes a configuration", 10, () => done(call(apply)));

  const runs = async (): Promise<boolean> =>
    /stage: running[^]*ready: true/.test(await talosctl("get", "machinestatus", "-o", "yaml"));
  await until("the machine runs and is ready", 15, runs);

  const configurations = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      parseResources(await talosctl("get", "machineconfig", "-o", "json")).map(
        ({ metadata, spec }) => [metadata.id, spec as string],
      ),
    );
  const active = async (): Promise<string> => (await configurations())["v1alpha1"]!;
  const configuration = async (): Promise<string> =>
    (await configurations())["persistent"] ?? (await active());
  const upgradeTo: Stand["upgradeTo"] = (schematicId, more = {}) =>
    upgradeTask.parse({
      machine: NODE,
      address: machine.address,
      role: "worker",
      talosVersion: RELEASE,
      schematicId,
      installerImage: installerOf(schematicId),
      image: {
        extensions: schematicId === schematics.gpu ? gpuSchematic.match(/siderolabs\/\S+/g) : [],
        // Every image of the lab has these arguments (lab/talos/index.ts), which Talos' own images lack: a stack would
        // list them.
        kernelArgs: [
          "talos.dashboard.disabled=1",
          "oops=panic",
          ...(schematicId === schematics.broken ? noInit : []),
        ],
      },
      configurationHash: "1",
      modules:
        schematicId === schematics.gpu
          ? ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"]
          : [],
      extensionServices: [],
      drain: false,
      otherControlPlanes: [],
      timeouts: { pull: "10m", drain: "2m", reboot: "20m", verify: "5m" },
      ...more,
    });

  return {
    dir: workspace.dir,
    texts: [plain, gpuSchematic],
    talosctlOf,
    machine,
    imageFactory,
    schematics,
    talosctl,
    until,
    runs,
    upgradeTo,
    console,
    configuration,
    active,
    apply: async (change, mode = "staged") => {
      const file = dir("owners.yaml");
      fs.writeFileSync(file, typeof change === "string" ? change : await configuration());
      if (typeof change !== "string")
        await call(["machineconfig", "patch", file, "--patch", JSON.stringify(change), "-o", file]);
      await talosctl("apply-config", "--mode", mode, "-f", file);
    },
    schematic: async () =>
      parseResources(await talosctl("get", "extensions", "-o", "json")).find(
        ({ spec }) => spec.metadata.name === "schematic",
      )?.spec.metadata.version as string,
    gpuTask: (more = {}) =>
      upgradeTo(schematics.gpu, {
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          ...(eraOf(RELEASE) === "cdi"
            ? [{ name: "ext-nvidia-cdi-gen", state: "Finished" as const }]
            : []),
        ],
        ...more,
      }),
    adoption: (...more) => ({
      machine: NODE,
      address: machine.address,
      patches: [...patches, ...more],
    }),
    // From 1.14 on Talos logs `upgrade completed {…, "exit_code": 0}` (internal/app/lifecycle/lifecycle.go).
    installed: () =>
      console().split(/upgrade (?:completed )?successful|upgrade completed \{.*"exit_code": 0/)
        .length - 1,
    unconfirmed: async () => / 0x06 /.test(await talosctl("get", "metakeys")),
    restore: async (name) => {
      begin = machine.console().length;
      machined?.lines.splice(0);
      await machine.restore(name);
    },
    bootId: async () => (await talosctl("read", "/proc/sys/kernel/random/boot_id")).trim(),
    start: (verb, task, env = {}) => start(dir("program/program.js"), verb, task, env),
    close: async () => {
      machined?.stop();
      await machine.cutPower();
      await front.close();
      await imageFactory.stop();
      await theirs?.stop();
      await workspace.remove();
    },
  };

  function start(
    file: string,
    verb: string,
    task: object,
    env: NodeJS.ProcessEnv,
  ): ReturnType<Stand["start"]> {
    const began = performance.now();
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
    let [stdout, said] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stdin.end(JSON.stringify(task));
    const ended = new Promise<Ended>((resolve) =>
      child.on("close", (code) => {
        const answer = (stdout === "" ? {} : JSON.parse(stdout)) as Record<string, unknown>;
        process.stderr.write(
          `${verb}: exit ${code} after ${Math.round((performance.now() - began) / 1000)} s\n${said}\n`,
        );
        resolve({ code, answer, said, seconds: (performance.now() - began) / 1000 });
      }),
    );
    return { child, ended };
  }
}
