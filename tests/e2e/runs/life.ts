import * as fs from "node:fs";
import { inOneLine } from "../../../components/diagnosis";
import { isDeepStrictEqual } from "node:util";
import type { RunOptions, RunResult } from "../../../lab/engine";
import { diagnoseLab } from "../../../lab/run/diagnose-lab";
import { predictedReboots, wrongPredictions } from "../../../lab/run/predicted-reboots";
import { countCallsAndReboots, countSince, gatherMachines } from "../../../lab/run/gather";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { MachineReport } from "../../../lab/run/report";
import { findLeftovers } from "../../../lab/run/take-down";
import { describeChanges } from "../../../lab/run/updates";
import { stackNameOf } from "../../../stacks/stack-file";
import type { StackConfig } from "../../support/edits";
import { deleteObjects, replaceableUrns } from "./deletions-by-hand";
import { type StackTestBed, startStackTestBed } from "./stack-test-bed";
import { applyMergePatch } from "../../recipe/stacks";
import { stackFileOf, type StackEdit, editedStacks } from "./life-table";
import { runAsProgram } from "./run-as-program";

/** Result of an edit, or of undoing it. */
export interface EditResult {
  edit: string;
  /** The preview's announcement of reboots, by machine; `refused` if it failed as expected. */
  announcement: string;
  /** Actual reboots, by machine. */
  reboots: Record<string, number>;
  /** Deviations: errors of the update, wrong announcements, and changes that a further preview would make. */
  deviations: string[];
  seconds: number;
}

/** Results of all edits of a stack. */
export interface EditsRun {
  results: EditResult[];
  /** Its machines before the first edit. */
  machines: Record<string, MachineReport>;
  leftovers: string[];
}

type ExpectedUpdate = Pick<StackEdit, "mayBeUncertain" | "noReboots" | "inPlace">;

class EditsRunner {
  readonly results: EditResult[] = [];
  private kubeconfig: string;

  constructor(
    private readonly testBed: StackTestBed,
    private stackConfig: StackConfig,
  ) {
    this.kubeconfig = fs.readFileSync(testBed.lab.controlPlane.adminKubeconfig, "utf8");
  }

  /** Applies an edit, then its further edits, then undoes it. */
  async applyAndUndo({
    name,
    change,
    kubeconfig = ["", ""],
    undoError,
    refused,
    furtherEdits = [],
    ...expected
  }: StackEdit): Promise<void> {
    const unedited = { stackConfig: this.stackConfig, kubeconfig: this.kubeconfig };
    const edited = {
      stackConfig: applyMergePatch(this.stackConfig, change) as StackConfig,
      kubeconfig: this.kubeconfig.replace(...kubeconfig),
    };
    await this.configure(edited);
    if (refused !== undefined) {
      await this.expectRefusal(name, refused.preview);
      await this.expectRefusal(`${name}, without a preview`, refused.update, "up");
      await this.configure(unedited);
      return this.update(`${name}, after the refusal`, { noReboots: true, inPlace: true });
    }
    await this.update(name, expected);
    for (const furtherEdit of furtherEdits) await this.applyAndUndo(furtherEdit);
    await this.configure(unedited);
    const undoName = `${name}, undone`;
    if (undoError === undefined) return this.update(undoName, expected);
    await this.expectRefusal(undoName, undoError);
    await this.configure(edited);
    await this.expectNoChanges(`${name}, after the refusal`);
  }

  /** Deleted objects return, and requested replacements happen; no machine reboots for either. */
  async deleteByHand(): Promise<void> {
    const { lab } = this.testBed;
    const withoutReboots: ExpectedUpdate = { mayBeUncertain: true, noReboots: true };
    await this.expectRecreated("deleted by hand, --refresh", ["RuntimeClass", "Job"], () =>
      this.update("deleted by hand, --refresh", withoutReboots, { refresh: true }),
    );
    await this.expectRecreated(
      "deleted by hand, reconcileToken",
      ["RuntimeClass", "Job", "DaemonSet", "label"],
      async () => {
        await this.configure({
          stackConfig: { ...this.stackConfig, reconcileToken: "by-hand" },
          kubeconfig: this.kubeconfig,
        });
        await this.update("deleted by hand, reconcileToken", withoutReboots);
      },
    );
    await this.update("--replace of everything", withoutReboots, {
      replace: await replaceableUrns(lab.engine),
    });
  }

  private async expectRecreated(
    edit: string,
    kinds: Parameters<typeof deleteObjects>[1],
    recreate: () => Promise<void>,
  ): Promise<void> {
    const findMissing = await deleteObjects(this.testBed.lab, kinds);
    await recreate();
    const missing = await findMissing();
    if (missing.length > 0)
      this.results
        .at(-1)!
        .deviations.push(...missing.map((kind) => `${edit}: ${kind} did not come back`));
  }

  private async configure(next: { stackConfig: StackConfig; kubeconfig: string }): Promise<void> {
    const removedKeys = Object.keys(this.stackConfig).filter((key) => !(key in next.stackConfig));
    const secrets = next.kubeconfig === this.kubeconfig ? {} : { kubeconfig: next.kubeconfig };
    await this.testBed.edit(
      { ...next.stackConfig, ...Object.fromEntries(removedKeys.map((key) => [key, undefined])) },
      secrets,
    );
    [this.stackConfig, this.kubeconfig] = [next.stackConfig, next.kubeconfig];
  }

  /**
   * Runs a preview, an update, and a further preview, which must change nothing.
   *
   * @throws Error if the update fails: later edits would prove nothing.
   */
  async update(
    edit: string,
    expected: ExpectedUpdate = {},
    options: RunOptions = {},
  ): Promise<void> {
    const { engine, machines, options: lab } = this.testBed.lab;
    const begin = performance.now();
    const preview = await engine.preview(options);
    const predictions = predictedReboots(preview.diagnostics, stackNameOf(lab.stack));
    const countsBefore = await countCallsAndReboots(machines);
    const update = preview.result === "succeeded" ? await engine.up(options) : preview;
    const { reboots } = await countSince(countsBefore, machines);
    const succeeded = update.result === "succeeded";
    const deviations = succeeded
      ? [...wrongPredictions(predictions, reboots)]
      : [...update.diagnostics];
    for (const [name, announcement] of Object.entries(predictions))
      if (!expected.mayBeUncertain && /^reboots: only if/.test(announcement))
        deviations.push(`${name}: the preview did not know: ${announcement}`);
    for (const [name, count] of Object.entries(reboots))
      if (expected.noReboots && count > 0) deviations.push(`${name}: ${count} reboots for nothing`);
    if (expected.inPlace && update.changes.create + update.changes.replace > 0)
      deviations.push(`not in place: ${describeChanges(update.changes)}`);
    const sameInBoth = options.refresh || isDeepStrictEqual(preview.changes, update.changes);
    if (succeeded && !sameInBoth)
      deviations.push(
        `previewed: ${describeChanges(preview.changes)}; done: ${describeChanges(update.changes)}`,
      );
    if (succeeded) deviations.push(...changesIn(await engine.preview()));
    this.add(begin, {
      edit,
      announcement: Object.entries(predictions)
        .map(([name, announcement]) => `${name}: ${announcement.slice("reboots: ".length, 80)}`)
        .join("\n"),
      reboots,
      deviations,
    });
    if (!succeeded) throw new Error(`${edit}: the lab cannot go on`);
  }

  /** Runs a preview, or an update without one, that must be refused. */
  private async expectRefusal(
    edit: string,
    errorPattern: string,
    verb: "preview" | "up" = "preview",
  ): Promise<void> {
    const begin = performance.now();
    const { result, diagnostics } = await this.testBed.lab.engine[verb]();
    const wasRefused =
      result === "failed" && diagnostics.some((line) => new RegExp(errorPattern).test(line));
    const deviations = wasRefused ? [] : [`${verb} ${result}`, ...diagnostics];
    this.add(begin, { edit, announcement: "refused", reboots: {}, deviations });
  }

  /** Runs a preview that must change nothing. After a refusal in the same process it could also hang. */
  private async expectNoChanges(edit: string): Promise<void> {
    const begin = performance.now();
    const preview = await this.testBed.lab.engine.preview({ timeoutSeconds: 60 });
    this.add(begin, { edit, announcement: "", reboots: {}, deviations: changesIn(preview) });
  }

  private add(begin: number, result: Omit<EditResult, "seconds">): void {
    const seconds = (performance.now() - begin) / 1000;
    this.results.push({ ...result, seconds });
    console.error(JSON.stringify({ ...result, seconds }));
  }
}

/** The changes that a preview announces, and its errors; empty if there are none. */
function changesIn({ changes, diagnostics, result }: RunResult): string[] {
  if (result !== "succeeded") return [`the next preview ${result}`, ...diagnostics];
  const { same: _same, ...otherChanges } = changes;
  return Object.values(otherChanges).some((count) => count > 0)
    ? [`not unchanged: ${describeChanges(changes)}`]
    : [];
}

/** @param editPattern Pattern of the names of the edits to run. Default: all. */
runAsProgram(async (session, name, editPattern = ""): Promise<EditsRun> => {
  const editedStack = editedStacks[name]!;
  const testBed = await startStackTestBed(
    session,
    stackFileOf(editedStack.stack),
    editedStack.options,
  );
  const { lab } = testBed;
  const stackConfig = applyMergePatch(lab.config, editedStack.initialChange ?? {}) as StackConfig;
  await testBed.edit(stackConfig);
  const runner = new EditsRunner(testBed, stackConfig);
  let machines: EditsRun["machines"] = {};
  try {
    await runner.update("at first", { mayBeUncertain: true });
    machines = await gatherMachines(lab.machines, lab.kubernetes);
    for (const edit of editedStack.edits)
      if (new RegExp(editPattern).test(edit.name)) await runner.applyAndUndo(edit);
    if (editedStack.withHandDeletions && new RegExp(editPattern).test("by hand"))
      await runner.deleteByHand();
  } catch (error) {
    console.error(error); // the steps contain the stack's error, and the doctor shows the cluster's state
    const message = error instanceof Error ? error.message : String(error);
    runner.results.push({
      edit: "stopped",
      announcement: "",
      reboots: {},
      deviations: [message],
      seconds: 0,
    });
    const { deviations } = await diagnoseLab(lab, [], true, (line) => console.error(line));
    for (const deviation of deviations)
      console.error([inOneLine(deviation), ...(deviation.lastWords ?? [])].join("\n    "));
    return { results: runner.results, machines, leftovers: ["it was not taken down"] };
  }
  const snapshot = await takeSnapshot(lab);
  const { result, diagnostics } = await lab.engine.destroy();
  const leftovers =
    result === "succeeded" ? (await findLeftovers(lab, snapshot)).faults : [...diagnostics];
  return { results: runner.results, machines, leftovers };
});
