import { z } from "zod";
import * as rules from "../rules";
import { image, objectName, ruled, text } from "./notation";
import { workloadSchemas } from "./workload-schemas";

/** Effects of a taint, and how a toleration may compare. */
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
const operators = ["Exists", "Equal"] as const;

/** Seconds until something must be ready: Pulumi and Kubernetes take whole ones, and a week is long enough. */
const readyWithin = z.number().int().min(1).max(604_800);

const tolerations = z.array(
  z.strictObject({
    key: ruled(rules.qualifiedName),
    operator: z.enum(operators),
    value: z
      .string()
      .superRefine((value, context) => {
        const fault = rules.labelValue(value);
        if (fault) context.addIssue({ code: "custom", params: { ...fault } });
      })
      .optional(),
    effect: z.enum(effects).optional(),
  }),
);

/** `12.8`: CUDA as the driver says it. */
const cudaVersion = ruled(
  rules.ruleOf(
    (version) => /^\d{1,2}\.\d{1,2}$/.test(version),
    "is no release of CUDA",
    "the image is chosen by it",
    "write what the head of `nvidia-smi` says, e.g. `12.8`",
  ),
);

/** What a workload gets of a cluster, besides inputs. */
const access = { tolerations: tolerations.optional(), exposure: text.optional(), readyWithin: readyWithin.optional() };

/** Shape of the arguments of each workload that is used alone, without its inputs. */
export const argumentSchemas = {
  ollama: workloadSchemas.ollama.extend(access),
  comfyui: workloadSchemas.comfyui.extend({ ...access, cudaVersion: cudaVersion.optional() }),
  litellm: workloadSchemas.litellm.extend({
    models: z.array(ruled(rules.ollamaModel)),
    tolerations: tolerations.optional(),
    readyWithin: readyWithin.optional(),
  }),
  vllm: workloadSchemas.vllm.extend({ ...access, cudaVersion: cudaVersion.optional() }),
  pod: workloadSchemas.pod.extend({ ...access, podName: objectName.optional() }),
};

const named = z.looseObject({ name: text });

/** Shape of what a machine is told besides what a stack says of it and its inputs. */
export const machineArgumentSchema = z.strictObject({
  nodeName: text.optional(),
  otherControlPlanes: z.array(ruled(rules.machineAddress)).optional(),
  maintenance: z.boolean().optional(),
  bootstrap: z.boolean().optional(),
  recipe: z
    .looseObject({
      schematic: z.string(),
      schematicId: text,
      installerImage: image,
      talosVersion: text,
      kernelModules: z.array(named),
      patches: z.array(z.string()),
      nodeLabels: z.record(z.string(), z.string()),
      nodeTaints: z.array(z.looseObject({ key: text, effect: z.enum(effects) })),
      extensionServices: z.array(named),
    })
    .optional(),
});
