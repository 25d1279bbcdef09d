import * as fs from "node:fs";
import { inOneLine } from "../../../components/diagnosis";
import { isDeepStrictEqual } from "node:util";
import type { RunOptions, RunResult } from "../../../lab/engine";
import { diagnoseLab } from "../../../lab/run/diagnose-lab";
import { predictedReboots, wrongPredictions } from "../../../lab/run/predicted-reboots";
import { countOf, countSince, gatherMachines } from "../../../lab/run/gather";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { MachineReport } from "../../../lab/run/report";
import { findLeftovers } from "../../../lab/run/take-down";
import { describeChanges } from "../../../lab/run/updates";
import { stackNameOf } from "../../../stacks/stack-file";
import type { StackConfig } from "../../support/edits";
import { deletedByHand, replaceable } from "./life-by-hand";
import { type LifeStand, openLifeStand } from "./life-stand";
import { applyMergePatch } from "../../recipe/stacks";
import { fileOf, type LifeEdit, lives } from "./life-table";
import { asProgram } from "./program";

/** Result of an edit, or of undoing it. */
export interface LifeStep {
  edit: string;
  /** The preview's announcement of reboots, by machine; `refused` if it failed as expected. */
  word: string;
  /** Actual reboots, by machine. */
  reboots: Record<string, number>;
  /** Deviations: errors of the update, wrong announcements, and changes that a further preview would make. */
  wrong: string[];
  seconds: number;
}

/** Results of a lab. */
export interface LifeRun {
  steps: LifeStep[];
  /** Its machines before the first edit. */
  machines: Record<string, MachineReport>;
  left: string[];
}

type Expected = Pick<LifeEdit, "onlyIf" | "quiet" | "inPlace">;

class Run {
  readonly steps: LifeStep[] = [];
  private kubeconfig: string;

  constructor(
    private readonly stand: LifeStand,
    private said: StackConfig,
  ) {
    this.kubeconfig = fs.readFileSync(stand.lab.controlPlane.adminKubeconfig, "utf8");
  }

  /** Applies the edit, then its further edits, then undoes it. */
  async through({
    name,
    change,
    kubeconfig = ["", ""],
    stays,
    refused,
    then = [],
    ...expected
  }: LifeEdit): Promise<void> {
    const before = { said: this.said, kubeconfig: this.kubeconfig };
    const after = {
      said: applyMergePatch(this.said, change) as StackConfig,
      kubeconfig: this.kubeconfig.replace(...kubeconfig),
    };
    await this.become(after);
    if (refused !== undefined) {
      await this.refused(name, refused.preview);
      await this.refused(`${name}, without a preview`, refused.update, "up");
      await this.become(before);
      return this.update(`${name}, after the refusal`, { quiet: true, inPlace: true });
    }
    await this.update(name, expected);
    for (const further of then) await this.through(further);
    await this.become(before);
    const back = `${name}, taken back`;
    if (stays === undefined) return this.update(back, expected);
    await this.refused(back, stays);
    await this.become(after);
    await this.unchanged(`${name}, after the refusal`);
  }

  /** Deleted objects return, and requested replacements happen; no machine reboots for either. */
  async byHand(): Promise<void> {
    const { lab } = this.stand;
    const quietly = { onlyIf: true, quiet: true };
    await this.mended("deleted by hand, --refresh", ["RuntimeClass", "Job"], () =>
      this.update("deleted by hand, --refresh", quietly, { refresh: true }),
    );
    await this.mended(
      "deleted by hand, reconcileToken",
      ["RuntimeClass", "Job", "DaemonSet", "label"],
      async () => {
        await this.become({
          said: { ...this.said, reconcileToken: "by-hand" },
          kubeconfig: this.kubeconfig,
        });
        await this.update("deleted by hand, reconcileToken", quietly);
      },
    );
    await this.update("--replace of everything", quietly, {
      replace: await replaceable(lab.engine),
    });
  }

  private async mended(
    edit: string,
    kinds: Parameters<typeof deletedByHand>[1],
    mend: () => Promise<void>,
  ): Promise<void> {
    const there = await deletedByHand(this.stand.lab, kinds);
    await mend();
    const gone = await there();
    if (gone.length > 0)
      this.steps.at(-1)!.wrong.push(...gone.map((one) => `${edit}: ${one} did not come back`));
  }

  private async become(to: { said: StackConfig; kubeconfig: string }): Promise<void> {
    const gone = Object.keys(this.said).filter((key) => !(key in to.said));
    const secrets = to.kubeconfig === this.kubeconfig ? {} : { kubeconfig: to.kubeconfig };
    await this.stand.edit(
      { ...to.said, ...Object.fromEntries(gone.map((key) => [key, undefined])) },
      secrets,
    );
    [this.said, this.kubeconfig] = [to.said, to.kubeconfig];
  }

  /**
   * Runs a preview, an update, and a further preview, which must change nothing.
   *
   * @throws Error if the update fails: later edits would prove nothing.
   */
  async update(edit: string, expected: Expected = {}, options: RunOptions = {}): Promise<void> {
    const { engine, machines, options: lab } = this.stand.lab;
    const begin = performance.now();
    const preview = await engine.preview(options);
    const foretold = predictedReboots(preview.diagnostics, stackNameOf(lab.stack));
    const before = await countOf(machines);
    const update = preview.result === "succeeded" ? await engine.up(options) : preview;
    const { reboots } = await countSince(before, machines);
    const well = update.result === "succeeded";
    const unsure = expected.onlyIf
      ? []
      : Object.entries(foretold).filter(([, word]) => /^reboots: only if/.test(word));
    const loud = expected.quiet ? Object.entries(reboots).filter(([, count]) => count > 0) : [];
    const anew = expected.inPlace && update.changes.create + update.changes.replace > 0;
    const sameInBoth = options.refresh || isDeepStrictEqual(preview.changes, update.changes);
    this.add(begin, {
      edit,
      word: Object.entries(foretold)
        .map(([name, word]) => `${name}: ${word.slice("reboots: ".length, 80)}`)
        .join("\n"),
      reboots,
      wrong: [
        ...(well ? wrongPredictions(foretold, reboots) : update.diagnostics),
        ...unsure.map(([name, word]) => `${name}: the preview did not know: ${word}`),
        ...loud.map(([name, count]) => `${name}: ${count} reboots for nothing`),
        ...(anew ? [`not in place: ${describeChanges(update.changes)}`] : []),
        ...(well && !sameInBoth
          ? [
              `previewed: ${describeChanges(preview.changes)}; done: ${describeChanges(update.changes)}`,
            ]
          : []),
        ...(well ? otherThanSame(await engine.preview()) : []),
      ],
    });
    if (!well) throw new Error(`${edit}: the lab cannot go on`);
  }

  /** Runs a preview, or an update without one, that must be refused. */
  private async refused(
    edit: string,
    by: string,
    verb: "preview" | "up" = "preview",
  ): Promise<void> {
    const begin = performance.now();
    const { result, diagnostics } = await this.stand.lab.engine[verb]();
    const right = result === "failed" && diagnostics.some((line) => new RegExp(by).test(line));
    const wrong = right ? [] : [`${verb} ${result}`, ...diagnostics];
    this.add(begin, { edit, word: "refused", reboots: {}, wrong });
  }

  /** Runs a preview that must change nothing. After a refusal in the same process it could also hang. */
  private async unchanged(edit: string): Promise<void> {
    const begin = performance.now();
    const preview = await this.stand.lab.engine.preview({ timeoutSeconds: 60 });
    this.add(begin, { edit, word: "", reboots: {}, wrong: otherThanSame(preview) });
  }

  private add(begin: number, step: Omit<LifeStep, "seconds">): void {
    const seconds = (performance.now() - begin) / 1000;
    this.steps.push({ ...step, seconds });
    console.error(JSON.stringify({ ...step, seconds }));
  }
}

/** Changes that a preview announces. */
function otherThanSame({ changes, diagnostics, result }: RunResult): string[] {
  if (result !== "succeeded") return [`the next preview ${result}`, ...diagnostics];
  const { same: _same, ...other } = changes;
  return Object.values(other).some((count) => count > 0)
    ? [`not unchanged: ${describeChanges(changes)}`]
    : [];
}

/** @param only Pattern of the names of the edits to run. Default: all. */
asProgram(async (session, name, only = ""): Promise<LifeRun> => {
  const life = lives[name]!;
  const stand = await openLifeStand(session, fileOf(life.stack), life.options);
  const { lab } = stand;
  const said = applyMergePatch(lab.config, life.first ?? {}) as StackConfig;
  await stand.edit(said);
  const run = new Run(stand, said);
  let machines: LifeRun["machines"] = {};
  try {
    await run.update("at first", { onlyIf: true });
    machines = await gatherMachines(lab.machines, lab.kubernetes);
    for (const edit of life.edits) if (new RegExp(only).test(edit.name)) await run.through(edit);
    if (life.byHand && new RegExp(only).test("by hand")) await run.byHand();
  } catch (error) {
    console.error(error); // the steps contain the stack's error, and the doctor shows the cluster's state
    const stopped = error instanceof Error ? error.message : String(error);
    run.steps.push({ edit: "stopped", word: "", reboots: {}, wrong: [stopped], seconds: 0 });
    const { unlike } = await diagnoseLab(lab, [], true, (line) => console.error(line));
    for (const one of unlike)
      console.error([inOneLine(one), ...(one.lastWords ?? [])].join("\n    "));
    return { steps: run.steps, machines, left: ["it was not taken down"] };
  }
  const up = await takeSnapshot(lab);
  const { result, diagnostics } = await lab.engine.destroy();
  const left = result === "succeeded" ? (await findLeftovers(lab, up)).left : [...diagnostics];
  return { steps: run.steps, machines, left };
});
