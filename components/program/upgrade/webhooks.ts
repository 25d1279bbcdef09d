import { formatDuration } from "../../recipe/rules/duration";
import { limitOf } from "../../recipe/effect/upgrade-phases";
import { LimitReached, waitFor } from "../../clients/clock";
import { CallError, lastLine } from "../../clients/failure";
import { isServed, type WebhooksBefore, type WebhookService } from "../cluster/webhooks";
import { type Run, upTo } from "./run";

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

/** Reads the pods again, right before a reboot: they may have changed since, and each reboot starts them again. */
export async function readPodsAgain({ cluster, task, webhooks }: Run): Promise<void> {
  if (cluster === undefined || webhooks === undefined || webhooks.served.length === 0) return;
  try {
    webhooks.pods = await cluster.reportedPods(task.machine);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
  }
}

/**
 * Called after a reboot. Waits until pods answer the admission webhooks that pods answered before it. Until then
 * Kubernetes refuses the objects that these webhooks check: the stack's first object after the reboot of an only node
 * would fail. At the limit the program warns and goes on, because the webhook may check other objects than the stack's.
 * If the node stays cordoned, the webhook's pod may wait for it, so the program only looks once.
 *
 * A run that continues after a kill does not know what was answered before, and does not wait.
 *
 * @param staysCordoned whether this program leaves the node cordoned for its smoke test.
 */
export async function awaitWebhooks(run: Run, staysCordoned: boolean): Promise<void> {
  const { cluster, clock, poll, limits, phases, report, task, webhooks: before } = run;
  if (cluster === undefined || before === undefined || before.served.length === 0) return;
  const look = async (): Promise<{ done: true } | { not: string }> => {
    const services = await cluster.webhookServices();
    const podsNow = await cluster.reportedPods(task.machine);
    const missing = services
      .filter((service) => before.served.includes(nameOf(service)))
      .filter((service) => !isServed(service, task.machine, before.pods, podsNow))
      .map(nameOf);
    return missing.length === 0 ? { done: true } : { not: `${NO_POD} ${missing.join(", ")}` };
  };
  const subject = "the pods of the cluster's admission webhooks";
  /** Waits, and returns what is missing at the end; undefined if pods answer. */
  const missingAfter = (limit: number): Promise<string | undefined> =>
    waitFor(clock, { subject, limit, poll, look }).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof LimitReached) return error.missing;
        if (error instanceof CallError) return lastLine(error);
        throw error;
      },
    );
  const warn = (missing: string | undefined, cause: string): void => {
    if (missing === undefined) return;
    report(
      missing.startsWith(NO_POD)
        ? `warning: ${task.machine}: ${missing} (${cause}); until one does, Kubernetes refuses the objects that these webhooks check`
        : `warning: ${task.machine}: not known whether pods answer the cluster's admission webhooks (${missing})`,
    );
  };
  // Without a progress line in the usual case, in which pods of other nodes answer.
  const missing = await missingAfter(0);
  if (missing === undefined) return;
  if (staysCordoned || (await isCordoned(run))) {
    const until = staysCordoned ? "stays cordoned until its smoke test has passed" : "is cordoned";
    return warn(missing, `they may wait for node ${task.machine}, which ${until}`);
  }
  const limit = limitOf("webhooks", limits);
  const stillMissing = await phases.run("webhooks", `waiting ${upTo(limit)} for ${subject}`, () =>
    missingAfter(limit),
  );
  warn(stillMissing, `after ${formatDuration(limit)}`);
}

/** Beginning of the text about webhooks that no pod answers. */
const NO_POD = "no pod answers the admission webhooks of";

/** Whether someone else cordoned the node; false if Kubernetes does not answer. */
async function isCordoned({ cluster, task }: Run): Promise<boolean> {
  try {
    return (await cluster?.node(task.machine))?.unschedulable === true;
  } catch (error) {
    if (error instanceof CallError) return false;
    throw error;
  }
}

const nameOf = ({ namespace, name }: Pick<WebhookService, "namespace" | "name">): string =>
  `${namespace}/${name}`;
