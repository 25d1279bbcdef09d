import type * as pulumi from "@pulumi/pulumi";
import type { Provider } from "@pulumi/pulumi/provider";
import * as components from "../index";

/** A component's class. */
type Component = new (
  name: string,
  args: pulumi.Inputs,
  options: pulumi.ComponentResourceOptions,
) => pulumi.ComponentResource & Record<string, unknown>;

/** The fields of the package's schema that this file uses. */
interface Schema {
  name: string;
  version: string;
  /** Resources by type, e.g. `talos-gpu:index:GpuCluster`. */
  resources: Record<string, { properties: Record<string, unknown> }>;
}

/**
 * Serves the components to programs in YAML, Python and Go, with the packaged schema. By default Pulumi's host
 * generates the schema again for each request, which takes three seconds. The generated schema also lacks the content
 * of docstring tags (pulumi/pulumi, sdk/nodejs/provider/experimental/provider.ts, `ComponentProvider`).
 *
 * @param text the schema: `sdk/schema.json`.
 */
export function componentsBy(text: string): Provider {
  const schema = JSON.parse(text) as Schema;
  return {
    version: schema.version,
    schema: text,
    // Async, so that an error of the constructor reaches the engine as this component's error.
    construct: async (name, type, args, options) => {
      const { outputs, Class } = componentOf(type, schema);
      const component = new Class(name, args, options);
      return Promise.resolve({
        urn: component.urn,
        state: Object.fromEntries(outputs.map((output) => [output, component[output]])),
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
      `${type}: ${name} ${version} has no such component (it has ${Object.keys(resources).join(", ")}); the program's SDK belongs to another release; generate the SDK again with \`pulumi package add\``,
    );
  return { outputs: Object.keys(described.properties), Class };
}
