import * as z from "zod";
import * as rules from "../../rules";
import { image, ruled } from "../notation";
import { describeWorkload, serverAccess, gpuServer, underOwnKey } from "./descriptor";

const schema = z.strictObject({
  ...gpuServer,
  models: z.array(ruled(rules.ollamaModel)).optional(),
  pullImage: image.optional(),
});

/** Ollama, as a kind of workload. */
export const ollama = describeWorkload("ollama", {
  schema,
  argumentsSchema: schema.extend(serverAccess),
  asStack: underOwnKey("ollama"),
  gpuRequests: (spec) => ({ "": spec }),
  namespaceMade: ({ namespace }, name) => namespace ?? name,
  server: { name: "ollama", port: 11434 },
  volumeSuffix: "models",
});
