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
import { documentConflictsIn, formOf, hasForm } from "../recipe/machine/documents/conflicts";
import { containerdOverrides, ownPart } from "../recipe/machine/documents/overrides";
import { documentsOf } from "../recipe/merge/wanted";
import type { Machine } from "../clients/talos/talos-machine";
import type { Configurations } from "../clients/machine";
import { fitsVariable, LONGEST_VARIABLE } from "../clients/longest-variable";
import type { Report } from "./progress";
import { askLast } from "./removal";
import { criProblem, waitsForSandboxd } from "./seen/sandbox";
import type { AdoptResult, AdoptTask } from "./task";

/** Clients and output with which the program adopts and releases a machine's configuration. */
export interface AdoptContext {
  machine: Machine;
  clock: Clock;
  report: Report;
  /**
   * Whether Pulumi still waits for the answer. If Pulumi does not wait, the program stages the previous configuration
   * again. Without the answer, no later run knows which fields this package added, and nothing would remove them. At
   * Ctrl-C, @pulumi/command kills its shell, but not the shell's children (pulumi-command v1.2.1,
   * provider/pkg/provider/local/commandOutputs.go: exec.CommandContext).
   */
  isAwaited: () => boolean;
}

/**
 * Merges the patches into the machine's configuration by key, and stages the result if the merge changed anything.
 * Returns a record of the fields that this package added, for the next run and for `release`.
 *
 * @param previous answer of the last run; undefined on the first.
 * @throws Failure with every conflict; the machine is then unchanged.
 */
export async function adopt(
  task: AdoptTask,
  previous: AdoptResult | undefined,
  context: AdoptContext,
): Promise<AdoptResult> {
  const { machine, report, isAwaited } = context;
  return unlessChanged(task, context, async () => {
    const configurations = await machine.configurations();
    const live = nextConfiguration(configurations);
    if (live === undefined)
      throw new Failure({
        field: `machines.${task.machine}.configuration`,
        problem: `the machine at ${task.address} has no configuration`,
        why: "the machine is in maintenance mode, so there is nothing to adopt",
        remedy: "apply a configuration to the machine first, or set `configuration: owned` for it",
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
        : previouslyStaged(task, configurations.active, live, previous?.added, release)) ??
      merged.added;
    const result = rememberable(task, {
      hash: configurationHash(merged.configuration),
      added,
      changed,
    });
    if (!changed) {
      report("equal: the configuration has all settings of the patches");
      await warnOfContainerd(task, context, configurations.active ?? live);
      return result;
    }
    report("stage: the configuration takes effect at the next boot");
    await stage(machine, live, merged.configuration).catch(unlessRefused(task));
    if (!isAwaited()) {
      await machine.stage(live);
      throw new Error("Pulumi no longer runs, so the previous configuration is staged again");
    }
    // If Pulumi ends only now, the next run's `previouslyStaged` finds the additions.
    return result;
  });
}

/**
 * Removes only the additions of `adopt`, and stages the result. Never reboots: until the next boot, modules stay loaded
 * and files stay in place. If the image has NVIDIA's services, the kernel modules stay in the configuration, because
 * these services would otherwise block the next boot (`BootGuard`).
 *
 * @throws Failure if the machine does not answer.
 */
export async function release(
  task: AdoptTask,
  previous: AdoptResult | undefined,
  context: AdoptContext,
): Promise<{ changed: boolean }> {
  const { machine, clock, report } = context;
  if (previous === undefined) {
    report("release: the stack has no record of settings that it added to the configuration");
    return { changed: false };
  }
  return unlessChanged(task, context, async () => {
    const machineText = `the machine at ${task.address}`;
    const { live, stay } = await askLast(
      { clock, machine: task.machine, who: machineText },
      async () => ({
        live: nextConfiguration(await machine.configurations()),
        stay: Object.keys(await machine.services()).some(isNvidiaService),
      }),
    );
    if (live === undefined) {
      report("release: the machine has no configuration, so there is nothing to remove");
      return { changed: false };
    }
    const configuration = unmergeConfiguration(live, previous.added, !stay);
    if (stay && configuration !== unmergeConfiguration(live, previous.added))
      report(
        "release: the kernel modules stay in the configuration, because the image keeps its NVIDIA services, which wait for the driver at every boot; remove the modules together with the image's NVIDIA extensions",
      );
    const changed = !sameConfiguration(live, configuration);
    if (changed) {
      report(
        `release: a configuration without the stack's settings is staged; ${task.machine} does not reboot`,
      );
      await stage(machine, live, configuration);
    } else {
      report("release: the configuration has none of the package's settings");
    }
    return { changed };
  });
}

/**
 * Findings about conflicts between the machine's configuration and the stack's patches. In a conflict, a document and a
 * field of the main configuration set the same value, and Talos refuses such a configuration.
 */
function documentProblems({ machine }: AdoptTask, live: string, merged: string): FieldFinding[] {
  const liveDocuments = new Map(documentsOf(live));
  const mergedDocuments = new Map(documentsOf(merged));
  const previousConflicts = new Set(
    documentConflictsIn(liveDocuments).flatMap(({ document, fields }) =>
      fields.map((conflictingField) => document + conflictingField),
    ),
  );
  return documentConflictsIn(mergedDocuments).flatMap(({ document, fields }) =>
    fields
      .filter((conflictingField) => !previousConflicts.has(document + conflictingField))
      .map((conflictingField) => ({
        field: `machines.${machine}.patches`,
        problem: `with the stack's patches, the machine's configuration has both the document ${document} and the field ${conflictingField}`,
        why: "Talos refuses a configuration with both of them",
        remedy: hasDocument(liveDocuments, document)
          ? remedyForField(document, conflictingField)
          : remedyForDocument(document, conflictingField),
      })),
  );
}

/** Remedy if the machine has the document, and the stack's patches have the field. */
const remedyForField = (document: string, field: string): string => {
  const inPatches = hasForm(field)
    ? `write the patch in the form of the document (${formOf(document, field)})`
    : `leave ${field} out of the patches, because no document replaces it`;
  return `${inPatches}, or remove ${document} from the machine's own configuration`;
};

/** Remedy if the machine has the field, and the stack's patches have the document. */
const remedyForDocument = (document: string, field: string): string => {
  const inPatches = `in the patches, write the settings of ${document} as fields of the main configuration, in the same form as ${field}`;
  return hasForm(field)
    ? `${inPatches}. Or, in the tool that owns the configuration, move the field into the document (${formOf(document, field)})`
    : inPatches;
};

/** Findings about the stack's options for containerd that the machine's own documents would silently override. */
const containerdProblems = ({ machine }: AdoptTask, merged: string): FieldFinding[] =>
  containerdOverrides(new Map(documentsOf(merged)))
    .filter(({ loses }) => loses === ownPart)
    .map(({ key, wins }) => ({
      field: `machines.${machine}.containerd`,
      problem: `the machine's configuration sets ${key} to another value, in its document ${wins}`,
      why: "Talos merges that document after the stack's settings, so the stack's value would have no effect",
      remedy: `remove ${key} from the document (\`talosctl edit machineconfig\`), or set the same value in the stack`,
    }));

type Documents = ReadonlyMap<string, unknown>;

const hasDocument = (documents: Documents, name: string): boolean =>
  [...documents.keys()].some(
    (documentName) => documentName === name || documentName.startsWith(`${name}/`),
  );

/** Turns Talos' refusal of a merged configuration into a finding about the patches; other errors pass through. */
function unlessRefused({ machine, address }: AdoptTask): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CallError) || !/code = InvalidArgument/.test(error.message)) throw error;
    throw new Failure({
      field: `machines.${machine}.patches`,
      problem: `Talos refuses the machine's configuration with these patches merged in: ${error.message}`,
      why: "nothing was changed",
      remedy: `correct the patch that sets the field in this error. \`talosctl -n ${address} get machineconfig -o yaml\` shows the machine's own configuration`,
    });
  };
}

/**
 * Warns if containerd does not run as configured, because Talos reports such a machine as ready. The remedy is a reboot
 * if the configuration waits for a boot, else containerd's log.
 */
async function warnOfContainerd(
  { machine: name }: AdoptTask,
  { machine, report }: AdoptContext,
  active: string,
): Promise<void> {
  const problem = await criProblem(machine);
  if (problem === undefined) return;
  const remedy = (await waitsForSandboxd(machine, active))
    ? "the machine's SecurityProfileConfig takes effect at the next boot: reboot the machine (control planes one after another)"
    : "look at `talosctl logs cri`";
  report(`warning: ${name}: ${problem}; ${remedy}`);
}

/**
 * The answer, short enough that Pulumi can pass it to the next run and to `release`. In an answer that is too long,
 * hashes replace the long texts that were added.
 *
 * @throws Failure if the answer is still too long, because without the record the added fields could not be removed.
 * Nothing is staged yet.
 */
function rememberable({ machine }: AdoptTask, result: AdoptResult): AdoptResult {
  if (fitsVariable(JSON.stringify(result))) return result;
  const short = { ...result, added: shortenedAdded(result.added as Added) };
  const length = Buffer.byteLength(JSON.stringify(short));
  if (length <= LONGEST_VARIABLE) return short;
  throw new Failure({
    field: `machines.${machine}.patches`,
    problem: `the record of what these patches add is ${Math.ceil(length / 1024)} KiB long (limit ${LONGEST_VARIABLE / 1024} KiB)`,
    why: "the next run receives the record in an environment variable, and cannot change or remove the patches without it. Nothing was changed",
    remedy: "set fewer values in the patches",
  });
}

/** Another tool changed the configuration after the program read it. */
class Changed extends Error {}

/** The largest number of merges, if another tool changes the configuration during each. */
const MERGES = 3;

/**
 * Repeats a merge if another tool changed the configuration after the program read it: staging replaces the whole
 * configuration, and would revert the other tool's change.
 */
async function unlessChanged<T>(
  { machine }: AdoptTask,
  { report }: AdoptContext,
  once: () => Promise<T>,
): Promise<T> {
  for (let merges = 1; merges <= MERGES; merges++) {
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      report(
        `merge: another tool changed the configuration of ${machine}, so the program reads it again`,
      );
    }
  }
  throw new Failure({
    field: `machines.${machine}`,
    problem: `another tool changed the machine's configuration ${MERGES} times while this update merged its patches`,
    why: "staging now would revert the last change, so nothing was staged",
    remedy: "run again once the other tool has finished",
  });
}

/**
 * Stages a configuration that was made from `live`.
 *
 * @throws Changed if another tool has changed the configuration of the next boot since `live` was read.
 */
async function stage(machine: Machine, live: string, configuration: string): Promise<void> {
  if (nextConfiguration(await machine.configurations()) !== live) throw new Changed();
  await machine.stage(configuration);
}

/**
 * Additions of an earlier run that was killed after it staged the configuration and before it answered; undefined if
 * there was no such run. The function merges the patches into the active configuration again: if the result equals the
 * staged configuration, there was such a run. A value that the active configuration already has counts as another
 * owner's, and the program never removes it. Such a value may in fact come from a stack that was removed without a
 * reboot, but the machine does not show this.
 */
function previouslyStaged(
  task: AdoptTask,
  active: string | undefined,
  live: string,
  previous: Added | undefined,
  release: string,
): Added | undefined {
  if (active === undefined || sameConfiguration(active, live)) return undefined;
  const mergedAgain = mergeConfiguration(active, task.patches, previous, release);
  return mergedAgain.conflicts.length === 0 && sameConfiguration(mergedAgain.configuration, live)
    ? mergedAgain.added
    : undefined;
}

/**
 * The configuration of the next boot. A merge into this configuration keeps the changes that other tools have staged. A
 * merge into the active configuration would revert them.
 */
const nextConfiguration = ({ active, persistent }: Configurations): string | undefined =>
  persistent ?? active;
