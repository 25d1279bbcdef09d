import { existsSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { bringUp } from "../../cluster/bring-up";
import type { Lab } from "../../cluster/lab";
import type { LabOptions } from "../../options";
import { Failed, type Phase, runPhases } from "../../phases";
import { emptyReport } from "../../run/report";
import { takeSnapshot } from "../../run/take-snapshot";
import { runningLab, type RunningLab } from "../../run/running-lab";
import { downPhase } from "../../run/take-down";
import { openEngine } from "../../run/updates";
import { showOnStandardError } from "../../show";
import type { Session } from "../../session/session";
import { gpusOf, type Card, readCards } from "./card";
import { type Case, type Outcome, failedWith } from "./case";
import { selectCases } from "./cases";
import { nodeName, stackName } from "./shape";
import { configurationOf, GpuLab } from "./gpu-lab";
import type { CasesReport } from "./table";

/** Cards of the stand-in of the driver. */
const standInCards = [{ model: "H100 80GB HBM3", count: 2 }];

/**
 * Brings up a lab with a real node for this computer's cards or the stand-in of the driver. Runs each case, then
 * destroys everything.
 */
export async function runCases(options: LabOptions, session: Session): Promise<CasesReport> {
  const selectedCases = selectCases(options.cases);
  const cards = options.gpu ? readCards() : undefined;
  const gpus = cards === undefined ? standInCards : gpusOf(cards);
  const stack = configurationOf(gpus, {}, options);
  const lab = {
    options: { ...options, stack: stackName },
    session,
    show: showOnStandardError(options.verbose),
    talosReleases: [stack.spec.talosVersion],
    without: [],
    ...stack,
  } as unknown as Lab; // the phases add the rest
  await runPhases(bringUp, lab);
  const report: CasesReport = {
    ok: true,
    date: new Date().toISOString(),
    versions: {},
    ...(cards === undefined ? {} : { cards }),
    models: gpus.map(({ model }) => model),
    rows: [],
  };
  const engine = await openEngine(lab, path.join(__dirname, "program.ts"));
  const running = runningLab(lab, emptyReport(stackName, true), {
    engine,
    initialSnapshot: await takeSnapshot(lab),
  });
  const gpuLab = new GpuLab(running, gpus, cards && readCards, options["may-change-the-card"]);
  await runPhases(
    selectedCases.map((gpuCase) => phaseOf(gpuCase, gpuLab, report)),
    running,
  );
  report.versions = await versionsOf(gpuLab);
  await runPhases([downPhase], running);
  const { left } = running.report;
  report.rows.push(
    row(
      "down",
      "everything is taken down",
      left?.length === 0
        ? { passed: true, observation: "nothing is left" }
        : failedWith(left?.join("; ") ?? "it failed"),
    ),
  );
  if (cards !== undefined)
    report.rows.push(
      row("settings", "the card's settings are as before", compareSettings(cards, readCards())),
    );
  report.ok = report.rows.every(({ passed }) => passed !== false);
  return report;
}

const row = (
  id: string,
  title: string,
  outcome: Outcome,
  seconds = 0,
): CasesReport["rows"][number] => ({
  id,
  title,
  ...outcome,
  seconds,
});

const phaseOf = (gpuCase: Case, gpuLab: GpuLab, report: CasesReport): Phase<RunningLab> => ({
  title: gpuCase.title,
  run: async (_, say) => {
    const startTime = performance.now();
    const outcome = await gpuCase.run(gpuLab, say).catch((error: unknown): Outcome => {
      gpuLab.signal.throwIfAborted();
      return failedWith(error instanceof Error ? error.message : String(error));
    });
    report.rows.push(
      row(gpuCase.id, gpuCase.title, outcome, (performance.now() - startTime) / 1000),
    );
    if (outcome.passed === false) return new Failed(outcome.observation);
    return outcome.passed ? outcome.observation : `not tried: ${outcome.observation}`;
  },
});

/** Case: the settings of each card are the same as before the run. */
function compareSettings(before: readonly Card[], after: readonly Card[]): Outcome {
  const changes = before.flatMap((card, index) =>
    Object.entries(card.settings)
      .filter(([name, value]) => after[index]?.settings[name] !== value)
      .map(
        ([name, value]) =>
          `card ${index}: ${name} ${value} → ${after[index]?.settings[name] ?? "gone"}`,
      ),
  );
  if (changes.length > 0) return failedWith(changes.join("; "));
  const [first] = before;
  return {
    passed: true,
    observation: Object.entries(first?.settings ?? {})
      .map(([name, value]) => `${name} ${value}`)
      .join(", "),
  };
}

/** Versions of the node's programs, and facts about this computer. */
async function versionsOf(gpuLab: GpuLab): Promise<Record<string, string>> {
  const { status } = (await gpuLab.cluster.nodes())[nodeName] ?? {};
  const { kubeletVersion = "?", containerRuntimeVersion = "?" } = status?.nodeInfo ?? {};
  const versionOnNode = async (program: string): Promise<string> =>
    versionIn(await gpuLab.onNode(`${program} --version`));
  const versionOnComputer = async (name: string): Promise<string> => {
    const program = gpuLab.runningLab
      .nodePrograms!.map((folder) => path.join(folder, name))
      .find(existsSync);
    return program === undefined ? "?" : versionOnNode(program);
  };
  return {
    kubelet: kubeletVersion,
    containerd: containerRuntimeVersion.replace("containerd://", ""),
    runc: await versionOnNode("runc"),
    toolkit: await versionOnNode("PATH=$PATH:/var/lib/nvidia/toolkit nvidia-ctk"),
    "device plugin": await versionOnComputer("nvidia-device-plugin"),
    "DRA driver": await versionOnComputer("gpu-kubelet-plugin"),
    "files as Talos": gpuLab.runningLab.spec.talosVersion,
    on: `${os.type()} ${os.release()}`,
  };
}

/** Finds the version in a program's output. */
export const versionIn = (text: string): string =>
  /\bv?(\d+\.\d+\.\d+\S*)/.exec(text)?.[1] ?? text.trim();
