import * as fs from "node:fs";
import { labTimeouts } from "../../../lab/clock";
import type { Lab } from "../../../lab/cluster/lab";
import { parseOptions } from "../../../lab/options";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { RunningLab } from "../../../lab/run/running-lab";
import { engineConfig, openEngine, update } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { type ApiFault, type ApiProxy, startApiProxy } from "./api-proxy";
import { destroyAndFindLeftovers } from "./lab-updates";
import { runAsProgram, openLab } from "./run-as-program";

/** Result of an update during which the API server fails now and then. */
export interface FaultyUpdate {
  result: string;
  diagnostics: string[];
  /** Steps of the update at which the API server failed. */
  faultySteps: string[];
  /** Number of failures that clients met. */
  clientFailures: number;
  /** Reboots in this update, by machine. */
  reboots: Record<string, number>;
  drivers: Record<string, string | null>;
  cordoned: string[];
}

/** Results of the run. */
export interface ApiFaultsRun {
  updates: Record<ApiFault, FaultyUpdate>;
  /** An update of the unchanged stack, without a fault: its reboots and the resources that changed. */
  unchangedUpdate: { result: string; reboots: number; changed: number };
  /** Objects and settings that the destroy left behind. */
  leftovers: string[];
}

/** Steps at which the API fails. Each pattern matches a progress line of the update. */
const stepPatterns: Record<string, RegExp> = {
  preflight: /-preflight: before any change, checks chart/,
  drain: /: drain: /,
  gate: /(create|update|replace) \S+-gate …$/,
};

const gpus = [{ model: "RTX 5070 Ti" }];
/** A change of the driver reboots each machine once. */
const branches = { refuse: "production", reset: "lts", stall: "production" } as const;

async function run(session: Session): Promise<ApiFaultsRun> {
  const options = parseOptions(["--stack", "api-faults"]);
  const spec: Lab["spec"] = {
    talosVersion: "v1.12.6",
    machines: Object.fromEntries(
      ["worker-1", "worker-2"].map((name, index) => [
        name,
        { address: `10.9.0.${index + 1}`, role: "worker", configuration: "adopted", gpus },
      ]),
    ),
    devicePlugin: { version: "0.17.4" },
    // A client gives a stalled request up after half a minute of real time, which the lab's clock does not shorten.
    timeouts: { ...labTimeouts(options), drain: "3m", gate: "4m" },
  };
  const lab = await openLab(session, options, spec);
  const proxy = await startApiProxy(Number(new URL(lab.controlPlane.server).port));
  session.onClose(() => proxy.close());
  const { adminKubeconfig } = lab.controlPlane;
  lab.initialSnapshot = await takeSnapshot(lab);
  // The stack's kubeconfig names the proxy. The lab connects to the API server directly.
  const proxyKubeconfig = session.dir("kubeconfig-through-proxy");
  const text = fs.readFileSync(adminKubeconfig, "utf8");
  fs.writeFileSync(
    proxyKubeconfig,
    text.replace(/server: .*/, `server: https://127.0.0.1:${proxy.port}`),
    {
      mode: 0o600,
    },
  );
  lab.engine = await openEngine({
    ...lab,
    controlPlane: { ...lab.controlPlane, adminKubeconfig: proxyKubeconfig },
  });
  const updates = {} as Record<ApiFault, FaultyUpdate>;
  for (const [kind, branch] of Object.entries(branches) as [ApiFault, string][]) {
    for (const target of [lab.spec, lab.config]) Object.assign(target, { driver: { branch } });
    await lab.engine.configure(engineConfig(lab));
    updates[kind] = await updateWithFault(lab, proxy, kind);
  }
  const { report } = await update(lab, lab.engine, (line) => console.error(line));
  const { create, update: updated, replace, delete: deleted } = report.changes;
  return {
    updates,
    unchangedUpdate: {
      result: report.result,
      reboots: Object.values(report.reboots).reduce((sum, count) => sum + count, 0),
      changed: create + updated + replace + deleted,
    },
    leftovers: await destroyAndFindLeftovers(lab),
  };
}

async function updateWithFault(
  lab: RunningLab,
  proxy: ApiProxy,
  kind: ApiFault,
): Promise<FaultyUpdate> {
  const [statesBefore, failuresBefore] = [await lab.machines.state(), proxy.faultCounts[kind]];
  const faultySteps: string[] = [];
  const { report, diagnostics } = await update(lab, lab.engine, (line) => {
    console.error(`${kind}: ${line}`);
    const step = Object.keys(stepPatterns).find(
      (name) => !faultySteps.includes(name) && stepPatterns[name]!.test(line),
    );
    // Pulumi's provider may read the schema at that step; it cannot repeat that after a refused connection
    // (api-proxy.ts).
    if (step === undefined || (kind === "refuse" && step === "preflight")) return;
    faultySteps.push(step);
    void proxy.causeFault(kind);
  });
  const [statesAfter, nodes] = [await lab.machines.state(), await lab.kubernetes.nodes()];
  const byMachine = <T>(value: (name: string) => T): Record<string, T> =>
    Object.fromEntries(Object.keys(statesAfter).map((name) => [name, value(name)]));
  return {
    result: report.result,
    diagnostics,
    faultySteps,
    clientFailures: proxy.faultCounts[kind] - failuresBefore,
    reboots: byMachine((name) => statesAfter[name]!.reboots - statesBefore[name]!.reboots),
    drivers: byMachine((name) => statesAfter[name]!.driverVersion),
    cordoned: Object.keys(nodes).filter((node) => nodes[node]!.spec?.unschedulable === true),
  };
}

runAsProgram(run);
