import { tmpdir } from "node:os";
import {
  type CheckFailure,
  type DiffResult,
  failuresOf,
  type LabProvider,
  type Properties,
  type ResourceCall,
} from "../provider";
import { conceal, differences, type Path, UNKNOWN } from "../values";
import type { Tools } from "./machine";
import { getConfiguration, type Resource, resources } from "./resources";
import { refusePartialTimeouts, schemaOf, withSecrets } from "./schema";

/** Settings of the provider; a lab sets all of them. */
export interface TalosProviderOptions extends Partial<Tools> {
  talosctl: string;
}

/** The real provider's default Image Factory. */
const publicFactory = "https://factory.talos.dev";

const configurationFunction = "talos:machine/getConfiguration:getConfiguration";

/** Secret parts of a cluster's bundle: all except certificates and the cluster's ID. */
const machineSecrets = [
  "cluster.secret",
  "trustdinfo.token",
  "secrets.bootstrapToken",
  "secrets.secretboxEncryptionSecret",
  "secrets.aescbcEncryptionSecret",
  "certs.etcd.key",
  "certs.k8s.key",
  "certs.k8sAggregator.key",
  "certs.k8sServiceaccount.key",
  "certs.os.key",
];

/** Properties that the schema marks as secret, whatever the program says. */
const secretOutputs: Path[] = [
  ["clientConfiguration", "clientKey"],
  ["kubernetesClientConfiguration", "clientKey"],
  ["kubeconfigRaw"],
  ["machineConfiguration"],
  ...machineSecrets.map((path) => ["machineSecrets", ...path.split(".")]),
];

const withSecretOutputs = (outputs: Properties): Properties => {
  const knownPaths = secretOutputs.filter(([name]) => outputs[name!] !== UNKNOWN);
  return conceal(outputs, knownPaths) as Properties;
};

/**
 * The Talos provider, as far as this project uses it, through the real talosctl and an Image Factory. Types, defaults
 * and behaviour are those of pulumi-talos v0.8.1 on terraform-provider-talos v0.11.0.
 */
export class TalosProvider implements LabProvider {
  readonly name = "talos";
  readonly version = "0.8.1";
  private tools: Tools;

  constructor(private readonly options: TalosProviderOptions) {
    const defaults = {
      factory: publicFactory,
      machineApi: undefined,
      maintenance: {},
      timeScale: 1,
    };
    this.tools = { tempDir: tmpdir(), ...defaults, ...options };
  }

  configure({ imageFactoryUrl: url }: Properties): void {
    if (this.options.factory !== undefined || typeof url !== "string") return;
    this.tools = { ...this.tools, factory: url.replace(/\/+$/, "") };
  }

  check({ type, inputs }: Pick<ResourceCall, "type" | "inputs">): {
    inputs: Properties;
    failures: CheckFailure[];
  } {
    resourceOf(type);
    return { inputs: withSecrets(inputs), failures: failuresOf(schemaOf(type), inputs) };
  }

  diff({ type, oldInputs, inputs, ignoreChanges }: ResourceCall): DiffResult {
    const [olds, news] = [oldInputs, inputs].map((properties) => {
      const comparedEntries = Object.entries(properties).filter(
        ([name]) => !name.startsWith("__") && !ignoreChanges.includes(name),
      );
      return Object.fromEntries(comparedEntries);
    }) as [Properties, Properties];
    return {
      detailed: differences(olds, news),
      replaces: resourceOf(type).replaces?.(olds, news) ?? [],
    };
  }

  async make(call: ResourceCall): Promise<{ id: string; outputs: Properties }> {
    const { id, outputs } = await resourceOf(call.type).make(this.tools, call);
    if (!call.preview) refusePartialTimeouts(call.type, call.inputs);
    return { id, outputs: withSecretOutputs(outputs) };
  }

  async invoke(token: string, args: Properties, signal: AbortSignal): Promise<Properties> {
    if (token !== configurationFunction)
      throw new Error(`${token}: the lab's talos provider has only ${configurationFunction}`);
    return withSecretOutputs(await getConfiguration(this.tools, args, signal));
  }
}

function resourceOf(type: string): Resource {
  const resource = resources[type];
  if (!resource)
    throw new Error(
      `${type}: the lab's talos provider has only ${Object.keys(resources).join(", ")}`,
    );
  return resource;
}
