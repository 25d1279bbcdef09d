import { isDeepStrictEqual } from "node:util";
import * as semver from "semver";
import {
  type ClusterSpec,
  type DriverSpec,
  isRefusal,
  type MachineSpec,
  readSchematic,
  renderFinding,
  runningExtensions,
  runningKernelArgs,
} from "../../components/recipe/index";
import { foundIn } from "../../components/recipe/checks/check-cluster";
import { findCard, kernelArgsFor } from "../../components/recipe/facts/card";
import {
  branchedName,
  nvidiaExtension,
  soundsLikeNvidia,
} from "../../components/recipe/facts/extension";
import { defined, filled } from "../../components/recipe/mapping";
import { planBasis } from "../../components/recipe/plan";
import { stackText, taskText } from "../stack-text";
import { cardsOf } from "./cards";
import { containerdOf } from "./containerd";
import { exposureOf } from "./exposure";
import { userLabelsAndTaints } from "./labels";
import type { SeenCluster, SeenMachine } from "./seen";

/**
 * The stack that describes a cluster's present state, and changes only what GPUs need. Also returns notes about open
 * tasks, and comments by path, e.g. `machines.gpu-1`. Pure.
 *
 * @param machineNames names of the machines for the stack. Default: all machines.
 */
export function stackOf(cluster: SeenCluster, machineNames?: readonly string[]) {
  const machines = cluster.machines.filter(
    ({ name }) => machineNames === undefined || machineNames.includes(name),
  );
  const comments: Record<string, string[]> = {};
  const note = (path: string, text: string): void => void (comments[path] ??= []).push(text);
  const releases = machines
    .flatMap(({ talosVersion }) => talosVersion ?? [])
    .filter((text) => semver.valid(text));
  const talosVersion = semver.rsort([...releases])[0] ?? "v1.12.6";
  if (releases.length === 0)
    note(
      "talosVersion",
      "the Talos release of the machines could not be read; write the release that they should run",
    );
  const clusterName = machines.find(
    (machine) => isOmni(machine) && machine.clusterName,
  )?.clusterName;
  if (clusterName === undefined && machines.some(isOmni))
    note(
      "machines",
      "the name of the cluster in Omni could not be read; write it as clusterName (`omnictl get clusters`)",
    );
  const [driver, ...otherDrivers] = machines
    .flatMap((machine) => driverOf(machine) ?? [])
    .filter(
      (candidate, index, all) =>
        all.findIndex((otherDriver) => isDeepStrictEqual(candidate, otherDriver)) === index,
    );
  // If the machines run several drivers, each machine sets its own.
  const hasSeveralDrivers = otherDrivers.length > 0;
  const base: ClusterSpec = {
    talosVersion,
    ...defined({ clusterName }),
    machines: Object.fromEntries(
      machines.map((machine) => [
        machine.name,
        {
          ...machineOf(machine, talosVersion, note),
          ...defined({ driver: hasSeveralDrivers ? driverOf(machine) : undefined }),
        },
      ]),
    ),
    ...defined({ driver: hasSeveralDrivers ? undefined : driver }),
  };
  const spec = { ...base, ...exposureOf(base, cluster, note) };
  const allFindings = foundIn(spec, planBasis(spec), true);
  const findings = allFindings.filter(isRefusal);
  const remarks = allFindings.filter((finding) => !isRefusal(finding));
  const notes = [
    ...remarks.map(renderFinding),
    "workloads, sharing, power limits, monitoring and patches are not read from a cluster: add those that you want",
    "each machine has `configuration: adopted`: write `owned` only if this stack should manage the machine's whole configuration",
  ];
  return { spec, notes, comments, findings };
}

type Note = (path: string, text: string) => void;

function machineOf(machine: SeenMachine, talosVersion: string, note: Note): MachineSpec {
  const path = `machines.${machine.name}`;
  const omni = isOmni(machine);
  const { gpus, notes } = cardsOf(machine.devices ?? [], machine.reportedCards);
  for (const text of notes) note(path, text);
  if (machine.devices === undefined)
    note(path, "its cards could not be read; write them under gpus");
  const requiredArgs = kernelArgsFor(gpus.flatMap(({ model }) => findCard(model) ?? []));
  if (
    gpus.length > 0 &&
    machine.labels["kubernetes.io/arch"] === "arm64" &&
    requiredArgs.length === 0
  )
    note(
      path,
      "it is an arm64 machine with a PCIe card: if the kernel log on Talos ≥ 1.13 has an Oops in nvidia, write arm64.nobti under kernelArgs (talos#13019 reports this for a GB10)",
    );
  if (machine.talosVersion !== undefined) note(path, `runs ${machine.talosVersion}`);
  if (!omni)
    note(
      path,
      "another tool manages its configuration: the stack adds its own settings, and removes these settings when you destroy the stack",
    );
  const containerd = containerdOf(machine, (text) => note(path, text));
  return {
    address: machine.address,
    role: machine.controlPlane ? "controlplane" : "worker",
    configuration: omni ? "omni" : "adopted",
    ...filled({ uuid: omni ? machine.uuid : undefined, gpus }),
    ...imageOf(machine, gpus.length > 0, omni, path, note),
    ...userLabelsAndTaints(machine, (text) => note(path, text)),
    ...defined({
      runningVersion: machine.talosVersion === talosVersion ? undefined : machine.talosVersion,
      containerd,
    }),
  };
}

/**
 * Parts of the machine's image that the stack does not derive from the machine's cards. For an Omni machine the stack
 * sets only the extensions.
 */
function imageOf(
  machine: SeenMachine,
  gpu: boolean,
  omni: boolean,
  path: string,
  note: Note,
): Partial<MachineSpec> {
  const { image } = machine;
  // If the cards of a machine are unknown, NVIDIA's extensions are left out, since they follow from the cards. The
  // machine's comment asks for the cards.
  const mayHaveCards = gpu || machine.devices === undefined;
  const userExtensions = (names: string[]): string[] =>
    names.filter((name) => !mayHaveCards || !followsFromCard(name));
  if (image === undefined) {
    const { labelledExtensions } = machine;
    const exception =
      labelledExtensions === undefined ? "" : "apart from the extensions in its node's labels";
    const message = ["its image could not be read", exception].filter(Boolean).join(", ");
    note(
      path,
      `${message}; before the drain, an update stops if the next image lacks an extension or a kernel argument of this image`,
    );
    return filled({
      extensions:
        labelledExtensions && userExtensions(runningExtensions({ extensions: labelledExtensions })),
    });
  }
  const { installer = "" } = machine;
  // An image of the Factory contains its schematic, and Talos' own image has no extension.
  if (!omni && image.schematic === undefined && installer !== "" && !isTalos(installer)) {
    note(
      path,
      `its image is not from an Image Factory, so the stack keeps ${installer}, the installer in the machine's configuration`,
    );
    return { installerImage: installer };
  }
  const extensions = userExtensions(runningExtensions(image));
  const minor = semver.parse(machine.talosVersion ?? "")?.minor ?? Infinity;
  const args = omni ? [] : runningKernelArgs(image);
  const takesKernelArgs = minor >= 10 || image.secureBoot === true;
  if (args.length > 0 && !takesKernelArgs)
    note(
      path,
      `its kernel was started with ${args.join(" ")}. Before Talos 1.10, kernel arguments of an installer image take effect only with Secure Boot: set these arguments as machine.install.extraKernelArgs in the machine's configuration, and list them here under drop.kernelArgs`,
    );
  const { overlay, customization } =
    (!omni && image.schematic && readSchematic(image.schematic)) || {};
  const platform =
    omni || image.platform === undefined || image.platform === "metal" ? undefined : image.platform;
  const secureBoot = image.secureBoot && !omni ? true : undefined;
  return filled({
    extensions,
    kernelArgs: takesKernelArgs ? args : [],
    platform,
    secureBoot,
    overlay,
    customization,
  });
}

/** Whether an installer is Talos' own or the Image Factory's. */
const isTalos = (installer: string): boolean =>
  /^ghcr\.io\/siderolabs\/installer[:@]|installer(?:-secureboot)?\/[0-9a-f]{64}/.test(installer);

/**
 * Whether the stack derives an extension from card and driver. It derives the extensions of the kernel modules and the
 * toolkit. The stack file keeps the extensions of the fabric manager and GDRCopy, which the stack does not derive for
 * every card.
 */
const followsFromCard = (name: string): boolean => {
  const kind = nvidiaExtension(name)?.kind;
  return kind === undefined
    ? soundsLikeNvidia(name) && !/gdrdrv|fabric-?manager/.test(name)
    : ["modules", "toolkit"].includes(kind);
};

/** Branch and flavour of the driver that a machine runs; undefined without a driver. */
function driverOf({ image, labelledExtensions = {} }: SeenMachine): DriverSpec | undefined {
  const names = runningExtensions(image ?? { extensions: labelledExtensions }).map(branchedName);
  const modules = [...new Set(names)]
    .map(nvidiaExtension)
    .filter((extension) => extension?.kind === "modules");
  const [first] = modules;
  if (modules.length !== 1 || first?.branch === undefined || first.flavour === undefined)
    return undefined;
  return { branch: first.branch, flavour: first.flavour };
}

/**
 * Whether Omni manages a machine. Omni sets a kernel argument on each of its machines (siderolabs/omni, siderolink).
 */
const isOmni = ({ image }: SeenMachine): boolean =>
  `${image?.commandLine ?? ""} ${image?.schematic ?? ""}`.includes("siderolink.api=");

/**
 * The stack file of a cluster.
 *
 * @param source name of the cluster, e.g. the URL of its Kubernetes API.
 */
export function renderDiscovered(
  { spec, notes, comments, findings }: ReturnType<typeof stackOf>,
  unseen: readonly string[],
  source: string,
): string {
  const head = [`Read from the cluster at ${source}; nothing was changed there.`];
  return stackText(spec, {
    head,
    tasksAndNotes: [...unseen, ...findings.map(taskText), ...notes],
    fields: comments,
  });
}
