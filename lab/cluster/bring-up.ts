import * as fs from "node:fs";
import * as semver from "semver";
import { planCluster, type MachineSpec } from "../../components/recipe";
import { firstInstalling } from "../../components/recipe/checks/updates";
import { releaseInTables } from "../../components/recipe/facts/talos-release";
import { chartFolder, isLabChart } from "../charts";
import { serveCharts } from "../charts/repository";
import { startControlPlane } from "../controlplane";
import { bringTools } from "./bring-tools";
import { makeExistingCluster, type ExistingCluster } from "./existing-cluster";
import { driversOf, knownVersions, startFactory } from "../factory";
import type { Lab } from "./lab";
import { redirectAddresses } from "./redirected-addresses";
import { initialSchematic, readInitialImages, type InitialImage } from "./initial-image";
import { labGpu } from "./lab-gpu";
import { isReady } from "../kubernetes/node";
import { Cluster } from "../kubernetes/cluster";
import { startMachines, type LabMachine, type Machines } from "../machines";
import { plainInstaller } from "./real-images";
import { startRealMachines } from "./real-machines";
import { startOmni } from "../omni";
import { foreignResources } from "./foreign";
import type { Phase, Say } from "../phases";
import { publicFactory } from "../talos/published";
import { ownPatches, siteOf } from "../talos/site";

/** The phases that bring up a Talos cluster in its state before the stack's first update. */
export const bringUp: Phase<Lab>[] = [
  { title: "tools (Pulumi, talosctl, Kubernetes, machines)", run: bringTools },
  { title: "Kubernetes control plane", run: bringControlPlane },
  { title: "Image Factory", run: bringFactory },
  { title: "chart repositories", run: bringCharts },
  { title: "Talos machines", run: bringMachines },
];

/** Starts Kubernetes. At the same time it makes keys and configurations, like the machines' owner. */
async function bringControlPlane(lab: Lab): Promise<string> {
  const { session, spec, tools } = lab;
  const site = lab.talos === undefined ? undefined : siteOf(spec);
  const isMachineOfStack =
    site !== undefined && Object.values(spec.machines).some(({ role }) => role === "controlplane");
  const startKubernetes = async (): Promise<void> => {
    const { signal } = session;
    lab.controlPlane = await startControlPlane({
      dir: session.dir("controlplane"),
      binary: tools.controlplane,
      ...(site === undefined ? {} : { names: [site.cluster] }),
      signal,
    });
    session.onClose(() => lab.controlPlane.stop());
    lab.kubernetes = Cluster.of(lab.controlPlane.adminKubeconfig);
  };
  const prepareMachines = async (): Promise<void> => {
    fs.mkdirSync(session.dir("talos"), { recursive: true, mode: 0o700 }); // credentials pass through here
    const inDocuments = lab.talos?.talosctl !== undefined;
    const siteOptions = site && {
      ...(isMachineOfStack ? {} : { pki: lab.controlPlane.pki }),
      inDocuments,
      endpoint: site.endpoint,
      patches: (role: MachineSpec["role"]) =>
        ownPatches(site, {
          control: role === "controlplane",
          card: lab.options.card,
          image: plainInstaller(lab.talos!.release),
          inDocuments,
        }),
    };
    lab.existing = spec.bootstrap
      ? undefined
      : await makeExistingCluster(session.dir("talos"), tools.talosctl, spec, siteOptions);
  };
  if (site !== undefined && !isMachineOfStack) await startKubernetes(); // its keys are the cluster's
  const results = await Promise.allSettled([
    ...(site === undefined ? [startKubernetes()] : []),
    prepareMachines(),
  ]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return isMachineOfStack ? "a machine of the stack" : lab.controlPlane.server;
}

/** Starts the Image Factory. It also offers the stack's releases, and reports those whose drivers are assumed. */
async function bringFactory(lab: Lab): Promise<string> {
  const { session, talos } = lab;
  if (talos === undefined) {
    const factory = await startFactory({
      versions: [...new Set([...knownVersions(), ...lab.talosReleases])],
    });
    session.onClose(() => factory.close());
    Object.assign(lab, { factory, factoryUrl: factory.url });
  } else if (talos.factory === undefined) {
    lab.factoryUrl = publicFactory();
  } else {
    const imageFactory = await talos.factory(session.dir("factory"), session.signal);
    session.onClose(() => imageFactory.stop());
    Object.assign(lab, { imageFactory, factoryUrl: imageFactory.url });
  }
  // The stack's program asks the Factory about a release that the tables lack. A test may set another address.
  if (process.env.TALOS_GPU_FACTORY === undefined) {
    process.env.TALOS_GPU_FACTORY = lab.factoryUrl;
    session.onClose(() => void delete process.env.TALOS_GPU_FACTORY);
  }
  const assumedReleases = lab.talosReleases.filter(
    (release) => releaseInTables(release) === "newer",
  );
  return [lab.factoryUrl, ...assumedReleases.map(assumedDrivers), ...(lab.assumptions ?? [])].join(
    "; ",
  );
}

/** A line about the drivers that the lab's Factory assumes for a release that the tables lack. */
function assumedDrivers(release: string): string {
  const { lts, production } = driversOf(release)!;
  return `assumes that ${release} brings drivers ${lts} (lts) and ${production} (production)`;
}

/** Fetches the stack's own chart at once, so that a lab without access to it fails before it begins. */
async function bringCharts(lab: Lab): Promise<string> {
  const { chart, version } = planCluster(lab.spec).kubernetes.release;
  if (lab.options.pulumi === "installed" || lab.options.card !== undefined)
    return `${chart} ${version} from its own`;
  const dir = lab.session.dir("charts");
  lab.charts = await serveCharts({ dir, controlPlane: lab.tools.controlplane });
  lab.session.onClose(() => lab.charts?.close());
  if (isLabChart(chart)) await chartFolder(dir, chart, version);
  return `${chart} ${version}${chart === "gpu-operator" ? ", emulated" : ""}`;
}

async function bringMachines(lab: Lab, say: Say): Promise<string> {
  const { spec, session, existing } = lab;
  const images = readInitialImages(lab.options.image, spec.machines);
  if (lab.talos === undefined) lab.machines = await startEmulated(lab, images);
  else Object.assign(lab, await startRealMachines(lab, lab.talos, say));
  session.onClose(() => lab.machines.stop());
  if (lab.options.pulumi === "installed")
    session.onClose(await redirectAddresses(ownAddresses(lab)));
  const names = Object.keys(spec.machines);
  if (existing === undefined)
    return `${names.join(", ")} in maintenance mode, on ${bootMedium(lab)}`;
  fs.writeFileSync(session.dir("talosconfig"), existing.talosconfig(lab.machines.api), {
    mode: 0o600,
  });
  await bringOmni(lab, existing, images);
  const outsideCluster = names.filter((name) => joinsLater(lab, spec.machines[name]!));
  const members = names.filter((name) => !outsideCluster.includes(name));
  if (members.length > 0) {
    say(
      `waits for ${members.length === 1 ? "the node" : `${members.length} nodes`} to be ready`,
      "event",
    );
    try {
      const roles = Object.fromEntries(members.map((name) => [name, spec.machines[name]!.role]));
      await lab.kubernetes.nodesReady(roles, lab.talos === undefined ? 60 : 900, session.signal);
    } catch (error) {
      const events = Object.values(await lab.machines.state()).flatMap(({ events }) =>
        events.map(({ what }) => what),
      );
      throw new Error(
        `${(error as Error).message}; the machines' last events: ${events.slice(-5).join("; ")}`,
        {
          cause: error,
        },
      );
    }
  }
  return [
    ...(members.length > 0 ? [`${members.join(", ")} on ${spec.talosVersion}, plain image`] : []),
    ...(outsideCluster.length > 0
      ? [
          `${outsideCluster.join(", ")} in maintenance mode, connected to Omni, in no cluster, on ${spec.talosVersion}`,
        ]
      : []),
  ].join("; ");
}

/**
 * Talos release of the medium from which machines boot into maintenance mode. The Talos provider cannot install
 * from a medium older than Talos 1.13 (the check `boot-medium`), so emulated machines boot from 1.13 at least.
 */
function bootMedium({ spec, talos }: Lab): string {
  const oldest = `v1.${firstInstalling}.0`;
  return talos === undefined && semver.lt(spec.talosVersion, oldest) ? oldest : spec.talosVersion;
}

async function startEmulated(lab: Lab, images: Record<string, InitialImage>): Promise<Machines> {
  const { spec, session, existing, nodePrograms: programs } = lab;
  const realNode = Object.entries(spec.machines).find(([, { gpus = [] }]) => gpus.length > 0)?.[0];
  const machines: LabMachine[] = Object.entries(spec.machines).map(([name, machine]) => ({
    name,
    ...(programs === undefined || name !== realNode
      ? {}
      : { node: { programs, realDriver: lab.options.gpu } }),
    address: machine.address,
    role: machine.role,
    talosVersion: existing === undefined ? bootMedium(lab) : spec.talosVersion,
    schematicId: initialSchematic(images[name] ?? {}, machine, lab.factory!),
    platform: images[name]?.platform ?? machine.platform ?? "metal",
    secureBoot: images[name]?.secureBoot ?? machine.secureBoot ?? false,
    config: joinsLater(lab, machine) ? "" : (existing?.configurations[name] ?? ""),
    gpus: (machine.gpus ?? []).map(labGpu),
  }));
  const { server, caCert, caKey, nodes } = lab.controlPlane;
  const log = fs.createWriteStream(session.dir("machines.log"));
  session.onClose(() => void log.end());
  return startMachines(
    lab.tools.machines,
    {
      dir: session.dir("machines"),
      timeScale: lab.options.timeScale,
      factory: lab.factoryUrl,
      kubernetes: { server, caCert, caKey, nodes, leaderWorkerSet: lab.tools.lws ?? "" },
      talos: existing === undefined ? null : { caCert: existing.caCert, caKey: existing.caKey },
      clusterName: spec.clusterName ?? "lab",
      machines,
    },
    { signal: session.signal, onLog: (line) => void log.write(`${line}\n`) },
  );
}

/** Addresses of machines in maintenance mode for the Talos provider: such a machine answers only at its own address. */
function ownAddresses({ spec, machines: { api, maintenance } }: Lab): Record<string, string[]> {
  const owned = Object.values(spec.machines).filter(
    ({ configuration }) => configuration === "owned",
  );
  return Object.fromEntries(
    owned.map(({ address }) => [
      address,
      [...(maintenance[address] === undefined ? [] : [maintenance[address]]), api],
    ]),
  );
}

/** Whether a machine belongs to Omni and joins the cluster only when its owner adds it. */
function joinsLater({ options }: Lab, { configuration }: MachineSpec): boolean {
  return configuration === "omni" && !options["omni-members"];
}

/** Omni manages the machines that the stack says it does, in a machine set of workers and one of control planes. */
async function bringOmni(
  lab: Lab,
  existing: ExistingCluster,
  images: Record<string, InitialImage>,
): Promise<void> {
  const { spec, session, tools, factory, machines } = lab;
  const cluster = spec.clusterName ?? "lab";
  const managed = Object.entries(spec.machines).flatMap(([name, machine]) => {
    const { configuration, uuid, address, role } = machine;
    if (configuration !== "omni" || uuid === undefined) return [];
    const machineSet = `${cluster}-${role === "worker" ? "workers" : "control-planes"}`; // as `omnictl cluster template` names them
    const config = existing.unpatched[name]!;
    return [
      {
        name,
        address,
        cluster,
        machineSet,
        uuid,
        talosVersion: spec.talosVersion,
        config,
        member: !joinsLater(lab, machine),
        initial: images[name] ?? {},
      },
    ];
  });
  if (managed.length === 0) return;
  const { signal } = session;
  const talosconfig = (): string => session.dir("talosconfig");
  const nodeReady = async (name: string): Promise<boolean> => {
    const node = (await lab.kubernetes.nodes())[name];
    return node !== undefined && isReady(node);
  };
  const dir = session.dir("omni");
  const omniOptions = {
    dir,
    talosctl: tools.talosctl,
    talosconfig,
    factory: factory!,
    machines,
    nodeReady,
    signal,
  };
  const omni = await startOmni(omniOptions, managed);
  session.onClose(() => omni.close());
  for (const { uuid } of managed)
    for (const resource of foreignResources(cluster, uuid)) omni.resources.put(resource);
  lab.omni = omni;
}
