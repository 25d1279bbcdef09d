import type { Properties } from "../provider";
import type { Tools } from "./machine";
import type { Resource } from "./resource";
import { limit } from "../../session/limit";

/**
 * `talos:imageFactory/schematic:Schematic`. The ID of an update goes nowhere: the engine keeps the one of the creation, and
 * nothing asks for a replacement, so that `id` goes stale as it does with the real provider (terraform-provider-talos
 * v0.11.0, talos_image_factory_schematic_resource.go; pulumi#3729). The real one drops unknown fields before it asks the
 * Factory; here the Factory sees and refuses them.
 */
export const schematic: Resource = {
  create: async (tools, inputs, { preview, context }) => ({
    id: preview ? "" : await register(tools, inputs, context.signal),
    outputs: inputs,
  }),

  update: async (tools, inputs, { preview, context }) => {
    if (!preview) await register(tools, inputs, context.signal);
    return inputs;
  },
};

async function register(tools: Tools, inputs: Properties, signal: AbortSignal): Promise<string> {
  const body = (inputs["schematic"] as string | undefined) ?? "customization: {}";
  const init = { method: "POST", body, headers: { "Content-Type": "application/yaml" } };
  return ((await ask(tools, "/schematics", signal, init)) as { id: string }).id;
}

async function ask(tools: Tools, path: string, signal: AbortSignal, init: RequestInit = {}): Promise<unknown> {
  const within = limit(30_000, signal);
  try {
    const response = await fetch(tools.factory + path, { ...init, signal: within.signal });
    if (!response.ok) throw new Error(`Image Factory, ${path}: ${response.status}: ${(await response.text()).trim()}`);
    return await response.json();
  } finally {
    within.release();
  }
}
