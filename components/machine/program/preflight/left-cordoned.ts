import { someAtATime } from "../../../clients/clock";
import { CallError, lastLine } from "../../../clients/failure";
import { isCordonedByUs } from "../kubernetes/cordon-mark";
import type { Cluster } from "../kubernetes/cluster";
import type { Report } from "../progress";
import { changedMachines } from "./machines";
import type { AskedMachine, PreflightResult } from "./task";

/**
 * Warns of nodes that an update which failed has left cordoned. Pulumi keeps the inputs of a program's last run that ended well
 * (pulumi-command, provider/pkg/provider/local/commandController.go: Update answers a failed run with a plain error). So where the stack
 * says again what it said before that update, Pulumi finds nothing to do for the machine, and the upgrade program does not run. The
 * preflight itself ended well in the failed update, so it runs again.
 */
export async function warnOfCordons(
  machines: readonly AskedMachine[],
  before: PreflightResult["machines"],
  cluster: Pick<Cluster, "node">,
  report: Report,
): Promise<void> {
  const changed = changedMachines(machines, before).filter(({ machine }) => before[machine] !== undefined);
  await someAtATime(changed, async ({ machine }) => {
    try {
      if (!isCordonedByUs(await cluster.node(machine))) return;
      report(
        `warning: ${machine}: an earlier update failed here: node ${machine} is still cordoned, and the machine may be half upgraded. ` +
          "If you reversed that update's edit, also change `reconcileToken`; otherwise nothing upgrades or uncordons it.",
      );
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      report(`${machine}: not asked whether an update that failed left its node cordoned (${lastLine(error)})`);
    }
  });
}
