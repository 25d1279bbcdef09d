import * as pulumi from "@pulumi/pulumi";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks";
import * as state from "@pulumi/pulumi/runtime/state";
import { gateOutputs } from "./talos";

/** The internal state of Pulumi's SDK, which its types do not export. */
const { getStore } = state as unknown as { getStore(): Record<string, unknown> };

/** A resource that a program registered, as Pulumi's engine would receive it. */
export interface RegisteredResource {
  urn: string;
  name: string;
  type: string;
  parent: string;
  /** Whether a provider makes the resource. A component has only children. */
  custom: boolean;
  /** Inputs; secrets are in Pulumi's envelope, and unknown values are its sentinel. */
  inputs: Record<string, any>;
  /** URNs of all resources that it waits for: by `dependsOn`, or because an input comes from them. */
  dependencies: string[];
  /** URNs that each input comes from. */
  propertyDependencies: Record<string, string[]>;
  aliases: unknown[];
  provider: string;
  /** URNs of the resources whose replacement also replaces this one. */
  replaceWith: string[];
  deleteBeforeReplace: boolean;
  /** Paths of inputs whose change replaces the resource, whatever its provider says. */
  replaceOnChanges: string[];
  /** Names of inputs whose change is ignored. */
  ignoreChanges: string[];
  /** Names of outputs that the state keeps encrypted. */
  secretOutputs: string[];
  /** Value whose change replaces the resource; undefined if it has none. */
  replacementTrigger: unknown;
}

/** What a run of a program registered, read and called. */
export interface Run {
  /** Resources, in the order of registration. */
  resources: RegisteredResource[];
  /** Resources that the program reads by `get`. */
  reads: { type: string; name: string; id: string; dependencies: string[] }[];
  /** Invokes and calls, by token. */
  calls: { token: string; inputs: unknown }[];
  /** The program's error. */
  error?: Error;
}

/** Options of a run. */
export interface RunOptions {
  preview?: boolean;
  project?: string;
  stack?: string;
  config?: Record<string, string>;
  secretKeys?: string[];
  /**
   * Outputs that a provider would add to a resource. Default: only the gate has any. In a preview they are
   * unknown.
   */
  outputs?: (resource: {
    type: string;
    name: string;
    inputs: Record<string, any>;
  }) => Record<string, any>;
  /** ID that a provider would give a resource. Default: made from its name. */
  ids?: (resource: {
    type: string;
    name: string;
    inputs: Record<string, any>;
  }) => string | undefined;
  /** Result of an invoke. Default: empty. */
  call?: (token: string, inputs: Record<string, any>) => Record<string, any>;
  /**
   * Whether only calls are recorded. A measurement needs this, since the records of a large cluster take time and
   * memory.
   */
  recordsCallsOnly?: boolean;
  /** Called with the run at its beginning, so that a test sees a run that never ends. */
  onStart?: (run: Run) => void;
}

class RecordingMonitor extends MockMonitor {
  public readonly recordedResources: RegisteredResource[] = [];

  public readonly recordedReads: Run["reads"] = [];

  public override async readResource(req: any, callback: any): Promise<void> {
    const dependencies = req.getDependenciesList() as string[];
    this.recordedReads.push({
      type: req.getType(),
      name: req.getName(),
      id: req.getId(),
      dependencies,
    });
    return super.readResource(req, callback);
  }

  public override async registerResource(req: any, callback: any): Promise<void> {
    const recorded: RegisteredResource = {
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
    this.recordedResources.push(recorded);
    return super.registerResource(req, (error: any, response: any) => {
      recorded.urn = response?.getUrn() ?? "";
      callback(error, response);
    });
  }
}

/**
 * Runs a program in this process, without Pulumi's CLI, against a monitor that records what the program registers.
 * The monitor does not diff, replace or delete. Its record has everything that the program registers, in order,
 * with all inputs.
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
  const recorder = options.recordsCallsOnly ? undefined : new RecordingMonitor(mocks);
  const monitor = recorder ?? new MockMonitor(mocks);
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
  const run: Run = {
    resources: recorder?.recordedResources ?? [],
    reads: recorder?.recordedReads ?? [],
    calls,
  };
  options.onStart?.(run);
  await pulumi.runtime.runInPulumiStack(async () => {
    try {
      return await program();
    } catch (error) {
      // Caught here, since elsewhere it would end the process as an unhandled rejection.
      run.error = error as Error;
      return undefined;
    }
  });
  await pulumi.runtime.disconnect();
  return run;
}
