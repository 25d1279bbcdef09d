import { execFile } from "node:child_process";
import * as fs from "node:fs";
import type * as net from "node:net";
import * as path from "node:path";
import { promisify } from "node:util";
import { SecretFiles } from "../../components/clients/secret-files";
import { TalosMachine } from "../../components/clients/talos/talos-machine";
import { Talosctl } from "../../components/clients/talos/talosctl";
import type { ControlPlane } from "../controlplane";
import type { Machines, MachineState } from "../machines";
import {
  bootsOf,
  freePorts,
  served,
  startMachine,
  type ImageFactory,
  type Ports,
  type RealMachine,
} from "../talos";
import { startFront, type Front } from "../talos/front";
import { siteOf } from "../talos/site";
import type { LabOptions } from "../options";
import { spawnChild } from "../session/process";
import type { Tools } from "../tools";
import { until } from "../until";
import { talosconfigVia, type ExistingCluster } from "./existing-cluster";
import { assetTag, labGpu } from "./lab-gpu";
import { forward } from "./redirected-addresses";
import { Cluster } from "../kubernetes/cluster";
import { proxyToKubelets, allowJoining } from "./joining";
import { maintenanceState, readState } from "./machine-state";
import { bootstrapCluster, saveKubeconfig, controlPlaneOnMachine } from "./own-control-plane";
import type { RealImages, RealStack } from "./real-images";

/** Parts of a lab that exist before its machines. */
export interface LabParts extends RealStack {
  options: Pick<LabOptions, "card" | "consoles">;
  tools: Pick<Tools, "talosctl" | "controlplane" | "machines">;
  /** Folders with the programs of a real node; undefined where every node is emulated. */
  nodePrograms?: readonly string[];
  /** Undefined if one of the machines is the control plane. */
  controlPlane: ControlPlane | undefined;
  /** The Image Factory of real machines. */
  imageFactory?: ImageFactory;
  /** The user may still have to give its address. */
  kubernetes: Cluster;
  /** The Talos cluster before the stack; undefined if the stack makes its own from machines in maintenance mode. */
  existing: ExistingCluster | undefined;
}

/** Seconds within which a virtual machine must boot into maintenance mode, and accept its configuration. */
const bootSeconds = 900;

/**
 * Starts the stack's machines as virtual ones that run Talos itself. Machines of an existing cluster get the
 * configuration of their owner, and its control plane is bootstrapped. Machines of a stack that makes its own cluster
 * wait in maintenance mode.
 */
export async function startRealMachines(
  lab: LabParts,
  images: RealImages,
  say: (line: string) => void,
): Promise<{ machines: Machines; controlPlane: ControlPlane }> {
  const { session, spec, tools, existing } = lab;
  const { signal } = session;
  const site = siteOf(spec);
  const machineSpecs = Object.entries(spec.machines);
  let controlPlane = lab.controlPlane;
  /** The release that a machine runs; asked only if it may have changed since the start. */
  const releaseOf = async (name: string): Promise<string> => {
    if (lab.talosReleases.length === 1) return images.release;
    const { talosVersion } = await state(
      startedMachines.find(([otherName]) => otherName === name)![1],
    );
    if (talosVersion === "unknown") throw new Error(`${name} does not report its Talos release`);
    return talosVersion;
  };
  const forwardedPorts: Record<string, number> = {};
  if (lab.imageFactory !== undefined) {
    const front = await startImageServers(
      lab,
      images,
      releaseOf,
      () => controlPlane?.adminKubeconfig ?? "",
    );
    forwardedPorts[`${site.registry}:5000`] = front.port;
  }
  let authorityFolder: string | undefined;
  if (lab.controlPlane !== undefined) {
    forwardedPorts[`${site.cluster}:${new URL(site.endpoint).port || 443}`] = Number(
      new URL(lab.controlPlane.server).port,
    );
    await allowJoining(lab.controlPlane.adminKubeconfig, existing!.secrets);
    authorityFolder = session.dir("authority");
    fs.mkdirSync(authorityFolder, { mode: 0o700 });
    fs.copyFileSync(existing!.caCert, path.join(authorityFolder, "ca.crt"));
    fs.copyFileSync(existing!.caKey, path.join(authorityFolder, "ca.key"));
  }
  const ports: Record<string, Ports> = {};
  for (const [name] of machineSpecs) ports[name] = await freePorts();
  const startedMachines: [string, RealMachine][] = [];
  const powerOn = async (name: string): Promise<void> => {
    const { address, role, gpus = [] } = spec.machines[name]!;
    const otherMachines = machineSpecs.filter(([otherName]) => otherName !== name);
    const otherMachinesPorts = otherMachines.flatMap(([otherName, otherMachine]) =>
      served.map((port) => [`${otherMachine.address}:${port}`, ports[otherName]![port]] as const),
    );
    const { card } = lab.options;
    const machine = await startMachine(images, session.dir("machines", name), {
      memory: card !== undefined ? 16_384 : role === "controlplane" ? 4096 : 2560,
      // Without KVM, a booting worker takes so much of two cores that the control plane misses its probes. Its kubelet
      // then restarts it again and again.
      yields: role === "worker" && lab.controlPlane === undefined,
      ...(card === undefined ? {} : { device: card }),
      ...(authorityFolder === undefined ? {} : { authority: authorityFolder }),
      network: {
        ...site,
        address,
        trustd: site.cluster,
        forwardedPorts: { ...forwardedPorts, ...Object.fromEntries(otherMachinesPorts) },
      },
      ports: ports[name]!,
      cards: assetTag(gpus),
      signal,
    });
    startedMachines.push([name, machine]);
    session.onClose(async () => {
      await machine.cutPower();
      if (lab.options.consoles === undefined) return;
      fs.mkdirSync(lab.options.consoles, { recursive: true });
      fs.writeFileSync(path.join(lab.options.consoles, `${name}.log`), machine.console());
    });
    say(`${name}: powered on`);
  };
  /** Starts machines, until they are in maintenance mode or have taken their configuration there. */
  const start = async (names: readonly string[]): Promise<void> => {
    for (const name of names) await powerOn(name);
    for (const [name, machine] of startedMachines) {
      if (!names.includes(name)) continue;
      const file = existing?.configurations[name];
      const problem = await awaitMaintenance(tools.talosctl, machine, file, signal);
      if (problem !== "")
        throw new Error(
          `machine ${name}: it accepted no configuration in maintenance mode within ${bootSeconds} s, so it cannot join the cluster; the end of its console output:\n` +
            `${lastLines(machine).join("\n")}\n(last: ${problem})`,
        );
      say(`${name}: ${file === undefined ? "is" : "took its configuration"} in maintenance mode`);
    }
  };

  const names = machineSpecs.map(([name]) => name);
  const entryName = names.find((name) => spec.machines[name]!.role === "controlplane") ?? names[0]!;
  const otherNames = names.filter((name) => name !== entryName);
  // On two busy cores, a control plane of Talos 1.11 that started together with a worker was not ready in half an hour.
  const startsAlone = lab.controlPlane === undefined && existing !== undefined;
  await start(startsAlone ? [entryName] : [entryName, ...otherNames]);
  const entryMachine = startedMachines[0]![1];
  const talosctl = clientOf(lab, entryMachine);
  if (lab.controlPlane !== undefined) {
    const kubelets = startedMachines.map(([, machine]) => machine);
    session.onClose(await proxyToKubelets(lab.controlPlane.nodes, kubelets));
  } else {
    controlPlane = controlPlaneOnMachine(session.dir("own-control-plane"), entryMachine.kubernetes);
    if (existing !== undefined) {
      await bootstrapCluster(controlPlane, {
        talosctl: talosctl()!,
        address: entryMachine.address,
        signal,
      });
      lab.kubernetes = Cluster.of(controlPlane.adminKubeconfig);
      say(`${entryName}: its control plane serves`);
    }
  }
  if (startsAlone) await start(otherNames);

  let requests = 0;
  const entryForwarder = await forward("127.0.0.1", 0, [entryMachine.endpoint]);
  entryForwarder.on("connection", () => requests++);
  session.onClose(() => void entryForwarder.close());
  const files = new SecretFiles();
  session.onClose(() => files.close());
  const state = async (machine: RealMachine): Promise<MachineState> => {
    const client = talosctl();
    const reported =
      client === undefined
        ? maintenanceState(images.release)
        : await readState(new TalosMachine(client, machine.address, files));
    const events = lastLines(machine).map((line) => ({ at: 0, what: line }));
    const reboots = bootsOf(machine.console()) - 1;
    return {
      ...reported,
      address: machine.address,
      reboots,
      events,
      requests: machine === entryMachine ? requests : 0,
    };
  };
  const maintained = existing === undefined ? startedMachines : [];
  const machines: Machines = {
    api: `127.0.0.1:${(entryForwarder.address() as net.AddressInfo).port}`,
    maintenance: Object.fromEntries(
      maintained.map(([, { address, endpoint }]) => [address, endpoint]),
    ),
    kubeconfig: (text) => {
      const saved = saveKubeconfig(controlPlane!, text);
      lab.kubernetes = Cluster.of(controlPlane!.adminKubeconfig);
      return saved;
    },
    state: async () =>
      Object.fromEntries(
        await Promise.all(
          startedMachines.map(async ([name, machine]) => [name, await state(machine)] as const),
        ),
      ),
    fault: () =>
      Promise.reject(new Error("faults: only emulated machines have faults; omit --machines real")),
    stop: () => Promise.resolve(),
  };
  return { machines, controlPlane: controlPlane! };
}

/** Starts the servers of the machines' images, and the server that gives pods facts about their machine. */
async function startImageServers(
  lab: LabParts,
  images: RealImages,
  releaseOf: (machine: string) => Promise<string>,
  kubeconfig: () => string,
): Promise<Front> {
  const { session, spec, tools, imageFactory } = lab;
  const { signal } = session;
  const folder = session.dir("pods");
  fs.mkdirSync(folder);
  const programs = [
    path.join(images.programs, "service"),
    tools.controlplane,
    ...lab.nodePrograms!,
  ];
  const args = ["virtual-images", folder, ...programs];
  const pods = await spawnChild<{ port: number }>(tools.machines, args, {
    name: "images of pods",
    signal,
  });
  session.onClose(() => pods.stop());
  const front = await startFront(images.release, imageFactory!, {
    pods: pods.ready.port,
    factsOf: async (name) => {
      const { address, role, gpus = [] } = spec.machines[name]!;
      return {
        Key: name,
        Name: name,
        Address: address,
        Role: role,
        TimeScale: 1,
        Snapshot: { TalosVersion: await releaseOf(name), GPUs: gpus.map(labGpu) },
        Kubeconfig: fs.readFileSync(kubeconfig()).toString("base64"),
      };
    },
  });
  session.onClose(() => front.close());
  return front;
}

/** A client of the machines' API through one of them; exists once there are credentials. */
function clientOf(
  { session, tools, existing }: LabParts,
  { endpoint }: RealMachine,
): () => Talosctl | undefined {
  const file = session.dir("talosconfig");
  const files = new SecretFiles();
  session.onClose(() => files.close());
  let talosctl: Talosctl | undefined;
  return () => {
    if (talosctl !== undefined || (existing === undefined && !fs.existsSync(file))) return talosctl;
    const text =
      existing?.talosconfig(endpoint) ?? talosconfigVia(fs.readFileSync(file, "utf8"), endpoint);
    const opened = new Talosctl({
      binary: tools.talosctl,
      talosconfig: files.write("talosconfig", text),
      secrets: [],
    });
    session.onClose(() => opened.stop());
    return (talosctl = opened);
  };
}

/**
 * Waits until a machine answers in maintenance mode, or accepts its configuration there. If it does not, the error
 * has its last message.
 */
async function awaitMaintenance(
  talosctl: string,
  { endpoint }: RealMachine,
  file: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const command = file === undefined ? ["version"] : ["apply-config", "-f", file];
  const attempt = (): Promise<string> =>
    promisify(execFile)(talosctl, [...command, "--insecure", "-n", endpoint], {
      timeout: 30_000,
    }).then(
      () => "",
      // Talos 1.11 does not tell its version in maintenance mode, but its API answers.
      ({ message }: Error) => (/not implemented in maintenance mode/.test(message) ? "" : message),
    );
  return (
    await until({ seconds: bootSeconds, every: 2000, signal }, attempt, (problem) => problem === "")
  ).seen;
}

const lastLines = (machine: RealMachine): string[] =>
  machine.console().trim().split("\n").slice(-8);
