import * as z from "zod";
import * as rules from "../../rules";
import { count, image, labels, namespace, objectName, ruledMapping, addFinding } from "../notation";
import type { GpuPodSpec } from "../../spec/index";
import { claim, describeWorkload, gpuAccess, migProfile } from "./descriptor";

const pod = z.strictObject({
  image,
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  env: ruledMapping(rules.envName, () => () => undefined).optional(),
  gpus: count.optional(),
  migProfile: migProfile.optional(),
  claim: claim.optional(),
  namespace: namespace.optional(),
  nodeSelector: labels.optional(),
  limits: ruledMapping(rules.resourceName, rules.resourceLimit).optional(),
  restricted: z.boolean().optional(),
});

const name = z
  .string()
  .superRefine((value, context) => addFinding(context, rules.objectName(value)));

/** Pods of the user's own. */
export const pods = describeWorkload("pods", {
  schema: z.record(name, pod),
  argumentsSchema: pod.extend({ ...gpuAccess, podName: objectName.optional() }),
  asStack: (spec) => ({
    workloads: { pods: { pod: spec as unknown as GpuPodSpec } },
    field: "workloads.pods.pod",
  }),
  gpuRequests: (spec) => spec,
  namespaceMade: (spec) =>
    Object.values(spec).some(({ namespace }) => namespace === undefined) ? "gpu-pods" : undefined,
});
