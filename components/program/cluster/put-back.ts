import { Failure, type FieldFinding } from "../../clients/failure";
import { titleOf } from "../../clients/kubernetes/api";
import type { Report } from "../progress";
import type { PutBackTask } from "../task";
import { keyOf, type Cluster } from "./cluster";

/**
 * Restores the stack's objects that are missing or differ from the stack. Does not change an object that is in its
 * wanted state. Keeps what other owners added (status, defaults, further fields).
 *
 * @throws Failure with each object whose kind the cluster no longer has; the function has then restored all other
 * objects.
 * @returns the objects that were missing, and those that differed, each as `Kind namespace/name`.
 */
export async function putBack(
  task: PutBackTask,
  cluster: Pick<Cluster, "read" | "apply">,
  report: Report,
) {
  const created: string[] = [];
  const corrected: string[] = [];
  const unknownKinds: FieldFinding[] = [];
  for (const object of task.objects) {
    const live = await cluster.read(object);
    if (live !== undefined && includes(live, object)) continue;
    const applied = await cluster.apply(object, task.manager);
    if (applied === undefined) {
      unknownKinds.push({
        field: titleOf(keyOf(object)),
        problem: `the cluster no longer has the kind ${object.kind} (${object.apiVersion})`,
        why: "Kubernetes deleted the object together with its CRD, and cannot restore it without that CRD",
        remedy:
          "install the chart or manifest with that CRD again, or remove the field of the stack that creates this object. Then run again",
      });
      continue;
    }
    // The API server may store a value in another notation; the apply then changes nothing.
    const changed = applied.metadata?.resourceVersion !== live?.metadata?.resourceVersion;
    if (changed) (live ? corrected : created).push(titleOf(keyOf(object)));
  }
  if (unknownKinds.length > 0) throw new Failure(...unknownKinds);
  for (const title of created) report(`${title}: was missing, and is restored`);
  for (const title of corrected) report(`${title}: differed from the stack, and is restored`);
  if (created.length + corrected.length === 0)
    report(`equal: ${task.objects.length} objects agree with the stack`);
  return { made: created, mended: corrected };
}

/**
 * Whether the object has all wanted values. A list may be in another order and may have more items, because other
 * owners may add items.
 */
export function includes(live: unknown, planned: unknown): boolean {
  if (planned === undefined || planned === null) return true;
  if (typeof planned !== "object") return live === planned;
  if (typeof live !== "object" || live === null) return isEmpty(planned);
  if (Array.isArray(planned))
    return (
      Array.isArray(live) &&
      planned.every((item) => live.some((candidate) => includes(candidate, item)))
    );
  return Object.entries(planned).every(([key, value]) =>
    includes((live as Record<string, unknown>)[key], value),
  );
}

/** Whether a planned object or list has no value at any depth: the API server does not store such an object or list. */
const isEmpty = (planned: object): boolean =>
  Object.values(planned).every((value) => includes(undefined, value));
