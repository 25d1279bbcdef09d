import { setTimeout as wait } from "node:timers/promises";
import { bootstrap, kubeconfig } from "./cluster";
import { machineConfiguration } from "./configuration";
import { configurationApply } from "./configuration-apply";
import { schematic } from "./image-factory";
import type { Tools } from "./machine";
import type { Resource } from "./resource";
import type { Clock } from "./retry";
import { machineSecrets } from "./secrets";
import { Talosctl } from "./talosctl";
import { refusePartialTimeouts, schemaFindings, withSecrets } from "./schema";
import type { CallContext, CheckFailure, DiffResult, LabProvider, Properties } from "../provider";
import { differences, secret } from "../values";

/** What the provider works with. */
export interface TalosProviderOptions {
  /** The talosctl to run. */
  talosctl: string;
  /** Address of the Image Factory, whatever the provider's `imageFactoryUrl` says. Default: what that says. */
  factory?: string;
  /** `host:port` of the lab's machines, which all listen there. Default: each resource's own endpoint. */
  machineApi?: string;
  /** Where machines in maintenance mode answer, by their address. Default: there are none. */
  maintenance?: Readonly<Record<string, string>>;
  /** Folder for short-lived files with credentials. Default: the system's. */
  tempDir?: string;
  /** By how much the lab's time is faster; limits (10 minutes by default) are divided by it. Default: 1. */
  timeScale?: number;
  /** Default: the real one. */
  clock?: Clock;
}

const resources: Record<string, Resource> = {
  "talos:machine/secrets:Secrets": machineSecrets,
  "talos:machine/configurationApply:ConfigurationApply": configurationApply,
  "talos:machine/bootstrap:Bootstrap": bootstrap,
  "talos:cluster/kubeconfig:Kubeconfig": kubeconfig,
  "talos:imageFactory/schematic:Schematic": schematic,
};

type Call = (tools: Tools, args: Properties, context: CallContext) => Promise<Properties>;

const functions: Record<string, Call> = {
  "talos:machine/getConfiguration:getConfiguration": async ({ talosctl }, args, { signal }) =>
    machineConfiguration(talosctl, args, { signal }),
};

/**
 * The Talos provider, as far as this project uses it, through the real talosctl and an Image Factory. Types, defaults and
 * behaviour are those of pulumi-talos v0.8.1 on terraform-provider-talos v0.11.0: nothing is read back from a machine, and
 * destroying leaves it as it is.
 */
export class TalosProvider implements LabProvider {
  readonly name = "talos";
  readonly version = "0.8.1";
  private tools: Tools;

  constructor(private readonly options: TalosProviderOptions) {
    this.tools = {
      talosctl: new Talosctl(options.talosctl, options.tempDir),
      factory: withoutSlash(options.factory ?? publicFactory),
      machineApi: options.machineApi,
      maintenance: options.maintenance ?? {},
      timeScale: options.timeScale ?? 1,
      clock: options.clock ?? realClock,
    };
  }

  configure({ imageFactoryUrl }: Properties): void {
    if (this.options.factory !== undefined || typeof imageFactoryUrl !== "string") return;
    this.tools = { ...this.tools, factory: withoutSlash(imageFactoryUrl) };
  }

  async check(
    type: string,
    _olds: Properties,
    inputs: Properties,
    { name }: Pick<CallContext, "name">,
  ): Promise<{ inputs: Properties; failures: CheckFailure[] }> {
    const failures = [...schemaFindings(type, name, inputs), ...(resourceOf(type).check?.(inputs, name) ?? [])];
    return { inputs: withSecrets(type, inputs), failures };
  }

  async diff(
    type: string,
    _id: string,
    olds: Properties,
    news: Properties,
    { ignoreChanges }: CallContext,
  ): Promise<DiffResult> {
    const without = (inputs: Properties): Properties =>
      Object.fromEntries(
        Object.entries(inputs).filter(([name]) => !name.startsWith("__") && !ignoreChanges.includes(name)),
      );
    const detailed = differences(without(olds), without(news));
    if (Object.keys(detailed).length === 0) return { changes: false, replaces: [] };
    return { changes: true, replaces: resourceOf(type).replaces?.(without(olds), without(news)) ?? [], detailed };
  }

  async create(
    type: string,
    inputs: Properties,
    preview: boolean,
    _urn: string,
    timeoutSeconds: number,
    context: CallContext,
  ): Promise<{ id: string; outputs: Properties }> {
    const { id, outputs } = await resourceOf(type).create(this.tools, inputs, { preview, timeoutSeconds, context });
    if (!preview) refusePartialTimeouts(type, inputs);
    return { id, outputs: hidden(outputs) };
  }

  async update(
    type: string,
    _id: string,
    _olds: Properties,
    news: Properties,
    preview: boolean,
    timeoutSeconds: number,
    context: CallContext,
  ): Promise<{ outputs: Properties }> {
    const outputs = await resourceOf(type).update(this.tools, news, { preview, timeoutSeconds, context });
    if (!preview) refusePartialTimeouts(type, news);
    return { outputs: hidden(outputs) };
  }

  /** Nothing is undone on a machine. */
  delete(): void {}

  async invoke(token: string, args: Properties, context: CallContext): Promise<Properties> {
    const call = functions[token];
    if (!call) throw new Error(`${token}: the lab's talos provider has only ${Object.keys(functions).join(", ")}`);
    return call(this.tools, args, context);
  }
}

/** Where the real provider asks when nothing else is said. */
const publicFactory = "https://factory.talos.dev";

const withoutSlash = (address: string): string => address.replace(/\/+$/, "");

function resourceOf(type: string): Resource {
  const resource = resources[type];
  if (!resource) throw new Error(`${type}: the lab's talos provider has only ${Object.keys(resources).join(", ")}`);
  return resource;
}

/** The key of a client certificate is secret by the schema, also when the program forgot to say so. */
function hidden(outputs: Properties): Properties {
  const client = outputs["clientConfiguration"] as Properties | undefined;
  if (typeof client?.["clientKey"] !== "string") return outputs;
  return { ...outputs, clientConfiguration: { ...client, clientKey: secret(client["clientKey"]) } };
}

const realClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => wait(milliseconds, undefined, signal ? { signal } : {}),
};
