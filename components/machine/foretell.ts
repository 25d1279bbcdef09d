import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { describeEffect, effectOf, type MachineState } from "../recipe/effect";

/**
 * The options of a machine's component with what makes a preview say whether the machine reboots. The engine hands the
 * component's inputs as they were in the stack's state, which nothing else of a program gets to see. A machine of which
 * nothing changes is not told of. In the update itself nothing is registered, so the state names no hook of ours.
 *
 * @param component the component, once it is there.
 */
export function withForetelling(
  name: string,
  state: MachineState,
  component: () => pulumi.Resource,
  opts: pulumi.ComponentResourceOptions = {},
): pulumi.ComponentResourceOptions {
  if (!pulumi.runtime.isDryRun() || !knowsHooks()) return opts;
  // Of several inline programs in one process each has a store of its own, which the engine's call back would be without.
  const tell = AsyncResource.bind((args: pulumi.ResourceHookArgs): void => {
    void pulumi.log.info(describeEffect(effectOf(stateBefore(args.oldInputs), state)), component());
  });
  const hook = new pulumi.ResourceHook(`${name}-reboots`, tell, { onDryRun: true, ignoreErrors: true });
  return pulumi.mergeOptions(opts, { hooks: { beforeCreate: [hook], beforeUpdate: [hook] } });
}

/** Whether there is an engine that calls back: the SDK's mocks do not. */
function knowsHooks(): boolean {
  const monitor = pulumi.runtime.getMonitor() as { registerResourceHook?: unknown } | undefined;
  return typeof monitor?.registerResourceHook === "function";
}

/** The state as it was; undefined of a machine that is new, or that an earlier release of this package brought. */
function stateBefore(inputs: Record<string, unknown> | undefined): MachineState | undefined {
  return inputs?.["rebootsIfChanged"] === undefined ? undefined : (inputs as unknown as MachineState);
}
