import { execFile } from "node:child_process";
import * as fs from "node:fs";
import type * as net from "node:net";
import * as path from "node:path";
import { promisify } from "node:util";
import { SecretFiles } from "../../components/clients/secret-files";
import { parseDriverVersion } from "../../components/clients/talos/driver";
import { TalosMachine } from "../../components/clients/talos/talos-machine";
import { Talosctl } from "../../components/clients/talos/talosctl";
import type { ClusterSpec, MachineSpec } from "../../components/recipe";
import type { ControlPlane } from "../controlplane";
import type { Factory } from "../factory";
import type { Machines, MachineState } from "../machines";
import { provideTalos, startMachine, whyNoMachine, type RealMachine, type Registry, type TalosImages } from "../talos";
import { startFront } from "../talos/front";
import { siteOf } from "../talos/site";
import type { LabOptions } from "../options";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import type { Session } from "../session/session";
import type { Tools } from "../tools";
import type { OnToolEvent } from "../tools/events";
import { until } from "../until";
import type { ExistingCluster } from "./existing-cluster";
import { plainSchematic } from "./initial-image";
import { forward } from "./led-addresses";
import { leadToKubelet, letIn } from "./joining";
import { bootstrapOn } from "./own-control-plane";

/** What is there of a lab before its machines. */
interface Around {
  options: Pick<LabOptions, "consoles">;
  session: Session;
  spec: ClusterSpec;
  tools: Pick<Tools, "talosctl" | "controlplane">;
  /** Undefined where one of the machines is it. */
  controlPlane: ControlPlane | undefined;
  factory: Factory;
  existing: ExistingCluster | undefined;
}

/** Images of the stack's release, which real machines run. */
export async function provideReal(
  { spec, session }: Pick<Around, "spec" | "session">,
  onEvent: OnToolEvent,
): Promise<TalosImages> {
  const refuse = (why: string): never => {
    throw new Error(`--machines real: ${why}; leave --machines real out for emulated machines`);
  };
  const lacks = whyNoMachine();
  if (lacks.length > 0) refuse(`not on this computer: ${lacks.join("; ")}`);
  const machines = Object.values(spec.machines);
  if (spec.bootstrap === true) refuse("they join a cluster that is there, and this stack makes its own");
  if (machines.length > 1) refuse("one machine is all that a lab starts, and this stack has several");
  if (machines.some(({ configuration }) => configuration === "omni")) refuse("no Omni manages such machines");
  return provideTalos(spec.talosVersion, { signal: session.signal, onEvent });
}

/** Says that the machines run another release than their stack says, where they do. */
export function inStead({ release }: TalosImages, stack: string): string {
  const { talosVersion: wanted } = clusterOf(readStackFile(stack));
  return wanted === release ? "" : `; the machines run ${release}, the nearest to ${wanted} that is built here`;
}

/** The installer that a machine begins with. */
export const plainInstaller = (release: string): string =>
  `factory.talos.dev/metal-installer/${plainSchematic}:${release}`;

/** Seconds in which a virtual machine must have booted into maintenance mode, and taken its configuration. */
const bootSeconds = 900;

/**
 * Starts the stack's machine as a virtual one that runs Talos itself, with the configuration of its owner; a control plane, which is
 * then the cluster's, is bootstrapped.
 *
 * @param images of the release that it runs.
 */
export async function startRealMachine(
  lab: Around,
  images: TalosImages,
  say: (line: string) => void,
): Promise<{ machines: Machines; controlPlane: ControlPlane }> {
  const { session, spec, tools, factory } = lab;
  const { signal } = session;
  const existing = lab.existing!;
  const [[name, { address, gpus = [] }]] = Object.entries(spec.machines) as [[string, MachineSpec]];
  const site = siteOf(spec);
  const registry = await images.registry(session.dir("blobs"), signal);
  session.onClose(() => registry.stop());
  const front = await startFront(images, registry, (id) => factory.schematics().get(id)?.text);
  session.onClose(() => front.close());

  const authority = session.dir("authority");
  fs.mkdirSync(authority, { mode: 0o700 });
  fs.copyFileSync(existing.caCert, path.join(authority, "ca.crt"));
  fs.copyFileSync(existing.caKey, path.join(authority, "ca.key"));
  const leads: Record<string, number> = { [`${site.registry}:5000`]: front.port };
  if (lab.controlPlane === undefined)
    await pushControlPlane(registry, images, tools.controlplane, session.dir("blobs"));
  else {
    leads[`${site.cluster}:${new URL(site.endpoint).port || 443}`] = Number(new URL(lab.controlPlane.server).port);
    await letIn(lab.controlPlane.adminKubeconfig, existing.secrets, signal);
  }
  const machine = await startMachine(images, session.dir("machines", name), {
    ...(lab.controlPlane === undefined ? { memory: 4096 } : { authority }),
    network: { ...site, address, trustd: site.cluster, leads },
    cards: gpus.map(({ count = 1, model }) => `${count}x ${model}`)[0] ?? "",
    signal,
  });
  session.onClose(async () => {
    await machine.cutPower();
    if (lab.options.consoles === undefined) return;
    fs.mkdirSync(lab.options.consoles, { recursive: true });
    fs.writeFileSync(path.join(lab.options.consoles, `${name}.log`), machine.console());
  });
  say(`${name}: powered on`);
  const problem = await configure(tools.talosctl, machine, existing.configurations[name]!, signal);
  if (problem !== "")
    throw new Error(
      `machine ${name}: maintenance mode took no configuration within ${bootSeconds} s, so it joins nothing; its console ends:\n` +
        `${tail(machine)}\n(last: ${problem})`,
    );
  say(`${name}: took its configuration in maintenance mode`);

  const files = new SecretFiles();
  session.onClose(() => files.close());
  const talosconfig = files.write("talosconfig", existing.talosconfig(machine.endpoint));
  const talosctl = new Talosctl({ binary: tools.talosctl, talosconfig, secrets: [] });
  session.onClose(() => talosctl.stop());
  let { controlPlane } = lab;
  if (controlPlane === undefined) {
    const { secrets } = existing;
    const dir = session.dir("own-control-plane");
    controlPlane = await bootstrapOn({ talosctl, address, kubernetes: machine.kubernetes, secrets, dir, signal });
    say(`${name}: its control plane serves`);
  } else session.onClose(await leadToKubelet(controlPlane.nodes, machine));

  let requests = 0;
  const way = await forward("127.0.0.1", 0, [machine.endpoint]);
  way.on("connection", () => requests++);
  session.onClose(() => void way.close());
  const machines: Machines = {
    api: `127.0.0.1:${(way.address() as net.AddressInfo).port}`,
    maintenance: {},
    state: async () => ({
      [name]: { ...(await stateOf(machine, new TalosMachine(talosctl, address, files))), address, requests },
    }),
    fault: () => Promise.reject(new Error("faults: they are the emulated machines'; leave --machines real out")),
    stop: () => Promise.resolve(),
  };
  return { machines, controlPlane };
}

/** Hands a machine its configuration as soon as it takes one; gives what it said last where it does not. */
async function configure(talosctl: string, machine: RealMachine, file: string, signal: AbortSignal): Promise<string> {
  const apply = ["apply-config", "--insecure", "-n", machine.endpoint, "-f", file];
  const taken = (): Promise<string> =>
    promisify(execFile)(talosctl, apply, { timeout: 30_000 }).then(
      () => "",
      (error: Error) => error.message,
    );
  return (await until({ seconds: bootSeconds, every: 2000, signal }, taken, (problem) => problem === "")).seen;
}

/** What a machine says of itself; while it does not answer, that is unknown. Its console tells of every boot. */
async function stateOf(machine: RealMachine, talos: TalosMachine): Promise<Omit<MachineState, "address" | "requests">> {
  const known = <T>(work: Promise<T>): Promise<T | undefined> => work.catch(() => undefined);
  const [talosVersion = "unknown", schematicId = "unknown", status, bootId = "", driver] = await Promise.all([
    ...([known(talos.version()), known(talos.schematic()), known(talos.status())] as const),
    ...([known(talos.bootId()), known(talos.read("/proc/driver/nvidia/version"))] as const),
  ]);
  return {
    ...{ talosVersion, schematicId, bootId, reboots: bootsOf(machine.console()) - 1, upgrades: 0, modules: [] },
    driverVersion: parseDriverVersion(driver ?? "") ?? null,
    ...{ stage: status?.stage ?? "unknown", ready: status?.ready ?? false },
    events: tail(machine)
      .split("\n")
      .map((what) => ({ at: 0, what })),
  };
}

/** How often a machine has booted, by its console. What the boot menu drew last stands before the kernel's first words, in the same line. */
export const bootsOf = (console: string): number => console.split(/\[ *0\.000000\] Linux version /).length - 1;

/** The image of every part of a control plane, which is one program. */
async function pushControlPlane(
  registry: Registry,
  images: TalosImages,
  program: string,
  folder: string,
): Promise<void> {
  const layer = path.join(folder, "controlplane.tar");
  const place = ["--transform", "s,^,usr/local/bin/,", "-C", path.dirname(program), path.basename(program)];
  await promisify(execFile)("tar", ["--owner=0", "--group=0", "-cf", layer, ...place]);
  await registry.push({ ref: "lab/controlplane:1", layers: [images.standIns, layer], entrypoint: [] });
  fs.rmSync(layer);
}

const tail = (machine: RealMachine): string => machine.console().trim().split("\n").slice(-8).join("\n");
