import { asRelease } from "./external/external";
import { chartNotes, externalNote, externalNotes, withoutRuntimeClass } from "./chart-notes";
import { type Card, findCard, kernelArgsFor, migOf, powerRangeOf } from "./facts/card";
import { isForwardCompatible, newerCuda } from "./facts/cuda";
import { sharingOf } from "./machine/own-sharing";
import { canSplit } from "./facts/sharing";
import { nvidiaExtension } from "./facts/extension";
import { hasNoSwitch, hasSwitches, type MachineFacts } from "./facts/machine-facts";
import { machineNotes } from "./machine-notes";
import { storageModule, usesStorage } from "./machine/storage-module";
import { eraOf, firstMinorOf, type Release } from "./facts/talos-release";
import { parseTalosVersion } from "./facts/version";
import { gpuProviderOf } from "./facts/gpu-provider";
import { gpuPresent } from "./machine/machine-recipe";
import { metricsNote } from "./cluster/exporter";
import { migManagerRelease } from "./cluster/mig-manager";
import { flat, type Nested } from "./mapping";
import type { ClusterSpec } from "./spec/index";
import type { KubernetesRecipe } from "./types";
import { openServers } from "./open-servers";
import { plainHttpNotes } from "./plain-http-notes";
import { gpuRequests, namespacesMade, plannedVolumes } from "./stack/workloads";

/** What was assumed, or should be known before going on: one sentence each. The first release is the stack's. */
export function notesOf(
  spec: ClusterSpec,
  releases: (Release | undefined)[],
  facts: MachineFacts[],
  kubernetes: KubernetesRecipe,
): string[] {
  const first = firstMinorOf(eraOf(spec.talosVersion));
  const crossing = Object.entries(spec.machines).flatMap(([name, { runningVersion = "" }]) =>
    (parseTalosVersion(runningVersion)?.minor ?? first) < first ? [name] : [],
  );
  const over = `from Talos ≤ 1.${first - 1} to ≥ 1.${first}`;
  return flat<string>([
    releases.map((release) => release?.note),
    crossing.length > 0 &&
      spec.external === undefined &&
      `${crossing.join(", ")}: ${over}: no new pod gets a GPU ${spec.upgrade?.first?.length ? "on a machine until it is upgraded, nor before those that go ahead are" : "until the last machine is upgraded"}; remove a device plugin release or a RuntimeClass "nvidia" of somebody else's first (docs/operations.md#upgrades)`,
    bootNote(spec),
    spec.away?.map(
      (name) =>
        `machines.${name}: is away, so this update leaves it as the last one left it; bring the stack up again once it is back`,
    ),
    facts.map((machine) => [
      operatorsLabel(machine, kubernetes),
      ownImage(machine),
      describedCards(machine),
      unlikeCards(machine),
      passedOn(machine),
      switches(machine),
      spark(machine),
      power(machine),
    ]),
    chartNotes(asRelease(spec)).map((note) => externalNote(spec, note)),
    externalNotes(spec, crossing, over),
    withoutRuntimeClass(spec),
    machineNotes(spec, facts),
    usesStorage(spec) && externalNote(spec, storageNote),
    cudaNotes(spec, facts),
    migNotes(spec, facts),
    sharingNote(spec),
    namespaceNotes(spec),
    openServers(spec),
    plainHttpNotes(spec),
    spec.monitoring && spec.monitoring.dashboard !== false && metricsNote(kubernetes),
  ]);
}

/**
 * First minor release of a boot medium that the Talos provider installs from: it asks by a dry run whether the configuration reboots
 * the machine. Before, the answer leaves the mode out, which reads as a reboot; the provider then stages, which that mode refuses
 * (talos v1.12.6, internal/app/maintenance/server.go, ApplyConfiguration; v1.13.0,
 * internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go; terraform-provider-talos v0.11.0,
 * pkg/talos/talos_machine_configuration_apply_resource.go, dryRunNeedsReboot).
 */
const firstInstalling = 13;

/** Which medium the machines wait in is not in the stack; mostly it is of the release that they install. */
function bootNote({ bootstrap, machines, talosVersion }: ClusterSpec): Nested<string> {
  const old = (text: string): boolean =>
    (parseTalosVersion(text)?.minor ?? firstInstalling) < firstInstalling;
  const names = Object.keys(machines).filter((name) =>
    old(machines[name]!.talosVersion ?? talosVersion),
  );
  return (
    bootstrap === true &&
    names.length > 0 &&
    `${names.join(", ")}: start from a boot medium of Talos 1.${firstInstalling} or newer, whatever release the stack installs; from an older one the Talos provider cannot install, and tries until its time is over`
  );
}

/** An image that somebody else made: what must be in it, and cannot be seen from here. */
const ownImage = ({
  name,
  spec,
  gpuCount,
  branch,
  flavour,
  extensions,
  cards,
}: MachineFacts): Nested<string> => {
  if (spec.installerImage === undefined) return [];
  const args = kernelArgsFor(cards);
  const needs = `${extensions.join(", ")} (or your builds of them: ${flavour} modules, branch ${branch})${args.length > 0 ? `, and the kernel arguments ${args.join(" ")}` : ""}`;
  return `machines.${name}.installerImage: ${gpuCount > 0 ? `the image must have ${needs}; what else is` : "what is"} in it is not known here, nor what the machine would lose with it`;
};

/** A label that is left to the operator (machine/machine-recipe.ts). */
const operatorsLabel = (
  { name, spec, gpuCount }: MachineFacts,
  { mode }: KubernetesRecipe,
): Nested<string> =>
  gpuCount > 0 &&
  gpuProviderOf(mode).findsNodes &&
  spec.labels?.[gpuPresent] !== undefined &&
  `machines.${name}.labels.${gpuPresent}: is left to the operator, which sets it once Node Feature Discovery has found the card; it can be left out`;

/** Cards that the stack describes, since no table has them. */
const describedCards = ({ uses }: MachineFacts): Nested<string> =>
  uses.map(
    ({ field, card }) =>
      card?.described === true &&
      `${field}: "${card.model}" is in no table of cards, and is taken as the stack describes it (${card.architecture}); whether it has MIG and which power limits it takes is not judged`,
  );

/** Which modules run the GB10 is told in two ways: see data/cards.json. */
const spark = ({ name, cards, flavour }: MachineFacts): Nested<string> =>
  cards.some(({ family }) => family === "spark") &&
  `machines.${name}.gpus: not tried by us on a GB10: if the card does not come up with the ${flavour} modules (talosctl dmesg), set machines.${name}.driver.flavour: ${flavour === "open" ? "proprietary" : "open"}; Talos' documentation names the proprietary ones, and elsewhere those of driver 580.173.02 ended with Xid 169`;

/** GPUDirect Storage: NVIDIA supports it with the open modules alone (docs.nvidia.com, GPU Operator, GPUDirect RDMA and GPUDirect Storage). */
const storageNote = `gpuOperator.values.gds.enabled: the module ${storageModule} is loaded on each machine with a card; GPUDirect Storage was not tried on Talos by us, NVIDIA supports it with the open kernel modules alone, and cuFile goes through the processor's memory where the file system does not take part`;

/** A request for a GPU is one for any of the machine's. */
const unlikeCards = ({ name, cards }: MachineFacts): Nested<string> =>
  cards.length > 1 &&
  `machines.${name}.gpus: a pod that requests a GPU there gets any of its cards (${cardNames(cards).join(", ")}): Kubernetes does not tell them apart`;

/** Names of cards; where two have the same one, with their memory. */
function cardNames(cards: readonly Card[]): string[] {
  const isShared = ({ model }: Card): boolean =>
    cards.filter((card) => card.model === model).length > 1;
  return cards.map((card) =>
    isShared(card)
      ? `${card.model} with ${card.memoryMiB === undefined ? "unknown memory" : `${card.memoryMiB}Mi`}`
      : card.model,
  );
}

/** vfio-pci takes every card of the IDs that it is given (linux v6.18, drivers/vfio/pci/vfio_pci.c); others by its address alone. */
const passedOn = ({
  name,
  uses,
  spec: { kernelArgs = [], patches = [] },
}: MachineFacts): Nested<string> => {
  const text = [...kernelArgs, ...patches]
    .filter((each) => /vfio[-_]pci|pci[-_]stub/.test(each))
    .join("\n");
  const taken = new Map(
    [...text.matchAll(/\b10de:[0-9a-f]{4}\b/gi)].map(([id]) => [findCard(id)?.model, id]),
  );
  return uses.map(
    ({ field, card }) =>
      card !== undefined &&
      taken.has(card.model) &&
      `${field}: virtual machines get every ${card.model} of ${name}, by the ID ${taken.get(card.model)} that vfio-pci is given: NVIDIA's driver never sees it, and what waits for the card waits in vain; leave it out of gpus, or bind one of two alike by its address (PCIDriverRebindConfig)`,
  );
};

/** A fabric manager beside fewer cards than a board with NVSwitches has: they may be some of such a board's, handed to this machine. */
const switches = ({ name, uses, gpuCount, extensions }: MachineFacts): Nested<string> =>
  gpuCount > 0 &&
  extensions.some((extension) => nvidiaExtension(extension)?.kind === "fabricmanager") &&
  !hasSwitches(uses) &&
  !hasNoSwitch(uses) &&
  `machines.${name}.extensions: whether an NVSwitch is in the machine is not known here (boards of eight modules have some, boards of four none); without one the fabric manager ends at once with NV_WARN_NOTHING_TO_DO, and the update would wait for it`;

/** Power limits that no table can judge: the card's own range is seen on the machine alone. */
const power = ({ name, spec: { powerLimit: watts }, cards }: MachineFacts): Nested<string> =>
  watts !== undefined &&
  cards.map((card) => {
    const range = powerRangeOf(card);
    const refused =
      range && ((range.knownMax && watts > range.max) || (range.knownMin && watts < range.min));
    const own = card.power?.default ?? 0;
    const seen = watts >= (card.power?.seenFrom ?? own) && watts <= own;
    const known = range && ((range.knownMin && range.knownMax) || seen);
    return (
      !(refused || known || card.family === "spark") &&
      `machines.${name}.powerLimit: whether the ${card.model} takes ${watts} W is not known here; where it does not, nvidia-smi refuses it and the card runs with its own limit (nvidia-smi -q -d POWER shows the range)`
    );
  });

/** A configuration of the device plugin that the stack does not hold, or that says more than is counted here. */
const sharingNote = (spec: ClusterSpec): Nested<string> =>
  Object.values(spec.machines).some(
    (machine) => machine.gpus?.length && sharingOf(spec, machine)?.unread,
  ) &&
  `${spec.external ? "external.values" : spec.devicePlugin ? "devicePlugin.values.config" : "gpuOperator.values.devicePlugin.config"}: how many units the nodes offer is not known here; the plan counts on one per card or more of nvidia.com/gpu, so no check says whether all requests fit`;

/** What of MIG the lab shows by emulation alone, and no machine has shown to us. */
function migNotes(spec: ClusterSpec, facts: MachineFacts[]): Nested<string> {
  if (!spec.sharing?.mig) return undefined;
  const namesOf = (machines: MachineFacts[]): string => machines.map(({ name }) => name).join(", ");
  const withGpu = facts.filter(({ gpuCount }) => gpuCount > 0);
  const whole = withGpu.filter((machine) => !canSplit(machine));
  const unknown = facts.flatMap(({ uses }) =>
    uses.filter(({ card }) => card && !migOf(card) && card.mayHaveMig),
  );
  const withReset = facts.filter(({ cards }) => cards.some((card) => migOf(card)?.modeNeedsReset));
  return [
    `MIG: not tried on hardware by us; slices end with every boot, and a workload that takes a card before it is split again makes the MIG manager fail; with ${migManagerRelease} others split cards on Talos whose MIG mode was on already (NVIDIA/mig-parted#356)`,
    whole.length > 0 &&
      whole.length < withGpu.length &&
      `${namesOf(whole)}: no card with MIG, so its cards are offered whole`,
    unknown.map(
      ({ field, model }) =>
        `${field}: which MIG profiles the ${model} has is not known here (nvidia.com/mig.config.state shows it); the plan counts on one instance of the profile or more, so no check says whether all requests fit`,
    ),
    withReset.length > 0 &&
      `${namesOf(withReset)}: an Ampere card changes its MIG mode by a reset, which nvidia-persistenced keeps from happening (gpu-operator#118): where nvidia.com/mig.config.state becomes failed, reboot the machine once`,
  ];
}

/** Images whose CUDA is newer than a driver, where NVIDIA's forward compatibility may run them all the same. */
function cudaNotes(spec: ClusterSpec, facts: MachineFacts[]): Nested<string> {
  const images = [
    ...gpuRequests(spec).map(({ field, image }) => ({ field: `${field}.image`, image })),
    { field: "smokeTestImage", image: spec.smokeTestImage },
  ];
  return images.map(({ field, image }) => {
    const older = facts.filter(
      (machine) => image && newerCuda(image, machine) && isForwardCompatible(machine),
    );
    const drivers = older.map(({ name, driverVersion }) => `${name} (${driverVersion})`).join(", ");
    return (
      older[0] !== undefined &&
      `${field}: its CUDA ${newerCuda(image!, older[0])!.cuda} is newer than the driver of ${drivers}; data-center cards run it where the image has NVIDIA's package cuda-compat, as NVIDIA's own images do; without it CUDA fails to initialize`
    );
  });
}

/** Volumes in a namespace that another workload of the stack makes: taking that workload out deletes the namespace with all in it. */
function namespaceNotes(spec: ClusterSpec): Nested<string> {
  const makers = new Map(
    namespacesMade(spec).map(({ workload, namespace }) => [namespace, workload.field]),
  );
  return plannedVolumes(spec).map(({ field, namespace }) => {
    const maker = makers.get(namespace);
    return (
      maker !== undefined &&
      maker !== field &&
      `${field}: its volume is in namespace ${namespace}, which ${maker} makes; an update that takes ${maker} out deletes the namespace and this volume with it, so give ${field} a namespace of its own`
    );
  });
}
