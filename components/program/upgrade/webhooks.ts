import { formatDuration } from "../../recipe/rules/duration";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { LimitReached, waitFor } from "../../clients/clock";
import { CallError } from "../../clients/failure";
import { type Run, upTo } from "./run";

/** Services of the cluster's admission webhooks that a pod answers now. Empty if Kubernetes does not say. */
export async function servedWebhooks({ cluster }: Run): Promise<string[]> {
  if (cluster === undefined) return [];
  try {
    return (await cluster.webhookServices()).filter(({ served }) => served).map(nameOf);
  } catch (error) {
    if (error instanceof CallError) return [];
    throw error;
  }
}

/**
 * Called after a reboot. Waits until pods answer the admission webhooks that were answered before it. Until then
 * Kubernetes refuses new objects, and Pulumi's first object after the reboot of an only node would fail. At the limit
 * the program warns and goes on: the webhook may concern other objects than the stack's.
 *
 * @param before what `servedWebhooks` said before the reboot.
 */
export async function awaitWebhooks(run: Run, before: readonly string[]): Promise<void> {
  const { cluster, clock, poll, limits, phases, report, task } = run;
  if (cluster === undefined || before.length === 0) return;
  const limit = limitOf("webhooks", limits);
  let missing: readonly string[] = before;
  const look = async (): Promise<{ done: true } | { not: string }> => {
    const services = await cluster.webhookServices();
    missing = services
      .filter((service) => !service.served && before.includes(nameOf(service)))
      .map(nameOf);
    return missing.length === 0 ? { done: true } : { not: missing.join(", ") };
  };
  // No progress line for the usual case, in which other nodes answer the webhooks.
  if ((await look().catch(() => undefined)) !== undefined && missing.length === 0) return;
  await phases.run(
    "webhooks",
    `waiting ${upTo(limit)} for the pods of the cluster's admission webhooks`,
    async () => {
      try {
        await waitFor(clock, { subject: "admission webhooks", limit, poll, look });
      } catch (error) {
        if (!(error instanceof LimitReached)) throw error;
        report(
          `warning: ${task.machine}: no pod answers the admission webhooks of ${missing.join(", ")} (after ${formatDuration(limit)}); Kubernetes may refuse this stack's objects until one does`,
        );
      }
    },
  );
}

const nameOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${namespace}/${name}`;
