import { z } from "zod";
import * as rules from "../rules";
import { count, image, labels, namespace, objectName, quantity, ruled, ruledMapping, text } from "./notation";
import { ModelPull } from "./spec/index";

const migProfile = ruled(rules.migProfile);

const app = {
  active: z.boolean().optional(),
  image: image.optional(),
  storage: quantity.optional(),
  storageClass: objectName.optional(),
  gpus: count.optional(),
  migProfile: migProfile.optional(),
  namespace: namespace.optional(),
};

/** Shape of each workload, in a stack and as a component used alone. */
export const workloadSchemas = {
  ollama: z.strictObject({
    ...app,
    models: z.array(ruled(rules.ollamaModel)).optional(),
    pullBy: z.enum(ModelPull).optional(),
    pullImage: image.optional(),
  }),
  comfyui: z.strictObject(app),
  litellm: z.strictObject({
    active: z.boolean().optional(),
    image: image.optional(),
    masterKeySecret: objectName.optional(),
    namespace: namespace.optional(),
  }),
  vllm: z.strictObject({
    ...app,
    model: ruled(rules.vllmModel),
    args: z.array(text).optional(),
    huggingFaceToken: z.strictObject({ name: objectName, key: ruled(rules.dataKey) }).optional(),
    sharedMemory: quantity.optional(),
  }),
  pod: z.strictObject({
    image,
    command: z.array(z.string()).optional(),
    args: z.array(z.string()).optional(),
    env: ruledMapping(rules.envName, () => () => undefined).optional(),
    gpus: count.optional(),
    migProfile: migProfile.optional(),
    namespace: namespace.optional(),
    nodeSelector: labels.optional(),
    limits: ruledMapping(rules.resourceName, rules.resourceLimit).optional(),
    restricted: z.boolean().optional(),
  }),
};

/** Shape of a stack's workloads. */
export const workloadsSchema = z.strictObject({
  ollama: workloadSchemas.ollama.optional(),
  comfyui: workloadSchemas.comfyui.optional(),
  litellm: workloadSchemas.litellm.optional(),
  vllm: workloadSchemas.vllm.optional(),
  pods: z
    .record(
      z.string().superRefine((name, context) => {
        const fault = rules.objectName(name);
        if (fault) context.addIssue({ code: "custom", params: { ...fault } });
      }),
      workloadSchemas.pod,
    )
    .optional(),
});
