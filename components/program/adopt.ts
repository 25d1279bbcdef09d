import { isNvidiaService } from "../recipe/facts/extension";
import {
  type Added,
  mergeConfiguration,
  shortenedAdded,
  unmergeConfiguration,
} from "../recipe/merge";
import { configurationHash, sameConfiguration } from "../clients/talos/configuration-text";
import type { Clock } from "../clients/clock";
import { CallError, Failure, type FieldFinding } from "../clients/failure";
import { documentConflictsIn, formOf } from "../recipe/machine/documents/conflicts";
import { containerdOverrides, ownPart } from "../recipe/machine/documents/overrides";
import { documentsOf } from "../recipe/merge/wanted";
import type { Machine } from "../clients/talos/talos-machine";
import type { Configurations } from "../clients/machine";
import { fitsVariable, LONGEST_VARIABLE } from "../clients/longest-variable";
import type { Report } from "./progress";
import { askLast } from "./removal";
import { criProblem, isolationWaits } from "./seen/sandbox";
import type { AdoptResult, AdoptTask } from "./task";

/** Means by which the program adopts and releases a machine's configuration. */
export interface AdoptBench {
  machine: Machine;
  clock: Clock;
  report: Report;
  /**
   * Whether Pulumi still takes the answer. Without it our fields would be unknown and would stay when the stack goes:
   * then the configuration of before is staged again. @pulumi/command kills its shell at Ctrl-C, and lets what the
   * shell has started go on (pulumi-command v1.2.1, provider/pkg/provider/local/commandOutputs.go:
   * exec.CommandContext).
   */
  isAwaited: () => boolean;
}

/**
 * Merges the patches into the machine's configuration by key and stages the result when it says something else than
 * before. The record of additions is returned, so that the next run and `release` know our part.
 *
 * @param previous answer of the last run; undefined on the first.
 * @throws Failure with every conflict; the machine is then as it was.
 */
export async function adopt(
  task: AdoptTask,
  previous: AdoptResult | undefined,
  bench: AdoptBench,
): Promise<AdoptResult> {
  const { machine, report, isAwaited } = bench;
  return unlessChanged(task, bench, async () => {
    const configurations = await machine.configurations();
    const live = nextOf(configurations);
    if (live === undefined)
      throw new Failure({
        field: `machines.${task.machine}.configuration`,
        problem: `the machine at ${task.address} has no configuration`,
        why: "there is nothing to adopt: it is in maintenance mode",
        remedy: "give it a configuration first, or make it `configuration: owned`",
      });
    report(`merge: ${task.patches.length} patches into the configuration of ${task.machine}`);
    const release = await machine.version();
    const merged = mergeConfiguration(live, task.patches, previous?.added, release);
    if (merged.conflicts.length > 0) throw new Failure(...merged.conflicts);
    const refused = [
      ...documentProblems(task, live, merged.configuration),
      ...containerdProblems(task, merged.configuration),
    ];
    if (refused.length > 0) throw new Failure(...refused);

    const changed = !sameConfiguration(live, merged.configuration);
    const added =
      (changed
        ? undefined
        : stagedBefore(task, configurations.active, live, previous?.added, release)) ??
      merged.added;
    const result = rememberable(task, {
      hash: configurationHash(merged.configuration),
      added,
      changed,
    });
    if (!changed) {
      report("equal: the configuration says all of it already");
      await warnOfContainerd(task, bench, configurations.active ?? live);
      return result;
    }
    report("stage: the next boot brings it into effect");
    await stage(machine, live, merged.configuration).catch(unlessRefused(task));
    if (!isAwaited()) {
      await machine.stage(live);
      throw new Error("Pulumi no longer runs, so the previous configuration is staged again");
    }
    return result; // with nothing left to do: only `stagedBefore` knows what Pulumi does not take now
  });
}

/**
 * Takes away what `adopt` added, and nothing else, and stages the result. Never reboots: modules stay loaded and
 * files in place until then. Where the image has NVIDIA's services, the kernel modules stay in the configuration: the
 * image stays, and without the modules its next boot would not end (`BootGuard`).
 *
 * @throws Failure where the machine does not answer.
 */
export async function release(
  task: AdoptTask,
  previous: AdoptResult | undefined,
  bench: AdoptBench,
): Promise<{ changed: boolean }> {
  const { machine, clock, report } = bench;
  if (previous === undefined) {
    report("release: the package has added nothing that it knows of");
    return { changed: false };
  }
  return unlessChanged(task, bench, async () => {
    const who = `the machine at ${task.address}`;
    const { live, stay } = await askLast({ clock, machine: task.machine, who }, async () => ({
      live: nextOf(await machine.configurations()),
      stay: Object.keys(await machine.services()).some(isNvidiaService),
    }));
    if (live === undefined) {
      report("release: the machine has no configuration, and so nothing of ours");
      return { changed: false };
    }
    const configuration = unmergeConfiguration(live, previous.added, !stay);
    if (stay && configuration !== unmergeConfiguration(live, previous.added))
      report(
        "release: the kernel modules stay in the configuration: the image stays too, and its NVIDIA services wait for the driver at every boot; remove the modules together with the image's NVIDIA extensions",
      );
    const changed = !sameConfiguration(live, configuration);
    if (changed) {
      report(`release: staged, ${task.machine} is not rebooted`);
      await stage(machine, live, configuration);
    } else {
      report("release: the configuration holds nothing of ours");
    }
    return { changed };
  });
}

/**
 * Conflicts for which Talos would refuse the configuration: the machine's own documents set a value that the stack's
 * patches set as a field, or the reverse.
 */
function documentProblems({ machine }: AdoptTask, live: string, merged: string): FieldFinding[] {
  const own = new Map(documentsOf(live));
  const all = new Map(documentsOf(merged));
  const before = new Set(
    documentConflictsIn(own).flatMap(({ document, fields }) => fields.map((at) => document + at)),
  );
  return documentConflictsIn(all).flatMap(({ document, fields }) =>
    fields
      .filter((at) => !before.has(document + at))
      .map((at) => ({
        field: `machines.${machine}.patches`,
        problem: `with the stack's patches the machine's configuration has the document ${document} and the field ${at}`,
        why: "Talos takes one of the two, and refuses a configuration with both",
        remedy: has(own, document)
          ? `write it as the documents have it (${formOf(document, at)}), or take ${document} out of the machine's own configuration`
          : `say under ${at} what the patches say in ${document}, or move the field into the document where the machine's configuration is made (${formOf(document, at)})`,
      })),
  );
}

/**
 * Settings in the stack's part of containerd's configuration that the machine's own documents would silently
 * override.
 */
const containerdProblems = ({ machine }: AdoptTask, merged: string): FieldFinding[] =>
  containerdOverrides(new Map(documentsOf(merged)))
    .filter(({ loses }) => loses === ownPart)
    .map(({ key, wins }) => ({
      field: `machines.${machine}.containerd`,
      problem: `the machine's configuration sets ${key} to another value, in its document ${wins}`,
      why: "Talos merges that document later, so the stack's value would have no effect",
      remedy: `remove it from the document (\`talosctl edit machineconfig\`), or set the same value in the stack`,
    }));

type Documents = ReadonlyMap<string, unknown>;

const has = (documents: Documents, name: string): boolean =>
  [...documents.keys()].some((other) => other === name || other.startsWith(`${name}/`));

/** Talos checks a configuration before it takes it: what it says then is of the patches, and not of credentials. */
function unlessRefused({ machine, address }: AdoptTask): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CallError) || !/code = InvalidArgument/.test(error.message)) throw error;
    throw new Failure({
      field: `machines.${machine}.patches`,
      problem: `Talos refuses the machine's configuration with these patches merged in: ${error.message}`,
      why: "nothing was changed",
      remedy: `correct the patch that sets the field in this error; \`talosctl -n ${address} get machineconfig -o yaml\` shows the machine's own configuration`,
    });
  };
}

/** A machine whose configuration is right may still lack a boot, unseen: Talos calls it ready. */
async function warnOfContainerd(
  { machine: name }: AdoptTask,
  { machine, report }: AdoptBench,
  active: string,
): Promise<void> {
  const problem = await criProblem(machine);
  if (problem === undefined) return;
  const remedy = (await isolationWaits(machine, active))
    ? "its SecurityProfileConfig takes effect at a boot: reboot the machine, one control plane at a time"
    : "look at `talosctl logs cri`";
  report(`warning: ${name}: ${problem}; ${remedy}`);
}

/**
 * The answer in a form that can be handed back to the next run and to `release`: long texts that were added by their
 * hashes, where it would be too long otherwise.
 *
 * @throws Failure where it is too long all the same: without it the added fields could not be removed. Nothing is
 * staged by then.
 */
function rememberable({ machine }: AdoptTask, result: AdoptResult): AdoptResult {
  if (fitsVariable(JSON.stringify(result))) return result;
  const short = { ...result, added: shortenedAdded(result.added as Added) };
  const length = Buffer.byteLength(JSON.stringify(short));
  if (length <= LONGEST_VARIABLE) return short;
  throw new Failure({
    field: `machines.${machine}.patches`,
    problem: `the record of what they add has ${Math.ceil(length / 1024)} KiB, of at most ${LONGEST_VARIABLE / 1024} KiB`,
    why: "the next run gets the record in an environment variable, and without it cannot change or remove the patches",
    remedy: "set fewer values; nothing was changed",
  });
}

/** The configuration changed after it was read. */
class Changed extends Error {}

/** Merges of a configuration that changes meanwhile. */
const MERGES = 3;

/**
 * Does it again if the configuration changed after it was read: staged as a whole, ours would take their change away.
 */
async function unlessChanged<T>(
  { machine }: AdoptTask,
  { report }: AdoptBench,
  once: () => Promise<T>,
): Promise<T> {
  for (let merges = 1; merges <= MERGES; merges++) {
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      report(`merge: the configuration of ${machine} changed meanwhile, so it is read again`);
    }
  }
  throw new Failure({
    field: `machines.${machine}`,
    problem: `another tool changed its configuration ${MERGES} times while this update merged into it`,
    why: "staging now would revert that change, so nothing was staged",
    remedy: "run again once the other change has come to its end",
  });
}

/**
 * Stages a configuration that was made of `live`.
 *
 * @throws Changed if another tool has changed the next boot's
 * configuration meanwhile.
 */
async function stage(machine: Machine, live: string, configuration: string): Promise<void> {
  if (nextOf(await machine.configurations()) !== live) throw new Changed();
  await machine.stage(configuration);
}

/**
 * Additions of an earlier run that was killed after it staged the configuration and before it answered. Then the
 * staged configuration equals the merge's result for the active one. Values that the active one also has count as
 * another owner's, even if they came from a stack that left without a reboot. The machine cannot distinguish the two,
 * and fields of others are never removed.
 */
function stagedBefore(
  task: AdoptTask,
  active: string | undefined,
  live: string,
  previous: Added | undefined,
  release: string,
): Added | undefined {
  if (active === undefined || sameConfiguration(active, live)) return undefined;
  const again = mergeConfiguration(active, task.patches, previous, release);
  return again.conflicts.length === 0 && sameConfiguration(again.configuration, live)
    ? again.added
    : undefined;
}

/** The configuration of the next boot, so that what others staged is kept. */
const nextOf = ({ active, persistent }: Configurations): string | undefined => persistent ?? active;
