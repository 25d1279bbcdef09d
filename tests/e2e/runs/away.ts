import type { V1Node } from "@kubernetes/client-node";
import { labTimeouts } from "../../../lab/clock";
import type { Lab } from "../../../lab/cluster/lab";
import { isReady } from "../../../lab/kubernetes/node";
import { parseOptions } from "../../../lab/options";
import type { RunningLab } from "../../../lab/run/running-lab";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import { engineConfig, openEngine } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { untilSeen } from "../../../lab/until";
import { destroyAndFindLeftovers, updateWithOutput, type UpdateWithOutput } from "./lab-updates";
import { openLab, runAsProgram } from "./run-as-program";

/** Results of the run. */
export interface AwayRun {
  firstUpdate: UpdateWithOutput;
  /** Status of the node's condition Ready once the desk is off. */
  readyWhenOff: string | undefined;
  /** Edits of the chart, of an own DaemonSet's image, of the power limit and of the driver, while the desk is off. */
  updateWhileAway: UpdateWithOutput;
  /** The next update, while the desk is still off. */
  unchangedWhileAway: UpdateWithOutput;
  /** The update after the desk was switched on again. */
  updateAfterReturn: UpdateWithOutput;
  /** An update of the unchanged stack. */
  unchangedUpdate: UpdateWithOutput;
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
    monitoring: {},
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

  const firstUpdate = await updateWithOutput(lab);
  await lab.machines.fault("desk", { kind: "off", times: 1 });
  const nodeWhenOff = await waitForDesk(lab, false);
  await edit({
    devicePlugin: { version: "0.18.2" },
    driver: { branch: "lts" },
    images: { dcgmExporter: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-ubi9" },
    machines: Object.fromEntries(
      Object.entries(spec.machines).map(([name, machine]) => [
        name,
        { ...machine, powerLimit: 250 },
      ]),
    ),
  });
  const updateWhileAway = await updateWithOutput(lab);
  const unchangedWhileAway = await updateWithOutput(lab);
  await lab.machines.fault("desk", { kind: "off", times: 0 });
  await waitForDesk(lab, true);
  const updateAfterReturn = await updateWithOutput(lab);
  const unchangedUpdate = await updateWithOutput(lab);
  return {
    firstUpdate,
    readyWhenOff: nodeWhenOff.status?.conditions?.find(({ type }) => type === "Ready")?.status,
    updateWhileAway,
    unchangedWhileAway,
    updateAfterReturn,
    unchangedUpdate,
    leftovers: await destroyAndFindLeftovers(lab),
  };
}

/** Waits until the desk's node is ready, or not ready. */
function waitForDesk(lab: RunningLab, ready: boolean): Promise<V1Node> {
  return untilSeen(
    `desk is ${ready ? "ready" : "not ready"}`,
    { seconds: 300, every: 500, signal: lab.session.signal },
    async () => (await lab.kubernetes.nodes())["desk"]!,
    (node) => isReady(node) === ready,
  );
}

runAsProgram(run);
