import * as z from "zod";
import * as rules from "../../rules";
import { image, ruled } from "../notation";
import { ModelPull } from "../../spec/index";
import { describeWorkload, serverAccess, gpuServer, underItsName } from "./descriptor";

const schema = z.strictObject({
  ...gpuServer,
  models: z.array(ruled(rules.ollamaModel)).optional(),
  pullBy: z.enum(ModelPull).optional(),
  pullImage: image.optional(),
});

/** Ollama, as a kind of workload. */
export const ollama = describeWorkload("ollama", {
  schema,
  argumentsSchema: schema.extend(serverAccess),
  asStack: underItsName("ollama"),
  gpuRequests: (said) => ({ "": said }),
  namespaceMade: ({ namespace }, name) => namespace ?? name,
  server: { name: "ollama", port: 11434 },
  keeps: "models",
});
