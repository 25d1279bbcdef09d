import * as pulumi from "@pulumi/pulumi";

/** Version of the provider that these classes use. The same as in package.json (a test compares them). */
export const version = "0.8.1";

/** Where Pulumi's CLI finds the plugin: it is not on Pulumi's own server. */
export const pluginDownloadURL = "github://api.github.com/pulumiverse";

/**
 * Inputs, outputs and secrets of a resource of the provider. The names are those in the schema of pulumi-talos v0.8.1.
 */
export interface ResourceShape {
  /** Names of the arguments. */
  readonly inputs: readonly string[];
  /** Arguments without which the resource makes no sense. */
  readonly required?: readonly string[];
  /** Properties that only the provider sets. */
  readonly outputs?: readonly string[];
  /** Properties kept encrypted in the state. Those that are arguments are also marked secret on the way in. */
  readonly secrets?: readonly string[];
}

/** Options of every invoke: the plugin to use, unless the caller sets it. */
export function invokeOptions<T extends pulumi.InvokeOptions>(options: T | undefined): T {
  return { version, pluginDownloadURL, ...options } as T;
}

/** Options of every resource: the plugin to use, and the secret properties. */
export function resourceOptions(
  shape: ResourceShape,
  options: pulumi.CustomResourceOptions,
): pulumi.CustomResourceOptions {
  const defaults = pulumi.mergeOptions({ version, pluginDownloadURL }, options);
  return shape.secrets
    ? pulumi.mergeOptions(defaults, { additionalSecretOutputs: [...shape.secrets] })
    : defaults;
}

/**
 * Properties to register a resource with. Required properties must be set, secrets are marked, and outputs are unknown.
 */
export function resourceProperties(shape: ResourceShape, values: unknown): pulumi.Inputs {
  const inputs = (values ?? {}) as Record<string, pulumi.Input<unknown>>;
  for (const name of shape.required ?? [])
    if (inputs[name] === undefined) throw new Error(`Missing required property '${name}'`);
  const secret = (name: string): boolean => Boolean(shape.secrets?.includes(name) && inputs[name]);
  return Object.fromEntries([
    ...shape.inputs.map((name) => [
      name,
      secret(name) ? pulumi.secret(inputs[name]) : inputs[name],
    ]),
    ...(shape.outputs ?? []).map((name) => [name, undefined]),
  ]) as pulumi.Inputs;
}
