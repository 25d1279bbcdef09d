import * as z from "zod";
import * as rules from "../../rules";
import { image, namespace, objectName, ruled, addFinding, text } from "../notation";
import { describeWorkload, ofCluster, secretKey, underOwnKey } from "./descriptor";

const schema = z.strictObject({
  active: z.boolean().optional(),
  image: image.optional(),
  masterKeySecret: objectName.optional(),
  allowFrom: z.array(namespace).optional(),
  namespace: namespace.optional(),
});

/** LiteLLM, as a kind of workload. */
export const litellm = describeWorkload("litellm", {
  schema,
  argumentsSchema: schema.extend({
    ...ofCluster,
    servers: z.array(
      z
        .strictObject({
          provider: text,
          models: z.array(text),
          url: ruled(rules.otherServer),
          apiKeySecret: secretKey.optional(),
        })
        .superRefine(({ provider, models }, context) => {
          const findingOf = (model: string) =>
            provider.startsWith("ollama") ? rules.ollamaModel(model) : undefined;
          for (const [index, model] of models.entries())
            addFinding(context, findingOf(model), "models", index);
        }),
    ),
  }),
  // In a stack LiteLLM's models are those of the stack's servers. A component without a GpuCluster gets its models as
  // arguments, so the stack for its checks has an ollama server with any model.
  asStack: underOwnKey("litellm", { ollama: { models: ["any"] } }),
  gpuRequests: () => ({}), // it routes requests, and computes nothing
  // The package does not create a namespace that must already contain the user's Secret.
  namespaceMade: ({ namespace = "litellm", masterKeySecret }) =>
    masterKeySecret === undefined ? namespace : undefined,
  server: { name: "litellm", port: 4000 },
});
