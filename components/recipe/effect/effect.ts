import { parseTalosVersion } from "../facts/version";
import { plannedMachines } from "../machine/planned-machine";
import type { FindingText } from "../rules";
import { changesOf, identityChanges, isOfPackage, shortText, type Change } from "./changes";
import { driftFinding } from "../facts/contract";
import { contractFinding, handOverFinding, generatedOf, kubernetesPathFinding } from "./findings";
import { upgradePath, wayText } from "./hops";
import { machineState, type MachineState } from "./state";
import { renderFinding } from "../stack/findings";
import type { Plan } from "../types";
import { isOfModule, waitsForBoot } from "./update-effect";

/** Whether a machine reboots: certainly, not at all, or on a condition. */
export type Word = "yes" | "no" | "only if";

/** Effect of an update on a machine. */
export interface MachineEffect {
  reboots: Word;
  /** Reason for the reboot or against it; with `only if`, the condition. */
  because: string;
  /** Changes of the machine, e.g. `talosVersion: v1.12.6 → v1.12.7`; empty if the previous state is unknown. */
  changes: string[];
  /**
   * How a machine that reboots is drained: `for at most 5m`, `no`, `by Omni`, `by Talos itself`. Absent if the machine
   * does not reboot.
   */
  drained?: string;
  /** Longest time without pods on a machine that reboots, e.g. `45m`. Absent if the machine does not reboot. */
  awayForAtMost?: string;
}

/**
 * Effect of an update on a machine, if the machine is still in the state that the previous update left. The upgrade
 * program decides by the same rule (`updateEffectOf`) when it reads the machine.
 *
 * @param before previous state; undefined if the machine is new in the stack.
 * @param after wanted state; undefined if the machine leaves the stack.
 */
export function effectOf(
  before: MachineState | undefined,
  after: MachineState | undefined,
): MachineEffect {
  if (after === undefined)
    return before === undefined ? noReboot("it is in no stack", []) : effectOfRemoval(before);
  const effect = before === undefined ? effectOfAddition(after) : effectOfChange(before, after);
  return effect.reboots === "no" ? effect : withAbsence(effect, after, before);
}

/** The states of a plan's machines, by node name. */
export const machineStates = (plan: Plan): Record<string, MachineState> =>
  Object.fromEntries(plannedMachines(plan).map((machine) => [machine.name, machineState(machine)]));

/**
 * Effects of an update from one plan to a second plan, by node name, in the order of the update. A machine that is in
 * only one of the plans has an effect too.
 *
 * @param before plan of the previous update; undefined if the previous state is unknown.
 */
export function effectsOf(before: Plan | undefined, after: Plan): Record<string, MachineEffect> {
  const previousStates = before === undefined ? {} : machineStates(before);
  const nextStates = machineStates(after);
  return Object.fromEntries(
    Object.keys({ ...nextStates, ...previousStates }).map((name) => [
      name,
      effectOf(previousStates[name], nextStates[name]),
    ]),
  );
}

/**
 * Effect of an update that only inspects a machine. The stack does not change the machine, but the previous update
 * failed, or the credentials or the program have changed.
 */
export function effectOfInspection(state: MachineState): MachineEffect {
  const because =
    "it differs from the stack (the update checks this because the last update failed, or because the credential or the program has changed)";
  return withAbsence({ reboots: "only if", because, changes: [] }, state);
}

/**
 * Reason why an update refuses to bring a machine to a state; undefined if no reason is known. The upgrade program
 * checks the step between Talos releases by the same rule (`upgradePath`) when it reads the machine.
 *
 * @param machine node name.
 * @param runs Talos release that the last successful update saw on the machine, if there was one.
 * @param after wanted state.
 * @param before wanted state of the last update; undefined if unknown.
 * @param isContractSaid whether the stack sets `versionContract` for the machine.
 */
export function refusalOf(
  machine: string,
  runs: unknown,
  after: MachineState,
  before?: MachineState,
  isContractSaid = false,
): string | undefined {
  const findingText = (field: string, finding: FindingText | undefined): string | undefined =>
    finding && renderFinding({ field, ...finding });
  const handedOver = before && handOverFinding(before.configuration, after.configuration);
  if (handedOver || after.configuration === "omni")
    return findingText(`machines.${machine}.configuration`, handedOver);
  const { talosVersion = "" } = after.rebootsIfChanged;
  const [currentVersion, wantedVersion] = [
    parseTalosVersion(String(runs)),
    parseTalosVersion(talosVersion),
  ];
  const contract = after.mayRebootIfChanged?.contract;
  return (
    findingText(
      `machines.${machine}.talosVersion`,
      currentVersion &&
        wantedVersion &&
        upgradePath(currentVersion.text, wantedVersion.text, hopBasisOf(after)).fault,
    ) ??
    findingText(
      `machines.${machine}.versionContract`,
      currentVersion && contract ? contractFinding(currentVersion.text, contract) : undefined,
    ) ??
    findingText(
      `machines.${machine}.versionContract`,
      driftFinding(before?.mayRebootIfChanged?.contract, contract, isContractSaid),
    ) ??
    findingText("kubernetesVersion", before && kubernetesPathFinding(before, after))
  );
}

/** Facts in a machine's state that decide whether one update can upgrade the machine over several minors. */
const hopBasisOf = (state: MachineState) => ({
  extensions: state.rebootsIfChanged.extensions,
  ownImage: state.rebootsIfChanged.installerImage !== undefined,
  kubernetes: generatedOf(state).kubernetesVersion,
});

/**
 * The intermediate Talos releases of a machine's upgrade (`hops`), and all its releases as a text. Undefined if there
 * is no intermediate release, if a release is unknown, or if Omni upgrades the machine: Omni upgrades in one step.
 */
function wayTo(
  after: MachineState,
  before: MachineState | undefined,
): { hops: string[]; text: string } | undefined {
  const runningRelease = before?.rebootsIfChanged.talosVersion ?? after.runningVersion ?? "";
  const runningVersion = parseTalosVersion(runningRelease);
  const wantedVersion = parseTalosVersion(after.rebootsIfChanged.talosVersion ?? "");
  if (!runningVersion || !wantedVersion || after.configuration === "omni") return undefined;
  const { intermediateReleases: hops } = upgradePath(
    runningVersion.text,
    wantedVersion.text,
    hopBasisOf(after),
  );
  return hops.length > 0
    ? { hops, text: wayText(runningVersion.text, hops, wantedVersion.text) }
    : undefined;
}

/** End of a reason: the releases of an upgrade over several minors. Empty for any other upgrade. */
function hopsText(after: MachineState, before?: MachineState): string {
  const hopPlan = wayTo(after, before);
  if (hopPlan === undefined) return "";
  const gpus =
    after.driver === undefined
      ? ""
      : ", and no pod gets a GPU on this machine before the last reboot";
  return `; ${hopPlan.hops.length + 1} reboots: ${hopPlan.text} (each release in between is the newest patch release of its minor in the Image Factory)${gpus}`;
}

function withAbsence(
  effect: MachineEffect,
  after: MachineState,
  before?: MachineState,
): MachineEffect {
  const hops = wayTo(after, before)?.hops.length ?? 0;
  const upgradeText =
    hops === 0
      ? after.awayForAtMost
      : `${hops + 1} times ${after.awayForAtMost}, plus the image pulls between the reboots`;
  return {
    ...effect,
    drained: drainOf(after, before),
    awayForAtMost: after.awaitsTest
      ? `${upgradeText}, and then until its smoke test has passed`
      : upgradeText,
  };
}

/** Fields of the image. If one of them changes, the reboot is part of an upgrade. */
const ofImage = ["talosVersion", "schematicId", "installerImage"] as const;

/**
 * Who drains the machine. In an upgrade, Talos 1.12 and older itself cordons the node and evicts its pods, and the
 * request cannot prevent this (lab/docs/conformance.md).
 */
function drainOf(after: MachineState, before: MachineState | undefined): string {
  const {
    drainedBeforeReboot: statedDrain,
    rebootsIfChanged: wantedImage,
    runningVersion,
    installs,
  } = after;
  const previousImage = before?.rebootsIfChanged;
  if (
    statedDrain !== "no" ||
    installs ||
    (previousImage && ofImage.every((field) => previousImage[field] === wantedImage[field]))
  )
    return statedDrain;
  const runningRelease = previousImage?.talosVersion ?? runningVersion;
  // The update never downgrades a machine, so a machine whose wanted release is old also runs an old release.
  const minors = [runningRelease, wantedImage.talosVersion].flatMap(
    (release = "") => parseTalosVersion(release)?.minor ?? [],
  );
  if (minors.some((minor) => minor <= 12)) return "by Talos itself";
  return runningRelease === undefined
    ? "by Talos itself, if the machine runs Talos 1.12 or older"
    : statedDrain;
}

const drainWords = (drained: string): string =>
  drained === "no" ? "not drained" : `then drained ${drained}`;

/** The effect in one line, as a preview shows it. */
export function describeEffect({
  reboots,
  because,
  drained,
  awayForAtMost,
}: MachineEffect): string {
  const drain = drained === undefined ? "" : `; it is ${drainWords(drained)}`;
  const absence =
    awayForAtMost === undefined ? "" : `, and takes no pods for at most ${awayForAtMost}`;
  return `reboots: ${reboots}${reboots === "only if" ? " " : ": "}${because}${drain}${absence}`;
}

const noReboot = (because: string, changes: string[]): MachineEffect => ({
  reboots: "no",
  because,
  changes,
});

/** Effect on a machine that leaves the stack. */
function effectOfRemoval({ configuration, driver }: MachineState): MachineEffect {
  if (configuration === "omni")
    return {
      reboots: "yes",
      because:
        "Omni makes a new image and configuration for it, without the stack's extensions and patches",
      changes: [],
      drained: "by Omni",
    };
  if (configuration !== "adopted") return noReboot("the update does not change it", []);
  // The image stays, and its NVIDIA services wait for the driver at every boot (`release` of the machine program).
  const whatStays =
    driver === undefined
      ? ""
      : ". The entries for NVIDIA's kernel modules stay, because its image needs them to boot";
  return noReboot(`its configuration loses the stack's settings at its next boot${whatStays}`, []);
}

/** Effect on a machine that is new in the stack. */
function effectOfAddition(state: MachineState): MachineEffect {
  const { configuration, runningVersion, installs, rebootsIfChanged } = state;
  const { talosVersion = "", schematicId, installerImage } = rebootsIfChanged;
  if (runningVersion !== undefined && runningVersion !== talosVersion)
    return {
      reboots: "yes",
      because: `it goes from Talos ${runningVersion} to ${talosVersion}${hopsText(state)}`,
      changes: [],
    };
  const image =
    schematicId === undefined
      ? `Talos ${talosVersion} with ${installerImage ?? "its extensions"}`
      : `Talos ${talosVersion} with schematic ${schematicId.slice(0, 12)}`;
  // A machine in maintenance mode may have booted from a medium, or from a disk that already has an image (seen:
  // lab/docs/conformance.md).
  if (installs)
    return {
      reboots: "only if",
      because: `its disk does not already contain ${image}`,
      changes: [],
    };
  const subject =
    configuration === "omni" ? "Omni has not already brought it to" : "it does not already run";
  return {
    reboots: "only if",
    because: `${subject} ${image} and the stack's configuration`,
    changes: [],
  };
}

function effectOfChange(before: MachineState, after: MachineState): MachineEffect {
  const bootChanges = changesOf(before, after, "rebootsIfChanged");
  const perhapsChanges = changesOf(before, after, "mayRebootIfChanged");
  const liveChanges = changesOf(before, after, "changesWithoutReboot");
  const changes = [
    ...identityChanges(before, after),
    ...bootChanges,
    ...perhapsChanges,
    ...liveChanges,
  ].map(({ text }) => text);
  if (handOverFinding(before.configuration, after.configuration))
    return noReboot(
      `the update refuses to change its configuration from ${before.configuration} to ${after.configuration} in one step`,
      changes,
    );
  const certain = bootChanges.filter(
    ({ comesOrGoes }) => comesOrGoes === undefined || isOfPackage(comesOrGoes, after),
  );
  if (certain.length > 0) {
    const driver =
      before.driver === after.driver
        ? ""
        : `driver: ${shortText(before.driver)} → ${shortText(after.driver)}, `;
    return {
      reboots: "yes",
      because:
        driver +
        reasons(bootChanges) +
        omniRebootText(before, after, bootChanges) +
        hopsText(after, before),
      changes,
    };
  }
  const condition = conditionOf(before, after, bootChanges, perhapsChanges);
  if (condition !== undefined) return { reboots: "only if", because: condition, changes };
  return noReboot(
    liveChanges.length > 0
      ? `no reboot is needed for ${reasons(liveChanges)}${untilBootText(liveChanges, after)}`
      : "its image and its configuration do not change",
    changes,
  );
}

/** The condition on which the machine reboots; undefined if the machine does not reboot. */
function conditionOf(
  before: MachineState,
  after: MachineState,
  boot: Change[],
  perhaps: Change[],
): string | undefined {
  if (before.configuration !== after.configuration)
    return `the change from ${before.configuration} to ${after.configuration} alters its configuration`;
  if (boot.length > 0) {
    const configurationText =
      after.configuration === "owned"
        ? "the configuration that Talos generates"
        : "its active configuration";
    return `this changes ${configurationText}: ${reasons(boot)}`;
  }
  if (perhaps.some(({ field }) => field === "reconcileToken"))
    return `its state differs from the state after the last update (checked because of ${reasons(perhaps)})`;
  if (perhaps.length > 0)
    return `Talos generates a different configuration for it because of ${reasons(perhaps)}`;
  if (before.address !== after.address) return `another machine answers at ${after.address}`;
  return undefined;
}

/** Text of a reason with all changes, except changes that follow from another change. */
function reasons(changes: Change[]): string {
  const hasChange = (field: string): boolean =>
    changes.some(({ field: changedField }) => changedField === field);
  const image = ["talosVersion", "schematicId", "installerImage"].some(hasChange);
  const implied = (field: string | undefined): boolean =>
    (field === "schematicId" && (hasChange("extensions") || hasChange("kernelArgs"))) ||
    (field === "machine.install.image" && image);
  return changes
    .filter(({ field }) => !implied(field))
    .map(({ text }) => text)
    .join(", ");
}

/**
 * Text about changes without a reboot that take effect only at the next boot. For example, Talos does not load a module
 * again to change its parameters (talos, kernel_module_spec.go).
 */
function untilBootText(
  liveChanges: Change[],
  { rebootsIfChanged: { talosVersion = "" } }: MachineState,
): string {
  const parts = liveChanges.flatMap(({ field }) => field ?? []);
  const lateParts = parts.filter(
    (part) => !isOfModule(part) && waitsForBoot(part, talosVersion, false),
  );
  return [
    ...(parts.some(isOfModule)
      ? ["a changed parameter of a loaded kernel module takes effect at the machine's next boot"]
      : []),
    ...(lateParts.length > 0
      ? [`the change of ${lateParts.join(" and ")} takes effect at the machine's next boot`]
      : []),
  ]
    .map((text) => `; ${text}`)
    .join("");
}

/**
 * Text about an upgrade by Omni: whether Omni reboots the machine twice, and whether the user must start the upgrade in
 * Omni.
 */
function omniRebootText(before: MachineState, after: MachineState, boot: Change[]): string {
  if (after.configuration !== "omni") return "";
  const isImage = ({ field }: Change): boolean =>
    field === "talosVersion" || field === "extensions";
  const needsTwoReboots = boot.some(isImage) && boot.some((change) => !isImage(change));
  const release = before.rebootsIfChanged.talosVersion !== after.rebootsIfChanged.talosVersion;
  return (
    (needsTwoReboots
      ? "; two reboots, because Omni first upgrades the image and then applies the configuration"
      : "") +
    (release
      ? "; start the upgrade of Talos on the cluster's page in Omni, because the update only waits for it"
      : "")
  );
}
