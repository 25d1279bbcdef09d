import { formatDuration } from "../../recipe/rules/duration";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { LimitReached, waitFor } from "../../clients/clock";
import { CallError, lastLine } from "../../clients/failure";
import { isServed, type ReportedPods, type WebhookService } from "../cluster/webhooks";
import { type Run, upTo } from "./run";

/** What Kubernetes said about admission webhooks before a reboot. */
export interface WebhooksBefore {
  /** Services that a pod answered for. */
  served: string[];
  /** Pods of the machine's node. */
  pods: ReportedPods;
}

const nothingKnown: WebhooksBefore = { served: [], pods: {} };

/** Reads which admission webhooks are answered, before a reboot. Nothing is known if Kubernetes does not say. */
export async function readWebhooks({ cluster, task }: Run): Promise<WebhooksBefore> {
  if (cluster === undefined) return nothingKnown;
  try {
    const services = await cluster.webhookServices();
    const served = services.filter((service) => isServed(service, task.machine, {}, {}));
    if (served.length === 0) return nothingKnown;
    return { served: served.map(nameOf), pods: await cluster.reportedPods(task.machine) };
  } catch (error) {
    if (error instanceof CallError) return nothingKnown;
    throw error;
  }
}

/**
 * Called after a reboot. Waits until pods answer the admission webhooks that pods answered before it. Until then
 * Kubernetes refuses the objects that these webhooks check: the stack's first object after the reboot of an only node
 * would fail. At the limit the program warns and goes on, because the webhook may check other objects than the stack's.
 *
 * A run that continues after a kill does not know what was answered before, and does not wait.
 *
 * @param staysCordoned whether the node stays cordoned for its smoke test. The webhook's pod may then wait for this
 * node, so the program only looks once.
 */
export async function awaitWebhooks(
  run: Run,
  before: WebhooksBefore,
  staysCordoned: boolean,
): Promise<void> {
  const { cluster, clock, poll, limits, phases, report, task } = run;
  if (cluster === undefined || before.served.length === 0) return;
  const limit = staysCordoned ? 0 : limitOf("webhooks", limits);
  let missing: readonly string[] = before.served;
  const look = async (): Promise<{ done: true } | { not: string }> => {
    const services = await cluster.webhookServices();
    const podsNow = await cluster.reportedPods(task.machine);
    missing = services
      .filter((service) => before.served.includes(nameOf(service)))
      .filter((service) => !isServed(service, task.machine, before.pods, podsNow))
      .map(nameOf);
    return missing.length === 0 ? { done: true } : { not: missing.join(", ") };
  };
  const unknown = (error: unknown): void => {
    if (!(error instanceof CallError)) throw error;
    report(
      `warning: ${task.machine}: not known whether pods answer the cluster's admission webhooks (${lastLine(error)})`,
    );
  };
  // Without a progress line in the usual case, in which pods of other nodes answer.
  const isAnswered = await look().then(
    (result) => "done" in result,
    () => false,
  );
  if (isAnswered) return;
  const subject = "the pods of the cluster's admission webhooks";
  await phases.run("webhooks", `waiting ${upTo(limit)} for ${subject}`, async () => {
    try {
      await waitFor(clock, { subject, limit, poll, look });
    } catch (error) {
      if (!(error instanceof LimitReached)) return unknown(error);
      const cause = staysCordoned
        ? `they may wait for node ${task.machine}, which stays cordoned until its smoke test has passed`
        : `after ${formatDuration(limit)}`;
      report(
        `warning: ${task.machine}: no pod answers the admission webhooks of ${missing.join(", ")} (${cause}); until one does, Kubernetes refuses the objects that these webhooks check`,
      );
    }
  });
}

const nameOf = ({ namespace, name }: Pick<WebhookService, "namespace" | "name">): string =>
  `${namespace}/${name}`;
