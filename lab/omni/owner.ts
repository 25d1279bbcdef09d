import type { Progress } from "../engine";
import type { Say } from "../phases";
import type { LabOmni } from ".";

/** What the program asks of the owner (components/machine/program/omni/wait.ts, addToCluster). */
const asked = /add the machine (\S+) to the cluster (\S+) in Omni/;

/**
 * Plays the owner of the clusters in Omni, who alone adds machines to them: reads what the run says, and does it when it asks
 * for it, once. A real owner does it on the cluster's page in Omni; a sync of a cluster template would delete the stack's
 * patches and extensions (siderolabs/omni, client/pkg/template/template.go), and the program refuses a cluster that has one.
 */
export function asOwner(omni: LabOmni | undefined, say: Say, onEvent: (progress: Progress) => void) {
  return (progress: Progress): void => {
    onEvent(progress);
    const [, uuid, cluster] = (progress.kind === "message" && asked.exec(progress.message)) || [];
    if (uuid !== undefined && omni?.addToCluster(uuid)) {
      say(`the lab, as the owner of ${cluster}, adds the machine ${uuid} to the cluster`);
    }
  };
}
