import { kernelArgsFor, memoryBounds, saidMemory, sizesInWords } from "./facts/card";
import { isolation } from "./facts/data/since.json";
import { escapesInWords } from "./facts/escapes";
import type { MachineFacts } from "./facts/machine-facts";
import { findRelease } from "./facts/talos-release";
import { parseTalosVersion } from "./facts/version";
import { defined, type Nested, valueAt } from "./mapping";
import { valueOfDocument } from "./rules/yaml";
import type { ClusterSpec } from "./spec/index";
import { gpuRequests } from "./stack/workloads";
import { factsOf, seenBy } from "./machine/apart";
import { contractMinor, contractOf } from "./facts/contract";
import { readPatch } from "./machine/user-patches";

/** What of the machines a release, a contract or a card's name leaves open: one sentence each. */
export const machineNotes = (spec: ClusterSpec, facts: MachineFacts[]): Nested<string> => [
  facts.map((machine) => [
    escapes(spec, machine),
    isolated(spec, machine),
    branchTargets(machine, machine.spec.talosVersion ?? spec.talosVersion),
  ]),
  contractNotes(spec),
  memoryNotes(spec, facts),
];

/** A toolkit with which a hostile image leaves its container. */
function escapes(
  spec: ClusterSpec,
  { name, spec: machine, gpuCount }: MachineFacts,
): Nested<string> {
  if (gpuCount === 0) return undefined;
  const { talosVersion } = seenBy(spec, machine);
  const toolkit = findRelease(talosVersion, factsOf(spec, talosVersion))?.drivers.toolkit;
  const words = escapesInWords(talosVersion, toolkit);
  return words !== undefined && `machines.${name}: ${words}`;
}

/** Workload isolation, where a patch of the stack switches it on: nobody has told of it with a card yet. */
function isolated(
  { patches = [] }: ClusterSpec,
  { name, spec, gpuCount }: MachineFacts,
): Nested<string> {
  const documents = [...patches, ...(spec.patches ?? [])].flatMap(
    (text) => readPatch(text, "").documents,
  );
  const isOn = documents
    .map(valueOfDocument)
    .some(
      (value) =>
        valueAt(value, "kind") === isolation.document &&
        valueAt(value, "workloadIsolation") === true,
    );
  return (
    isOn &&
    gpuCount > 0 &&
    `machines.${name}: with workload isolation (${isolation.document}) containerd, the kubelet and all pods have process and mount namespaces of their own; the CDI specification, the devices and the folder of nvidia-persistenced were seen inside on Talos 1.14.1 without a card, and no report tells of it with one: try one machine first (upgrade.first)`
  );
}

/** First minor release whose kernel has branch target identification on arm64 (talos#13019). */
const firstWithBranchTargets = 13;

/** A card in a slot of an arm64 machine: an overlay is one of a single-board computer, so it shows the processor. */
const branchTargets = ({ name, spec, cards }: MachineFacts, talosVersion: string): Nested<string> =>
  cards.length > 0 &&
  spec.overlay !== undefined &&
  kernelArgsFor(cards).length === 0 &&
  !(spec.kernelArgs ?? []).includes("arm64.nobti") &&
  (parseTalosVersion(talosVersion)?.minor ?? 0) >= firstWithBranchTargets &&
  `machines.${name}.kernelArgs: the kernel of Talos ≥ 1.${firstWithBranchTargets} has branch target identification on arm64, with which NVIDIA's modules crash on a GB10 (talos#13019); whether they do with a card in a slot is not known: if the kernel log shows an Oops of nvidia, write arm64.nobti there`;

/** Owned machines whose contract nobody pinned, by the contract that they have; and others, to which the field means nothing. */
function contractNotes({ machines, talosVersion: ofAll }: ClusterSpec): Nested<string> {
  const unpinned = new Map<string, string[]>();
  for (const [name, { configuration, talosVersion = ofAll, ...machine }] of Object.entries(
    machines,
  )) {
    if (configuration !== "owned" || machine.versionContract !== undefined) continue;
    const contract = contractMinor(contractOf({ ...machine, talosVersion }));
    unpinned.set(contract, [...(unpinned.get(contract) ?? []), name]);
  }
  const others = Object.entries(machines).filter(
    ([, { configuration, versionContract }]) =>
      configuration !== "owned" && versionContract !== undefined,
  );
  return [
    [...unpinned].map(
      ([contract, names]) =>
        `${names.join(", ")}: the configuration is generated for Talos ${contract}, and nothing pins that: write \`versionContract: ${contract}\` under machineDefaults or at the machine, and leave it there; without it a preview stops at the next minor release`,
    ),
    others.map(
      ([name, { configuration }]) =>
        `machines.${name}.versionContract: has no effect on a machine whose configuration is ${configuration}: its owner generates it`,
    ),
  ];
}

/** Claims that the larger card of a name takes and the smaller one does not, where the stack does not say which one it has. */
function memoryNotes(spec: ClusterSpec, facts: MachineFacts[]): Nested<string> {
  if (spec.dra === undefined) return undefined;
  const uses = facts.flatMap((machine) => machine.uses);
  return gpuRequests(spec).map(({ field, claim }) => {
    const { memory } = claim ?? {};
    const wantedMiB = saidMemory({ ...defined({ memory }) });
    if (wantedMiB === undefined) return undefined;
    return uses.map((use) => {
      const { memoriesMiB = [] } = use.card ?? {};
      const bounds = use.card && memoryBounds(use.card);
      return (
        bounds !== undefined &&
        bounds.least < wantedMiB &&
        wantedMiB <= bounds.greatest &&
        `${use.field}.memory: the ${use.card!.model} exists with ${sizesInWords(memoriesMiB)}, and the ${memory} of ${field}.claim.memory do not fit each of them; say which one it is (nvidia-smi shows it): on a smaller one no such pod starts`
      );
    });
  });
}
