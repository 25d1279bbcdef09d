import * as fs from "node:fs";
import { planCluster } from "../components/recipe";
import { describeTaint, taintsOf } from "../components/recipe/taints";
import type { Lab } from "./bring-up";
import { diagnoseLab } from "./diagnose-lab";
import type { LabEngine } from "./engine";
import { talosconfigVia } from "./existing-cluster";
import { gatherMachines, gatherWorkloads } from "./gather";
import { leftovers, type Leftovers } from "./leftovers";
import { lookAround } from "./look-around";
import { applyManifests } from "./manifests";
import { Failed, type Phase, runPhases } from "./phases";
import type { LabReport, MachineReport } from "./report";
import type { Standing } from "./standing";
import { narrate, openEngine, update } from "./updates";
import { stackNameOf } from "../stacks/stack-file";

/** A lab with the stack's program at work. */
interface Running extends Lab {
  engine: LabEngine;
  /** What stood before the first update. */
  before: Standing;
  report: LabReport;
  /** What the engine said when something failed. */
  diagnostics: string[];
}

/**
 * Runs the stack's program as often as asked, gathers what came of it, and takes the stack down again unless it is to be
 * kept or has failed. A failing update is not an error here but a result, with its diagnosis.
 */
export async function runStack(lab: Lab): Promise<LabReport> {
  const { options } = lab;
  const stack = stackNameOf(options.stack);
  const report: LabReport = { stack, ok: false, updates: [], machines: {}, workloads: [], failures: [] };
  const running: Running = Object.assign(lab, {
    engine: undefined as never, // the phases bring them
    before: undefined as never,
    report,
    diagnostics: [],
  });
  await runPhases(
    [
      ...(options.manifests.length > 0 ? [manifestsPhase] : []),
      openPhase,
      ...updatePhases(options.updates),
      gatherPhase,
    ],
    running,
  );
  if (report.ok && !options.keep) await runPhases([downPhase], running);
  return report;
}

const manifestsPhase: Phase<Running> = {
  title: "what the cluster has before the stack comes",
  run: async ({ controlPlane, options, session }) => {
    const applied = await applyManifests(controlPlane.adminKubeconfig, options.manifests, session.signal);
    return applied.join(", ");
  },
};

const openPhase: Phase<Running> = {
  title: "Pulumi's engine and providers",
  run: async (lab) => {
    lab.engine = await openEngine(lab);
    lab.before = await lookAround(lab);
  },
};

function updatePhases(count: number): Phase<Running>[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `update ${index + 1} of ${count}`,
    run: async (lab, say) => {
      if (lab.report.updates.some(({ result }) => result === "failed")) return "left out, since the one before failed";
      const { report, diagnostics } = await update(lab, lab.engine, say);
      lab.session.signal.throwIfAborted();
      await keepTalosconfig(lab);
      lab.report.updates.push(report);
      lab.diagnostics.push(...diagnostics);
      const { create, update: changed, replace, same } = report.changes;
      const summary = `${report.result}, ${create} created, ${changed} updated, ${replace} replaced, ${same} the same`;
      return report.result === "succeeded" ? summary : new Failed(summary);
    },
  }));
}

/** The way to machines of a cluster that the stack made, for the diagnosis and for who keeps the lab. */
async function keepTalosconfig({ existing, engine, machines, session }: Running): Promise<void> {
  if (existing !== undefined) return;
  const made = (await engine.outputs())["talosconfig"]?.value as string | undefined;
  if (made === undefined) return;
  const file = session.dir("talosconfig");
  fs.writeFileSync(file, talosconfigVia(made, machines.api), { mode: 0o600 });
}

const gatherPhase: Phase<Running> = {
  title: "what came of it",
  run: async (lab, say) => {
    const { report } = lab;
    report.machines = await gatherMachines(lab.machines, lab.kubernetes);
    report.workloads = await gatherWorkloads(lab.kubernetes);
    const succeeded = report.updates.every(({ result }) => result === "succeeded");
    report.ok = succeeded && asPlanned(lab) && report.workloads.every(({ ready }) => ready);
    // What is wrong need not fail an update: the operator's own pods are waited for by nobody.
    report.failures = await diagnoseLab(lab, lab.diagnostics, report.ok, say);
    report.ok &&= report.failures.length === 0;
    if (report.ok) return "as planned, and the doctor finds nothing";
    return new Failed("not as planned");
  },
};

/** Whether every node offers the GPUs that the plan says, and has the taints that the stack says. */
function asPlanned(lab: Running): boolean {
  return planCluster(lab.spec).machines.every(({ name, allocatable }) => {
    const found: Partial<MachineReport> = lab.report.machines[name] ?? {};
    const taints = taintsOf(lab.spec.machines[name]!).map(describeTaint);
    return (
      Object.entries(allocatable).every(([resource, count]) => found.allocatable?.[resource] === String(count)) &&
      taints.every((taint) => found.taints?.includes(taint))
    );
  });
}

const downPhase: Phase<Running> = {
  title: "down",
  run: async (lab, say) => {
    const up = await lookAround(lab);
    const { result, seconds, diagnostics } = await lab.engine.destroy({
      signal: lab.session.signal,
      onEvent: narrate(say),
    });
    if (result !== "succeeded") {
      downFailed(
        lab,
        "the stack could not be taken down",
        diagnostics,
        "see the messages of the resources that stayed",
      );
      return new Failed(result);
    }
    const { left, stays } = await whatIsLeft(lab, up);
    lab.report.left = left;
    for (const line of stays) say(`stays: ${line}`);
    if (left.length === 0) return `everything of the stack removed in ${seconds.toFixed(1)} s`;
    for (const line of left) say(`left: ${line}`);
    downFailed(
      lab,
      "destroy left something behind",
      left,
      "let the resource that made it take it away, or say why it stays",
    );
    return new Failed(`${left.length} left behind`);
  },
};

function downFailed({ report }: Running, symptom: string, causes: readonly string[], remedy: string): void {
  report.ok = false;
  report.failures.push({ fix: "unknown", symptom, cause: causes.join("\n"), remedy });
}

/** Seconds until what goes by itself must have gone: the garbage collector's objects, the end of pods, Omni's reboots. */
const settleSeconds = 90;

/** What the destroy left, once nothing of it goes by itself any more. */
async function whatIsLeft(lab: Running, up: Standing): Promise<Leftovers> {
  const deadline = performance.now() + settleSeconds * 1000;
  for (;;) {
    lab.session.signal.throwIfAborted();
    const found = await lookAround(lab).then(
      (after) => leftovers(planCluster(lab.spec), lab.before, up, after),
      // A machine that Omni reboots just now does not answer.
      (error: Error): Leftovers => ({ left: [`not to be looked at: ${error.message}`], stays: [] }),
    );
    if (found.left.length === 0 || performance.now() > deadline) return found;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
