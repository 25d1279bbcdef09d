import type * as pulumi from "@pulumi/pulumi";
import type { Provider } from "@pulumi/pulumi/provider";
import * as components from "../index";

/** A component's class, as the engine asks for one by its type. */
type Component = new (
  name: string,
  args: pulumi.Inputs,
  options: pulumi.ComponentResourceOptions,
) => pulumi.ComponentResource & Record<string, unknown>;

/** Fields that are read from the package's schema. */
interface Schema {
  name: string;
  version: string;
  /** By type, `talos-gpu:index:GpuCluster`. */
  resources: Record<string, { properties: Record<string, unknown> }>;
}

/**
 * The components as programs in YAML, Python and Go get them, by the schema that came with the package. Left to
 * itself, Pulumi's host makes that schema again for each question, which takes it three seconds, and leaves out what
 * docstrings' tags say (pulumi/pulumi, sdk/nodejs/provider/experimental/provider.ts, `ComponentProvider`).
 *
 * @param text the schema: `sdk/schema.json`.
 */
export function componentsBy(text: string): Provider {
  const schema = JSON.parse(text) as Schema;
  return {
    version: schema.version,
    schema: text,
    // Async, so that what a constructor throws reaches the engine as this component's error.
    construct: async (name, type, args, options) => {
      const { outputs, Class } = componentOf(type, schema);
      const made = new Class(name, args, options);
      return Promise.resolve({
        urn: made.urn,
        state: Object.fromEntries(outputs.map((each) => [each, made[each]])),
      });
    },
  };
}

function componentOf(
  type: string,
  { name, version, resources }: Schema,
): { outputs: string[]; Class: Component } {
  const [, , className = ""] = type.split(":");
  const Class = (components as unknown as Record<string, Component | undefined>)[className];
  const described = resources[type];
  if (Class === undefined || described === undefined)
    throw new Error(
      `${type}: ${name} ${version} has no such component, so the SDK that asks for it is of another release; generate the SDK again with \`pulumi package add\`; there are ${Object.keys(resources).join(", ")}`,
    );
  return { outputs: Object.keys(described.properties), Class };
}
