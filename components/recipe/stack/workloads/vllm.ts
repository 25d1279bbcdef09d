import * as z from "zod";
import * as rules from "../../rules";
import { objectName, quantity, ruled, text } from "../notation";
import { cudaVersion, describeWorkload, serverAccess, gpuServer, underItsName } from "./descriptor";

const schema = z.strictObject({
  ...gpuServer,
  model: ruled(rules.vllmModel),
  args: z.array(text).optional(),
  huggingFaceToken: z.strictObject({ name: objectName, key: ruled(rules.dataKey) }).optional(),
  sharedMemory: quantity.optional(),
});

/** vLLM, as a kind of workload. */
export const vllm = describeWorkload("vllm", {
  schema,
  argumentsSchema: schema.extend({ ...serverAccess, cudaVersion: cudaVersion.optional() }),
  asStack: underItsName("vllm"),
  gpuRequests: (said) => ({ "": said }),
  namespaceMade: ({ namespace }, name) => (namespace === undefined ? name : undefined),
  server: { name: "vllm", port: 8000 },
  keeps: "cache",
});
