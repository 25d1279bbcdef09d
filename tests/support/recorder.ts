import * as pulumi from "@pulumi/pulumi";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks";
import * as state from "@pulumi/pulumi/runtime/state";
import { gateOutputs } from "./talos";

/** The SDK's own state, which its types keep to themselves. */
const { getStore } = state as unknown as { getStore(): Record<string, unknown> };

/** What a program registered: one resource as Pulumi's engine would see it. */
export interface Registered {
  urn: string;
  name: string;
  type: string;
  parent: string;
  /** Whether a provider makes it; a component is made of its children. */
  custom: boolean;
  /** Inputs, secrets in Pulumi's envelope, unknowns as its sentinel. */
  inputs: Record<string, any>;
  /** URNs of everything it waits for: named or by its inputs. */
  dependencies: string[];
  /** URNs that each input comes from. */
  propertyDependencies: Record<string, string[]>;
  aliases: unknown[];
  provider: string;
  /** URNs that it is replaced with. */
  replaceWith: string[];
  deleteBeforeReplace: boolean;
  /** Paths of inputs whose change replaces it, whatever its provider says. */
  replaceOnChanges: string[];
  /** Names of inputs whose change is passed over. */
  ignoreChanges: string[];
  /** Names of outputs that the state keeps encrypted. */
  secretOutputs: string[];
  /** Value whose change replaces it; undefined without one. */
  replacementTrigger: unknown;
}

/** What a run left behind. */
export interface Run {
  /** In the order of registration. */
  resources: Registered[];
  /** What it looks at without making it (`get`). */
  reads: { type: string; name: string; id: string; dependencies: string[] }[];
  /** Invokes and calls, by token. */
  calls: { token: string; inputs: unknown }[];
  /** What the program threw. */
  error?: Error;
}

/** How a run behaves. */
export interface RunOptions {
  preview?: boolean;
  project?: string;
  stack?: string;
  config?: Record<string, string>;
  secretKeys?: string[];
  /** Outputs that a provider would add, by resource. Default: a gate's alone. A preview leaves them unknown. */
  outputs?: (resource: {
    type: string;
    name: string;
    inputs: Record<string, any>;
  }) => Record<string, any>;
  /** ID that a provider would give. Default: one made of the name. */
  ids?: (resource: {
    type: string;
    name: string;
    inputs: Record<string, any>;
  }) => string | undefined;
  /** Result of an invoke. Default: empty. */
  call?: (token: string, inputs: Record<string, any>) => Record<string, any>;
  /** Records nothing but calls, for a measurement: records of a large cluster take time and memory of their own. */
  forgets?: boolean;
  /** Gets the run as it begins, and so sees a run that never ends. */
  begun?: (run: Run) => void;
}

class RecordingMonitor extends MockMonitor {
  public readonly registered: Registered[] = [];

  public readonly read: Run["reads"] = [];

  public override async readResource(req: any, callback: any): Promise<void> {
    const dependencies = req.getDependenciesList() as string[];
    this.read.push({ type: req.getType(), name: req.getName(), id: req.getId(), dependencies });
    return super.readResource(req, callback);
  }

  public override async registerResource(req: any, callback: any): Promise<void> {
    const recorded: Registered = {
      urn: "",
      name: req.getName(),
      type: req.getType(),
      parent: req.getParent(),
      custom: req.getCustom(),
      inputs: req.getObject()?.toJavaScript() ?? {},
      dependencies: req.getDependenciesList(),
      propertyDependencies: Object.fromEntries(
        (req.getPropertydependenciesMap().toArray() as [string, string[][]][]).map(
          ([key, [urns]]) => [key, urns ?? []],
        ),
      ),
      aliases: req.getAliasesList(),
      provider: req.getProvider(),
      replaceWith: req.getReplaceWithList(),
      deleteBeforeReplace: req.getDeletebeforereplace(),
      replaceOnChanges: req.getReplaceonchangesList(),
      ignoreChanges: req.getIgnorechangesList(),
      secretOutputs: req.getAdditionalsecretoutputsList(),
      replacementTrigger: req.getReplacementTrigger()?.toJavaScript(),
    };
    this.registered.push(recorded);
    return super.registerResource(req, (error: any, response: any) => {
      recorded.urn = response?.getUrn() ?? "";
      callback(error, response);
    });
  }
}

/**
 * Runs a program against a monitor that records what it registers, in this process and without Pulumi's CLI. It does not
 * diff, replace or delete; what a program registers, in which order and from what, it shows in full.
 */
export async function record(program: () => unknown, options: RunOptions = {}): Promise<Run> {
  const calls: Run["calls"] = [];
  const { outputs = gateOutputs } = options;
  const mocks: pulumi.runtime.Mocks = {
    newResource: ({ type, name, inputs }) => ({
      id: options.preview ? undefined : (options.ids?.({ type, name, inputs }) ?? `${name}-id`),
      state: { ...inputs, ...(options.preview ? {} : outputs({ type, name, inputs })) },
    }),
    call: (args) => {
      calls.push({ token: args.token, inputs: args.inputs });
      return options.call?.(args.token, args.inputs) ?? {};
    },
  };
  const recording = options.forgets ? undefined : new RecordingMonitor(mocks);
  const monitor = recording ?? new MockMonitor(mocks);
  pulumi.runtime.setMockOptions(
    monitor as any,
    options.project ?? "talos-gpu",
    options.stack ?? "test",
    options.preview ?? false,
    "organization",
  );
  Object.assign(getStore(), {
    supportsSecrets: true,
    supportsResourceReferences: true,
    supportsOutputValues: false,
    supportsDeletedWith: true,
    supportsReplaceWith: true,
    supportsAliasSpecs: true,
  });
  pulumi.runtime.setAllConfig(options.config ?? {}, options.secretKeys ?? []);
  const run: Run = { resources: recording?.registered ?? [], reads: recording?.read ?? [], calls };
  options.begun?.(run);
  await pulumi.runtime.runInPulumiStack(async () => {
    try {
      return await program();
    } catch (error) {
      run.error = error as Error; // caught here: beyond, it would end the process as an unhandled rejection
      return undefined;
    }
  });
  await pulumi.runtime.disconnect();
  return run;
}
