import * as z from "zod";
import { cudaVersion, describeWorkload, serverAccess, gpuServer, underItsName } from "./descriptor";

const schema = z.strictObject(gpuServer);

/** ComfyUI, as a kind of workload. */
export const comfyui = describeWorkload("comfyui", {
  schema,
  argumentsSchema: schema.extend({ ...serverAccess, cudaVersion: cudaVersion.optional() }),
  asStack: underItsName("comfyui"),
  gpuRequests: (said) => ({ "": said }),
  namespaceMade: ({ namespace }, name) => namespace ?? name,
  server: { name: "comfyui", port: 8188 },
  keeps: "data",
});
