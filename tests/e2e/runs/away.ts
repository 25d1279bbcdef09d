import { labTimeouts } from "../../../lab/clock";
import type { Lab } from "../../../lab/cluster/lab";
import { isReady } from "../../../lab/kubernetes/node";
import { parseOptions } from "../../../lab/options";
import type { UpdateReport } from "../../../lab/run/report";
import type { RunningLab } from "../../../lab/run/running-lab";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import { downPhase } from "../../../lab/run/take-down";
import { engineConfig, openEngine, update } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { untilSeen } from "../../../lab/until";
import { openLab, runAsProgram } from "./run-as-program";

/** Result of one update, with its output. */
export interface AwayUpdate extends UpdateReport {
  diagnostics: string[];
  lines: string[];
}

/** Results of the run. */
export interface AwayRun {
  firstUpdate: AwayUpdate;
  /** Edits of the chart, of the power limit and of the other machine's driver, while the desk is off. */
  updateWhileAway: AwayUpdate;
  /** The next update, while the desk is still off. */
  unchangedWhileAway: AwayUpdate;
  /** The update after the desk was switched on again. */
  updateAfterReturn: AwayUpdate;
  /** An update of the unchanged stack. */
  unchangedUpdate: AwayUpdate;
  /** Objects and settings that the destroy left behind. */
  leftovers: string[];
}

const gpus = [{ model: "RTX 3090" }];

async function run(session: Session): Promise<AwayRun> {
  const options = parseOptions(["--stack", "away"]);
  const spec: Lab["spec"] = {
    talosVersion: "v1.12.6",
    machines: {
      desk: {
        address: "10.9.1.1",
        role: "worker",
        configuration: "adopted",
        gpus,
        powerLimit: 300,
        mayBeAway: true,
      },
      server: {
        address: "10.9.1.2",
        role: "worker",
        configuration: "adopted",
        gpus,
        powerLimit: 300,
      },
    },
    devicePlugin: { version: "0.17.4" },
    timeouts: labTimeouts(options),
  };
  const lab = await openLab(session, options, spec);
  lab.initialSnapshot = await takeSnapshot(lab);
  lab.engine = await openEngine(lab);
  const edit = async (changes: Partial<Lab["spec"]>): Promise<void> => {
    Object.assign(lab.spec, changes);
    Object.assign(lab.config, changes);
    await lab.engine.configure(engineConfig(lab));
  };

  const firstUpdate = await runUpdate(lab);
  await lab.machines.fault("desk", { kind: "off", times: 1 });
  await waitForDesk(lab, false);
  const { desk, server } = spec.machines as Record<
    "desk" | "server",
    (typeof spec.machines)[string]
  >;
  await edit({
    devicePlugin: { version: "0.18.2" },
    driver: { branch: "lts" },
    machines: { desk, server: { ...server, powerLimit: 250 } },
  });
  const updateWhileAway = await runUpdate(lab);
  const unchangedWhileAway = await runUpdate(lab);
  await lab.machines.fault("desk", { kind: "off", times: 0 });
  await waitForDesk(lab, true);
  const updateAfterReturn = await runUpdate(lab);
  const unchangedUpdate = await runUpdate(lab);
  await downPhase.run(lab, (line) => console.error(`down: ${line}`));
  const leftovers = lab.report.left ?? lab.report.failures.map(({ cause }) => cause);
  return {
    firstUpdate,
    updateWhileAway,
    unchangedWhileAway,
    updateAfterReturn,
    unchangedUpdate,
    leftovers,
  };
}

/** Waits until the desk's node is ready, or not ready. */
async function waitForDesk(lab: RunningLab, ready: boolean): Promise<void> {
  await untilSeen(
    `desk is ${ready ? "ready" : "not ready"}`,
    { seconds: 300, every: 500, signal: lab.session.signal },
    async () => (await lab.kubernetes.nodes())["desk"]!,
    (node) => isReady(node) === ready,
  );
}

async function runUpdate(lab: RunningLab): Promise<AwayUpdate> {
  const lines: string[] = [];
  const { report, diagnostics } = await update(lab, lab.engine, (line) => {
    console.error(line);
    lines.push(line);
  });
  return { ...report, diagnostics, lines };
}

runAsProgram(run);
