import { Failure, type FieldFinding } from "../../clients/failure";
import { titleOf } from "../../clients/kubernetes/api";
import type { Report } from "../progress";
import type { PutBackTask } from "../task";
import { keyOf, type Cluster } from "./cluster";

/**
 * Restores the stack's objects that are missing or differ from the stack. It does not touch an object in its wanted
 * state, and keeps what others added (status, defaults, further fields).
 *
 * @throws Failure with each object whose kind the cluster no longer has; all other objects are restored by then.
 * @returns the objects that were missing, and those that differed, each as `Kind namespace/name`.
 */
export async function putBack(
  task: PutBackTask,
  cluster: Pick<Cluster, "read" | "apply">,
  report: Report,
) {
  const made: string[] = [];
  const mended: string[] = [];
  const homeless: FieldFinding[] = [];
  for (const object of task.objects) {
    const live = await cluster.read(object);
    if (live !== undefined && says(live, object)) continue;
    const applied = await cluster.apply(object, task.manager);
    if (applied === undefined) {
      homeless.push({
        field: titleOf(keyOf(object)),
        problem: `the cluster no longer has the kind ${object.kind} (${object.apiVersion})`,
        why: "Kubernetes deleted the object together with its CRD, and cannot restore it without that CRD",
        remedy:
          "install the chart or manifest with that CRD again, or remove the part of the stack that needs it, then run again",
      });
      continue;
    }
    // The API server may store a value in another notation; the apply then changes nothing.
    const changed = applied.metadata?.resourceVersion !== live?.metadata?.resourceVersion;
    if (changed) (live ? mended : made).push(titleOf(keyOf(object)));
  }
  if (homeless.length > 0) throw new Failure(...homeless);
  for (const title of made) report(`${title}: was missing, and is restored`);
  for (const title of mended) report(`${title}: differed from the stack, and is restored`);
  if (made.length + mended.length === 0)
    report(`equal: ${task.objects.length} objects agree with the stack`);
  return { made, mended };
}

/** Whether the object has all wanted values. The order of lists does not count: others may add items in between. */
export function says(live: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (typeof wanted !== "object") return live === wanted;
  if (typeof live !== "object" || live === null) return isEmpty(wanted);
  if (Array.isArray(wanted))
    return (
      Array.isArray(live) && wanted.every((item) => live.some((candidate) => says(candidate, item)))
    );
  return Object.entries(wanted).every(([key, value]) =>
    says((live as Record<string, unknown>)[key], value),
  );
}

/** The API server drops what is empty. */
const isEmpty = (wanted: object): boolean =>
  Object.values(wanted).every((value) => says(undefined, value));
