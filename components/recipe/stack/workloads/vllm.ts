import * as z from "zod";
import * as rules from "../../rules";
import { count, quantity, ruled, ruledMapping, text } from "../notation";
import {
  cudaVersion,
  describeWorkload,
  secretKey,
  serverAccess,
  gpuServer,
  underOwnKey,
} from "./descriptor";

/** Schema of an environment variable of NCCL, or of Gloo, the library that parts of PyTorch use instead of NCCL. */
const fabricSetting = rules.ruleOf((name) => /^(NCCL|GLOO)_[A-Z0-9_]+$/.test(name), {
  problem: "is not a setting of NCCL or Gloo",
  why: "NCCL and Gloo would ignore this variable, and another program might read it",
  remedy: "write e.g. `NCCL_SOCKET_IFNAME: eth0`",
});

const schema = z.strictObject({
  ...gpuServer,
  model: ruled(rules.vllmModel),
  machines: count.optional(),
  fabric: z
    .strictObject({
      leastBandwidth: z.number().positive().optional(),
      settings: ruledMapping(fabricSetting, () => rules.oneLine).optional(),
    })
    .optional(),
  args: z.array(text).optional(),
  huggingFaceToken: secretKey.optional(),
  apiKeySecret: secretKey.optional(),
  sharedMemory: quantity.optional(),
});

/** vLLM, as a kind of workload. */
export const vllm = describeWorkload("vllm", {
  schema,
  argumentsSchema: schema.extend({ ...serverAccess, cudaVersion: cudaVersion.optional() }),
  asStack: underOwnKey("vllm"),
  gpuRequests: (spec) => ({ "": spec }),
  namespaceMade: ({ namespace }, name) => (namespace === undefined ? name : undefined),
  server: { name: "vllm", port: 8000 },
  volumeSuffix: "cache",
});
