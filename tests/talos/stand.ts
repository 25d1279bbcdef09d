import { execFile, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { bundle } from "../../components/bundles";
import { upgradeTask, type UpgradeTask } from "../../components/machine/program/task";
import {
  kubernetesImages,
  provideTalos,
  startMachine,
  whyNoMachine,
  type RealMachine,
  type Registry,
} from "../../lab/talos";
import { openWorkspace } from "../../lab/session/workspace";
import { provideTools } from "../../lab/tools";

/** The Talos release that is run. */
export const RELEASE = "v1.13.0";

/** Name of the machine's node. */
export const NODE = "talos-lab";

/** Why no test has real Talos here: it is not asked for, or cannot be. Empty: they have. */
export const whyNotReal = (): string[] =>
  process.env.TALOS_GPU_REAL_TALOS === "1" ? whyNoMachine() : ["it is not asked for: TALOS_GPU_REAL_TALOS=1 does"];

/** How a run of the machine program ended. */
export interface Ended {
  code: number | null;
  /** Its answer, where it gave one. */
  answer: Record<string, any>;
  /** What it said, without the times of its phases. */
  said: string;
  seconds: number;
}

/** One machine that is its own control plane, with installers in reach and the product's machine program at hand. */
export interface Stand {
  machine: RealMachine;
  registry: Registry;
  /** The schematic without extensions, and the one with NVIDIA's. */
  schematics: { plain: string; gpu: string };
  /** Runs talosctl on the machine. */
  talosctl(...args: string[]): Promise<string>;
  /** The configuration of the next boot: what `adopt` writes is staged. Talos lists it as of the first one applied in a boot. */
  configuration(): Promise<string>;
  bootId(): Promise<string>;
  /** Waits until what Talos says of itself is so. */
  until(what: string, minutes: number, is: () => Promise<boolean>): Promise<void>;
  start(verb: string, task: object, env?: NodeJS.ProcessEnv): { child: ChildProcess; ended: Promise<Ended> };
  upgradeTo(schematicId: string, more?: Partial<UpgradeTask>): UpgradeTask;
  close(): Promise<void>;
}

const run = promisify(execFile);

const gpuSchematic = `customization:
  systemExtensions:
    officialExtensions:
      - siderolabs/nvidia-container-toolkit-lts
      - siderolabs/nvidia-open-gpu-kernel-modules-lts
`;

/** What an owner writes into a configuration so that it works from this registry alone, without the outer world. */
const ownPatch = (port: number, image: string): object => ({
  machine: {
    install: { disk: "/dev/vda", image },
    registries: { mirrors: { "*": { endpoints: [`http://10.0.2.2:${port}`] } } },
    time: { disabled: true },
    features: { hostDNS: { enabled: false, forwardKubeDNSToHost: false }, kubePrism: { enabled: false } },
  },
  cluster: {
    allowSchedulingOnControlPlanes: true,
    discovery: { enabled: false },
    network: { cni: { name: "none" } },
    ...{ proxy: { disabled: true }, coreDNS: { disabled: true } },
    etcd: { image: `registry.k8s.io/${Object.keys(kubernetesImages).find((name) => name.startsWith("etcd:"))}` },
  },
});

/** Brings a machine from its first power-on to a cluster of one node. */
export async function openStand(): Promise<Stand> {
  const workspace = openWorkspace();
  const dir = (...names: string[]): string => path.join(workspace.dir, ...names);
  const images = await provideTalos(RELEASE);
  const { talosctl: program } = await provideTools({ only: ["talosctl"] });
  const registry = await images.registry(dir("blobs"));
  const schematics = {
    plain: await images.installer(registry, "customization: {}\n"),
    gpu: await images.installer(registry, gpuSchematic),
  };
  const machine = await startMachine(images, dir("machine"));
  const installerOf = (id: string): string => `factory.talos.dev/metal-installer/${id}:${RELEASE}`;
  const own = [
    ownPatch(registry.port, installerOf(schematics.plain)),
    // `gen config` writes one with a name of the machine's own choice.
    { apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: NODE },
  ];
  fs.writeFileSync(dir("patch.yaml"), own.map((document) => JSON.stringify(document)).join("\n---\n"));
  const generated = "--additional-sans 127.0.0.1 --kubernetes-version 1.36.3 --config-patch".split(" ");
  const target = [`@${dir("patch.yaml")}`, "-o", dir("config")];
  await run(program, ["gen", "config", "lab", `https://${machine.address}:6443`, ...generated, ...target]);
  bundle(dir("program"), ["program", "kubernetes-client"]);
  const config = ["--talosconfig", dir("config/talosconfig"), "-e", machine.endpoint, "-n", machine.address];
  const call = async (args: string[]): Promise<string> =>
    (await run(program, args, { timeout: 30_000, maxBuffer: 1 << 24 })).stdout;
  const talosctl = (...args: string[]): Promise<string> => call([...args, ...config]);

  const until: Stand["until"] = async (what, minutes, is) => {
    const end = Date.now() + minutes * 60_000;
    let last: unknown = "it was not so";
    while (Date.now() < end) {
      if (await is().catch((error: unknown) => ((last = error), false))) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    throw new Error(`${what}: not within ${minutes} min; last: ${String(last)}\n${machine.console().slice(-3000)}`);
  };
  const done = async (work: Promise<unknown>): Promise<true> => (await work, true as const);
  const apply = ["apply-config", "--insecure", "-n", machine.endpoint, "-f", dir("config/controlplane.yaml")];
  await until("maintenance mode takes a configuration", 10, () => done(call(apply)));
  await until("etcd is bootstrapped", 10, () => done(talosctl("bootstrap")));

  return {
    ...{ machine, registry, schematics, talosctl, until },
    configuration: async () => {
      const all = await talosctl("get", "machineconfig", "-o", "json");
      const resources = JSON.parse(`[${all.replace(/}\n{/g, "},\n{")}]`) as {
        metadata: { id: string };
        spec: string;
      }[];
      const of = (id: string): string | undefined => resources.find(({ metadata }) => metadata.id === id)?.spec;
      return of("persistent") ?? of("v1alpha1")!;
    },
    bootId: async () => (await talosctl("read", "/proc/sys/kernel/random/boot_id")).trim(),
    start: (verb, task, env = {}) => start(dir("program/program.js"), verb, task, env),
    upgradeTo: (schematicId, more = {}) =>
      upgradeTask.parse({
        ...{ machine: NODE, address: machine.address, role: "controlplane", talosVersion: RELEASE, schematicId },
        installerImage: installerOf(schematicId),
        image: {
          extensions: schematicId === schematics.gpu ? gpuSchematic.match(/siderolabs\/\S+/g) : [],
          // What every image of the lab has (lab/talos/index.ts) and Talos' own has not: a stack would list them.
          kernelArgs: ["talos.dashboard.disabled=1", "oops=panic"],
        },
        configurationHash: "1",
        modules: schematicId === schematics.gpu ? ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"] : [],
        extensionServices: [],
        drain: false,
        otherControlPlanes: [],
        timeouts: { pull: "10m", drain: "2m", reboot: "20m", verify: "5m" },
        ...more,
      }),
    close: async () => {
      await machine.cutPower();
      await registry.stop();
      await workspace.remove();
    },
  };

  function start(file: string, verb: string, task: object, env: NodeJS.ProcessEnv): ReturnType<Stand["start"]> {
    const began = performance.now();
    const child = spawn(process.execPath, [file, verb], {
      env: {
        ...{ PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, TALOS_GPU_LAB: workspace.dir },
        ...{ TALOS_GPU_TALOSCTL: program, TALOS_GPU_ENDPOINT: machine.endpoint },
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
        console.info(`${verb}: exit ${code} after ${Math.round((performance.now() - began) / 1000)} s\n${said}`);
        resolve({ code, answer, said, seconds: (performance.now() - began) / 1000 });
      }),
    );
    return { child, ended };
  }
}
