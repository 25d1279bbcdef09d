import { labTimeouts } from "../../../lab/clock";
import type { Lab } from "../../../lab/cluster/lab";
import type { MachineState } from "../../../lab/machines";
import { parseOptions } from "../../../lab/options";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { RunningLab } from "../../../lab/run/running-lab";
import { engineConfig, openEngine } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { failingMachine, upgrade, workerCount } from "./canary-upgrade";
import { destroyAndFindLeftovers, updateWithOutput } from "./lab-updates";
import { runAsProgram, openLab } from "./run-as-program";

/** Begin and end of a machine's upgrade, in lab seconds. */
export interface UpgradePeriod {
  machine: string;
  begin: number;
  end: number;
}

/** Result of one update. */
export interface CanaryUpdate {
  result: string;
  /** Upgrades that succeeded, in the order in which they began. */
  upgrades: UpgradePeriod[];
  /** Reboots so far, by machine. */
  reboots: Record<string, number>;
  diagnostics: string[];
  /** Output of the update. */
  lines: string[];
  /** Cordoned nodes. */
  cordoned: string[];
}

/** Results of the run. */
export interface CanaryRun {
  firstUpdate: CanaryUpdate;
  /** A driver change while one machine cannot boot its new image. */
  failedUpdate: CanaryUpdate;
  /** The next update, when that machine boots its image again. */
  repairingUpdate: CanaryUpdate;
  /** An update of the unchanged stack. */
  unchangedUpdate: CanaryUpdate;
  /** Objects and settings that the destroy left behind. */
  leftovers: string[];
}

const gpus = [{ model: "RTX 5070 Ti" }];

async function run(session: Session): Promise<CanaryRun> {
  const options = parseOptions(["--stack", "canary"]);
  const nameOf = (index: number): string => `worker-${String(index + 1).padStart(2, "0")}`;
  const spec: Lab["spec"] = {
    talosVersion: "v1.12.6",
    machines: Object.fromEntries(
      Array.from({ length: workerCount }, (_, index) => [
        nameOf(index),
        { address: `10.9.0.${index + 1}`, role: "worker", configuration: "adopted", gpus },
      ]),
    ),
    devicePlugin: { version: "0.17.4" },
    upgrade,
    timeouts: labTimeouts(options),
  };
  const lab = await openLab(session, options, spec);
  lab.initialSnapshot = await takeSnapshot(lab);
  lab.engine = await openEngine(lab);
  const firstUpdate = await runUpdate(lab);
  Object.assign(lab.spec, { driver: { branch: "lts" } });
  Object.assign(lab.config, { driver: { branch: "lts" } });
  await lab.engine.configure(engineConfig(lab));
  await lab.machines.fault(failingMachine, { kind: "rollback", times: 1 });
  const failedUpdate = await runUpdate(lab);
  const repairingUpdate = await runUpdate(lab);
  const unchangedUpdate = await runUpdate(lab);
  return {
    firstUpdate,
    failedUpdate,
    repairingUpdate,
    unchangedUpdate,
    leftovers: await destroyAndFindLeftovers(lab),
  };
}

async function runUpdate(lab: RunningLab): Promise<CanaryUpdate> {
  const statesBefore = await lab.machines.state();
  const { result, diagnostics, lines } = await updateWithOutput(lab);
  const [statesAfter, nodes] = [await lab.machines.state(), await lab.kubernetes.nodes()];
  return {
    result,
    upgrades: Object.entries(statesAfter)
      .flatMap(([machine, state]) => upgradePeriodOf(machine, state, statesBefore[machine]!))
      .sort((a, b) => a.begin - b.begin),
    reboots: Object.fromEntries(
      Object.entries(statesAfter).map(([machine, { reboots }]) => [machine, reboots]),
    ),
    diagnostics,
    lines,
    cordoned: Object.keys(nodes).filter((node) => nodes[node]!.spec?.unschedulable === true),
  };
}

/** The time from the upgrade call to the next boot, from the emulated machine's record. */
function upgradePeriodOf(
  machine: string,
  { events }: MachineState,
  stateBefore: MachineState,
): UpgradePeriod[] {
  const newEvents = events.slice(stateBefore.events.length);
  const begin = newEvents.find(({ what }) => what.startsWith("upgrade request received"));
  const end = newEvents.find(({ what }) => what.startsWith("booted "));
  return begin === undefined || end === undefined
    ? []
    : [{ machine, begin: begin.at, end: end.at }];
}

runAsProgram(run);
