import type { CallContext, Properties } from "../provider";
import type { ObjectSettings } from "./objects";
import { readinessRule } from "./readiness";
import { annotation, objectOf, type Token } from "./tokens";

/** Path that the difference names (pulumi-kubernetes provider/pkg/provider/provider.go, Diff). */
export const replaceUnready = 'metadata.annotations["pulumi.com/replaceUnready"]';

/** Whether a Job asks to be made anew when the one in the cluster is not ready. Other kinds may not ask. */
export function asksForReadiness(kind: string, inputs: Properties): boolean {
  return kind === "Job" && annotation(inputs, "pulumi.com/replaceUnready") === "true";
}

/** Whether the object, as it is in the cluster now, is not ready; one that cannot be read counts as ready. */
export async function isUnready({ cluster }: ObjectSettings, token: Token, context: CallContext): Promise<boolean> {
  try {
    const live = await cluster.get(objectOf(token, context.oldOutputs), context.signal);
    return (
      readinessRule({ ...live, apiVersion: token.apiVersion, kind: token.kind })!(live, { existed: true }).ready ===
      false
    );
  } catch {
    return false;
  }
}
