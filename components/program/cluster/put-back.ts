import { Failure, type FieldFinding } from "../../clients/failure";
import { titleOf } from "../../clients/kubernetes/api";
import type { Report } from "../progress";
import type { PutBackTask } from "../task";
import { keyOf, type Cluster } from "./cluster";

/**
 * Puts back what of a stack's objects is gone, or says something else than the stack. An object in its wanted state is not touched, and
 * what others added to it (status, defaults, fields of their own) stays.
 *
 * @throws Failure with each object whose kind the cluster no longer has; all others are in their wanted state by then.
 * @returns objects that were gone, and those that said something else, each as `Kind namespace/name`.
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
        why: "the object went with the definition of its kind, and cannot be restored without it",
        remedy:
          "install what defines the kind again, or take what needs it out of the stack, then run again",
      });
      continue;
    }
    // The API server may write a value in another way than we do, and then nothing has changed.
    const changed = applied.metadata?.resourceVersion !== live?.metadata?.resourceVersion;
    if (changed) (live ? mended : made).push(titleOf(keyOf(object)));
  }
  if (homeless.length > 0) throw new Failure(...homeless);
  for (const title of made) report(`${title}: was missing, and is restored`);
  for (const title of mended) report(`${title}: differed from the stack, and is restored`);
  if (made.length + mended.length === 0)
    report(`equal: ${task.objects.length} objects are as the stack says`);
  return { made, mended };
}

/** Whether the object says all that is wanted. Lists are compared without their order: others may add items in between. */
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
