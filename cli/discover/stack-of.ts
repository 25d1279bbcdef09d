import * as semver from "semver";
import {
  checkCluster,
  type ClusterSpec,
  type ContainerdSpec,
  type Finding,
  type MachineSpec,
  planCluster,
  readSchematic,
  runningExtensions,
  runningKernelArgs,
} from "../../components/recipe/index";
import { nvidiaExtension, soundsLikeNvidia } from "../../components/recipe/facts/extension";
import { charts } from "../../components/recipe/facts/data/charts";
import { eraOf } from "../../components/recipe/facts/talos-release";
import { containerdPart } from "../../components/recipe/machine/containerd/containerd";
import { cardsOf } from "./cards";
import type { Seen, SeenMachine, SeenRelease } from "./seen";

/** A stack that says what was seen, and what is left to its reader. */
export interface Discovered {
  spec: ClusterSpec;
  /** Comments of the whole file. */
  notes: string[];
  /** Comments by path, e.g. `machines.gpu-1`. */
  comments: Record<string, string[]>;
  /** What the checks say of it. */
  findings: Finding[];
}

/**
 * The stack of a cluster as it is: nothing is made otherwise by it but what GPUs need. Pure.
 *
 * @param only names of the machines that it is to have. Default: all of them.
 */
export function stackOf(seen: Seen, only?: readonly string[]): Discovered {
  const machines = seen.machines.filter(({ name }) => only === undefined || only.includes(name));
  const comments: Record<string, string[]> = {};
  const note = (path: string, text: string): void => void (comments[path] ??= []).push(text);
  const releases = machines.flatMap(({ talosVersion }) => talosVersion ?? []).filter((text) => semver.valid(text));
  const talosVersion = semver.rsort([...releases])[0] ?? "v1.12.6";
  if (releases.length === 0) note("talosVersion", "no machine told its release; write the one that they shall run");
  const clusterName = machines.find((machine) => isOmni(machine) && machine.clusterName)?.clusterName;
  if (clusterName === undefined && machines.some(isOmni))
    note(
      "machines",
      "the name of the cluster in Omni could not be read; write it as clusterName (`omnictl get clusters`)",
    );
  const driver = driverOf(machines);
  const base: ClusterSpec = {
    talosVersion,
    ...(clusterName === undefined ? {} : { clusterName }),
    machines: Object.fromEntries(machines.map((machine) => [machine.name, machineOf(machine, talosVersion, note)])),
    ...(driver === undefined ? {} : { driver }),
  };
  const spec = { ...base, ...exposureOf(base, seen.releases, note) };
  return { spec, notes: notesOf(spec), comments, findings: checkCluster(spec) };
}

type Note = (path: string, text: string) => void;

function machineOf(seen: SeenMachine, talosVersion: string, note: Note): MachineSpec {
  const path = `machines.${seen.name}`;
  const omni = isOmni(seen);
  const { gpus, notes } = cardsOf(seen.devices ?? []);
  for (const text of notes) note(path, text);
  if (seen.devices === undefined) note(path, "its cards could not be looked at; write them as gpus");
  if (seen.talosVersion !== undefined) note(path, `runs ${seen.talosVersion}`);
  if (!omni) note(path, "somebody else made its configuration: the stack merges its part in, and takes it out again");
  const part = containerdOf(seen, path, note);
  const labels = Object.fromEntries(Object.entries(seen.labels).filter(([key]) => isOwnLabel(key)));
  const taints = Object.fromEntries(seen.taints.filter(isOwnTaint).map(readTaint));
  return {
    address: seen.address,
    role: seen.controlPlane ? "controlplane" : "worker",
    configuration: omni ? "omni" : "adopted",
    ...(omni && seen.uuid !== undefined ? { uuid: seen.uuid } : {}),
    ...(gpus.length > 0 ? { gpus } : {}),
    ...imageOf(seen, gpus.length > 0, omni, path, note),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(taints).length > 0 ? { taints } : {}),
    ...(seen.talosVersion !== undefined && seen.talosVersion !== talosVersion
      ? { runningVersion: seen.talosVersion }
      : {}),
    ...(part === undefined ? {} : { containerd: part }),
  };
}

/** What the machine's image has beside what follows from its cards; with Omni only the extensions are the stack's. */
function imageOf(seen: SeenMachine, gpu: boolean, omni: boolean, path: string, note: Note): Partial<MachineSpec> {
  const { image } = seen;
  if (image === undefined) {
    note(path, "its image could not be looked at: an update that would lose any of it ends before the drain, by name");
    return {};
  }
  const extensions = runningExtensions(image).filter((name) => !gpu || !followsFromCard(name));
  const minor = semver.parse(seen.talosVersion ?? "")?.minor ?? Infinity;
  const args = omni ? [] : runningKernelArgs(image);
  const takes = minor >= 10 || image.secureBoot === true;
  if (args.length > 0 && !takes)
    note(
      path,
      `its kernel was started with ${args.join(" ")}: before Talos 1.10 an image cannot carry that, so set machine.install.extraKernelArgs in its configuration, and list them under drop.kernelArgs`,
    );
  const overlay = image.schematic === undefined || omni ? undefined : readSchematic(image.schematic)?.overlay;
  const platform = omni || image.platform === undefined || image.platform === "metal" ? undefined : image.platform;
  return {
    ...(extensions.length > 0 ? { extensions } : {}),
    ...(args.length > 0 && takes ? { kernelArgs: args } : {}),
    ...(platform === undefined ? {} : { platform }),
    ...(image.secureBoot && !omni ? { secureBoot: true } : {}),
    ...(overlay === undefined ? {} : { overlay }),
  };
}

/** Modules and toolkit follow from card and driver; the fabric manager's and GDRCopy's extensions do not. */
const followsFromCard = (name: string): boolean => {
  const kind = nvidiaExtension(name)?.kind;
  return kind === undefined
    ? soundsLikeNvidia(name) && !/gdrdrv|fabric-?manager/.test(name)
    : ["modules", "toolkit"].includes(kind);
};

/** Branch and flavour that the machines run, where they run one. */
function driverOf(machines: readonly SeenMachine[]): ClusterSpec["driver"] {
  const found = machines.flatMap(({ image }) => (image === undefined ? [] : runningExtensions(image)));
  const modules = [...new Set(found)].map(nvidiaExtension).filter((one) => one?.kind === "modules");
  const [first] = modules;
  if (modules.length !== 1 || first?.branch === undefined || first.flavour === undefined) return undefined;
  return { branch: first.branch, flavour: first.flavour };
}

/** Arguments that Omni gives every machine (siderolabs/omni, siderolink). */
function isOmni({ image }: SeenMachine): boolean {
  return `${image?.commandLine ?? ""} ${image?.schematic ?? ""}`.includes("siderolink.api=");
}

/** Labels that somebody set for a purpose of their own: not those of Kubernetes, Talos, NVIDIA, clouds and this package. */
const isOwnLabel = (key: string): boolean =>
  !/^([^/]*\.)?(kubernetes\.io|k8s\.io|talos\.dev|nvidia\.com|sidero\.dev|k3s\.io)\/|^talos-gpu\/|^beta\./.test(key);

/** Taints that are not Kubernetes' own. */
const isOwnTaint = (taint: string): boolean => !/^[^=:]*kubernetes\.io\//.test(taint);

function readTaint(text: string): [string, string] {
  const [, key = "", value = "", effect = ""] = /^([^=:]+)(?:=([^:]*))?:(.*)$/.exec(text) ?? [];
  return [key, `${value}:${effect}`];
}

/** The options that make the containerd part that is there; a comment where none do. */
function containerdOf(seen: SeenMachine, path: string, note: Note): ContainerdSpec | undefined {
  const there = seen.containerdPart?.trim() ?? "";
  if (there === "") return undefined;
  const era = eraOf(seen.talosVersion ?? "v1.12.0");
  const dirs =
    /cdi_spec_dirs\s*=\s*\[([^\]]*)\]/
      .exec(there)?.[1]
      ?.match(/"[^"]+"/g)
      ?.map((text) => text.slice(1, -1)) ?? [];
  // Those that containerd and Talos have anyway are added by the options themselves.
  const named = dirs.filter((dir) => !["/etc/cdi", "/var/run/cdi", "/run/cdi"].includes(dir));
  const candidates = [named, dirs].flatMap((cdiSpecDirs) =>
    [false, true].flatMap((nvidiaDefaultRuntime) =>
      [false, true].map((baseRuntimeSpec): ContainerdSpec => ({
        ...(nvidiaDefaultRuntime ? { nvidiaDefaultRuntime } : {}),
        ...(baseRuntimeSpec ? { baseRuntimeSpec } : {}),
        ...(cdiSpecDirs.length > 0 ? { cdiSpecDirs } : {}),
      })),
    ),
  );
  const found = candidates.find((spec) => containerdPart(spec, era).toml?.trim() === there);
  if (found === undefined)
    note(
      path,
      "its configuration writes /etc/cri/conf.d/20-customization.part: say what that sets under containerd, or the update ends with the conflict",
    );
  return found;
}

/** What offers the GPUs: what is there, else the newest of the tables that the checks take. */
function exposureOf(base: ClusterSpec, releases: readonly SeenRelease[], note: Note): Partial<ClusterSpec> {
  const [there, ...others] = [...releases].sort((a, b) => a.chart.localeCompare(b.chart));
  const key = (chart: string): "gpuOperator" | "devicePlugin" =>
    chart === "gpu-operator" ? "gpuOperator" : "devicePlugin";
  const newest = (chart: string): string[] =>
    charts
      .filter((one) => one.chart === chart)
      .map(({ version }) => version)
      .toReversed();
  if (there !== undefined) {
    const field = key(there.chart);
    const version = there.version ?? newest(there.chart)[0]!;
    const uninstall =
      there.name === undefined
        ? `it was not Helm that brought it: take it away by what did`
        : `\`helm -n ${there.namespace} uninstall ${there.name}\` (running pods keep their GPUs)`;
    note(
      field,
      `${there.chart} ${there.version ?? "of an unknown version"} is installed in ${there.namespace}${there.name === undefined ? "" : ` as Helm's release ${there.name}`}`,
    );
    note(
      field,
      `if another tool brought it, take it away right before the first update, since the stack brings its own: ${uninstall}; then carry its values over`,
    );
    for (const other of others)
      note(field, `${other.chart} is installed as well, in ${other.namespace}: one of the two must go`);
    return { [field]: { version, namespace: there.namespace } };
  }
  const candidates = [
    ...newest("gpu-operator").map((version) => ({ gpuOperator: { version } })),
    ...newest("nvidia-device-plugin").map((version) => ({ devicePlugin: { version } })),
  ];
  const fits = candidates.find((exposure) =>
    checkCluster({ ...base, ...exposure }).every(({ field }) => !/^(gpuOperator|devicePlugin)/.test(field)),
  );
  note(
    fits && "devicePlugin" in fits ? "devicePlugin" : "gpuOperator",
    "nothing offers GPUs yet; this is the newest release that is known to fit",
  );
  return fits ?? candidates[0]!;
}

function notesOf(spec: ClusterSpec): string[] {
  return [
    ...planCluster(spec).notes,
    "workloads, sharing, power limits, monitoring and patches cannot be seen in a cluster: add what is wanted",
    "a machine's configuration is adopted: make it `owned` only where this stack shall hold all of it",
  ];
}
