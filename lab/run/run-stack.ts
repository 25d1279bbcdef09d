import * as fs from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { type TalosClient, talosconfigOf } from "../../components/credentials/texts";
import { type ClusterSpec, planCluster } from "../../components/recipe";
import type { Lab } from "../cluster/lab";
import { discoverLab } from "./discovered";
import { takeSnapshot } from "./take-snapshot";
import { installExternalRelease } from "../cluster/external";
import type { KubernetesObject } from "../kubernetes/cluster";
import type { LabOptions } from "../options";
import { Failed, type Phase, runPhases, type Say } from "../phases";
import { wrongPredictions } from "./predicted-reboots";
import { outcomePhase } from "./outcome";
import { emptyReport, type LabReport } from "./report";
import { runningLab, type RunningLab } from "./running-lab";
import { stackConfiguration, type StackConfiguration } from "./stack-configuration";
import { downPhase } from "./take-down";
import { describeChanges, openEngine, preview, update, engineConfig } from "./updates";
import { stackNameOf } from "../../stacks/stack-file";

/**
 * Runs the stack's program as often as `--updates` says, then again after each edit. Gathers the results, and destroys
 * the stack unless `--keep` is set or an update failed. A failed update is a result with a diagnosis, not an error.
 * With `--repair` the stack then gets the fixes that were left out, and must come up.
 *
 * @param later the stack after each edit, in order.
 */
export async function runStack(lab: Lab, later: StackConfiguration[]): Promise<LabReport> {
  const { options } = lab;
  const stack = stackNameOf(options.stack);
  const report = emptyReport(stack, false);
  const labRun = runningLab(lab, report);
  const updates = updatePhases(options.updates);
  const edits = later.flatMap((stack) => [outcomePhase, editPhase(stack), ...updates]);
  const repair = options.repair ? [outcomePhase, repairPhase, ...updates] : [];
  const firstPhases = [
    ...beforeStack(options, lab.spec),
    openPhase,
    ...(options.preview ? [previewPhase] : []),
  ];
  await runPhases([...firstPhases, ...updates, ...edits, ...repair, outcomePhase], labRun);
  if (report.ok && options.discover) await runPhases([discoverPhase], labRun);
  if (report.ok && !options.keep) await runPhases([downPhase], labRun);
  return report;
}

/** Phases that create what a cluster contains before the stack: objects of its owner, and external releases. */
export const beforeStack = (options: LabOptions, spec: ClusterSpec): Phase<RunningLab>[] => [
  ...(options.manifest.length > 0 ? [manifestsPhase] : []),
  ...(spec.external === undefined ? [] : [externalPhase]),
];

/**
 * Creates the objects of `--manifest` in their order: definitions of kinds, a secret that a workload reads, a storage
 * class. They are not part of the stack, so a destroy must leave them.
 */
const manifestsPhase: Phase<RunningLab> = {
  title: "objects of the cluster before the first update",
  run: async ({ kubernetes, options }) => {
    const applied: string[] = [];
    for (const file of options.manifest) {
      for (const object of objectsOf(file)) {
        await kubernetes
          .apply(object, { fieldManager: "lab", force: false })
          .catch((error: Error) => {
            throw new Error(
              `--manifest ${file}: ${error.message}; so the cluster would lack these objects; correct the file`,
              { cause: error },
            );
          });
        applied.push(`${object.kind} ${object.metadata?.name}`);
      }
    }
    return applied.join(", ");
  },
};

function objectsOf(file: string): KubernetesObject[] {
  const documents = parseAllDocuments(fs.readFileSync(file, "utf8")).map((document, index) => {
    const object = (document as { toJS(): unknown }).toJS() as KubernetesObject | null;
    if (object === null) return undefined;
    if (object.apiVersion && object.kind && object.metadata?.name) return object;
    throw new Error(
      `--manifest ${file}: document ${index + 1} is no Kubernetes object; it needs apiVersion, kind and metadata.name; add what is missing`,
    );
  });
  return documents.filter((object) => object !== undefined);
}

/** Installs external releases that try to offer the GPUs before the stack: the machines have no driver yet. */
const externalPhase: Phase<RunningLab> = {
  title: "external releases",
  run: (lab) => installExternalRelease(lab),
};

const discoverPhase: Phase<RunningLab> = {
  title: "a stack of the cluster, as `talos-gpu discover` writes it",
  run: async (lab) => {
    lab.report.discovered = await discoverLab(lab);
    const { differingFields } = lab.report.discovered;
    return differingFields.length === 0
      ? "its plan is the stack's"
      : `its plan differs in ${differingFields.join(", ")}`;
  },
};

const openPhase: Phase<RunningLab> = {
  title: "Pulumi's engine and providers",
  run: async (lab) => {
    [lab.initialSnapshot, lab.engine] = await Promise.all([takeSnapshot(lab), openEngine(lab)]);
  },
};

const previewPhase: Phase<RunningLab> = {
  title: "preview",
  run: (lab, say) => runPreview(lab, say),
};

/** Edits the stack file as its owner does, and runs the preview. The updates follow. */
const editPhase = (stack: StackConfiguration): Phase<RunningLab> => ({
  title: "the stack file is edited, its preview",
  run: async (lab, say) => {
    const { ok, machines, workloads } = lab.report;
    lab.report.beforeEdits.push({ machines, workloads });
    lab.failed ||= !ok;
    if (lab.failed) return skippedResult;
    return applyEdit(lab, stack, say);
  },
});

/** Puts the missing fixes in place on the same cluster, as the owner does after reading the diagnosis. */
const repairPhase: Phase<RunningLab> = {
  title: "the left-out fixes are put in place, the preview",
  run: async (lab, say) => {
    const { report, options } = lab;
    Object.assign(report, { mended: report.failures, failures: [] });
    Object.assign(lab, { failed: false, diagnostics: [], without: [] });
    const summary = await applyEdit(lab, stackConfiguration(options.stack, options), say);
    // The failed update has stored the wanted state of the machines, which they may not have reached. So this preview's
    // words about reboots are not compared.
    lab.predictedReboots = undefined;
    return summary;
  },
};

async function applyEdit(
  lab: RunningLab,
  stack: StackConfiguration,
  say: Say,
): Promise<string | Failed> {
  lab.earlierPlans.push(planCluster(lab.spec));
  const previousExternal = lab.spec.external;
  Object.assign(lab, stack);
  if (!isDeepStrictEqual(previousExternal, lab.spec.external)) await installExternalRelease(lab);
  await lab.engine.configure(engineConfig(lab));
  // Objects that an edit removes must go at once, so the garbage collector has to know the kinds that the stack's
  // charts define.
  const [summary] = await Promise.all([runPreview(lab, say), lab.controlPlane.learnKinds()]);
  return summary;
}

async function runPreview(lab: RunningLab, say: Say): Promise<string | Failed> {
  const { report, diagnostics } = await preview(lab, lab.engine, say);
  lab.session.signal.throwIfAborted();
  lab.report.previews.push(report);
  lab.predictedReboots = report.foretold;
  lab.diagnostics.push(...diagnostics);
  lab.failed ||= report.result === "failed";
  const summary = `${report.result}, ${describeChanges(report.changes)}, ${report.machineRequests} machine calls`;
  return report.result === "succeeded" ? summary : new Failed(summary);
}

const skippedResult = "left out, since the one before failed";

const updatePhases = (count: number): Phase<RunningLab>[] =>
  Array.from({ length: count }, (_, index) => ({
    title: `update ${index + 1} of ${count}`,
    run: async (lab, say) => {
      if (lab.failed) return skippedResult;
      const { report, diagnostics } = await update(lab, lab.engine, say);
      lab.session.signal.throwIfAborted();
      await saveTalosconfig(lab);
      lab.report.updates.push(report);
      lab.diagnostics.push(...diagnostics);
      lab.failed ||= report.result === "failed";
      const mispredictions =
        lab.predictedReboots === undefined || lab.failed
          ? []
          : wrongPredictions(lab.predictedReboots, report.reboots);
      lab.predictedReboots = undefined;
      lab.failed ||= mispredictions.length > 0;
      lab.diagnostics.push(...mispredictions);
      const summary = [
        `${report.result}, ${describeChanges(report.changes)}`,
        ...mispredictions,
      ].join("; ");
      return !lab.failed && report.result === "succeeded" ? summary : new Failed(summary);
    },
  }));

/**
 * Writes the talosconfig of a cluster that the stack bootstrapped, for the diagnosis and for `--keep`. It is read from
 * the state, since a failed update has no outputs.
 */
async function saveTalosconfig({ existing, engine, machines, session }: RunningLab): Promise<void> {
  if (existing !== undefined) return;
  const client = (await engine.resourceOutputs()).find(
    (outputs) => outputs["clientConfiguration"],
  )?.["clientConfiguration"];
  if (client === undefined) return;
  const text = talosconfigOf("lab", client as TalosClient["configuration"], [machines.api]);
  fs.writeFileSync(session.dir("talosconfig"), text, { mode: 0o600 });
}
