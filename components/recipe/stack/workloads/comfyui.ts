import * as z from "zod";
import { cudaVersion, describeWorkload, serverAccess, gpuServer, underOwnKey } from "./descriptor";

const schema = z.strictObject(gpuServer);

/** ComfyUI, as a kind of workload. */
export const comfyui = describeWorkload("comfyui", {
  schema,
  argumentsSchema: schema.extend({ ...serverAccess, cudaVersion: cudaVersion.optional() }),
  asStack: underOwnKey("comfyui"),
  gpuRequests: (spec) => ({ "": spec }),
  namespaceMade: ({ namespace }, name) => namespace ?? name,
  server: { name: "comfyui", port: 8188 },
  volumeSuffix: "data",
});
