import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { hooksAreThere } from "../pulumi/hooks";
import {
  describeEffect,
  effectOf,
  effectOfInspection,
  machineState,
  type MachineState,
  refusalOf,
} from "../recipe/effect";
import type { PlannedMachine } from "../recipe/machine/planned-machine";

/** Inputs and options with which a preview reports whether a machine reboots. */
export interface UpdatePrediction {
  /** The wanted state of the machine: the inputs of the machine's component. */
  state: MachineState;
  /** Options of the machine's component. */
  component: pulumi.ComponentResourceOptions;
  /** Adds hooks to the options of the resource that runs the upgrade program, which may reboot the machine. */
  program(opts: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions;
}

/**
 * Makes a preview report whether the machine reboots. The engine passes the component's earlier inputs from the stack's
 * state to a hook; a program has no other way to read these inputs. The preview does not mention a machine without
 * changes. Only a preview registers hooks, so the state contains none.
 *
 * The engine writes the component's inputs into the state at the start of an update. If that update fails, the next
 * preview finds the component's inputs unchanged. Then the hook of the program's resource reports the machine, because
 * the engine writes this resource's inputs only after success.
 *
 * @param component returns the component, once it exists.
 */
export function hookPrediction(
  name: string,
  machine: PlannedMachine,
  component: () => pulumi.Resource,
  opts: pulumi.ComponentResourceOptions = {},
): UpdatePrediction {
  const state = machineState(machine);
  if (!pulumi.runtime.isDryRun() || !hooksAreThere("registerResourceHook"))
    return { state, component: opts, program: (programOpts) => programOpts };
  let isReported = false;
  const report = (line: string, resource: pulumi.Resource): void => {
    isReported = true;
    void pulumi.log.info(line, resource);
  };
  const componentHook = hook(`${name}-reboots`, ({ urn, oldInputs, oldOutputs }) => {
    const { word: effectText, refused } = predictUpdate(
      machine.name,
      stateBefore(oldInputs),
      oldOutputs,
      state,
      machine.versionContract !== undefined,
    );
    report(effectText, named(urn));
    if (refused !== undefined) throw new Error(refused);
  });
  const programHook = hook(`${name}-program-reboots`, () => {
    if (!isReported) report(describeEffect(effectOfInspection(state)), component());
  });
  return {
    state,
    component: withHook(opts, componentHook),
    program: (programOpts) => withHook(programOpts, programHook),
  };
}

/**
 * Lines of a preview about a changed machine, with the reasons if the update would refuse the change.
 *
 * The engine writes a component's inputs into the state at the beginning of an update, and the component's outputs only
 * at its end (pulumi, pkg/resource/deploy/step.go, UpdateStep). So inputs without outputs come from a failed update,
 * which may or may not have changed the machine.
 *
 * @param previousState wanted state at the start of the last update; undefined for a new machine.
 * @param outputs outputs of the component after the last update.
 * @param isContractStated whether the stack has `versionContract` for the machine.
 */
export function predictUpdate(
  node: string,
  previousState: MachineState | undefined,
  outputs: Record<string, unknown> | undefined,
  nextState: MachineState,
  isContractStated = false,
): { word: string; refused?: string } {
  const runningRelease = outputs?.["talosVersion"];
  const isFirstAttempt = previousState !== undefined && runningRelease === undefined;
  const effect = isFirstAttempt
    ? effectOfInspection(nextState)
    : effectOf(previousState, nextState);
  // After a failed update, the preflight compares with the plan of that update.
  const refused = refusalOf(
    node,
    runningRelease,
    nextState,
    isFirstAttempt ? undefined : previousState,
    isContractStated,
  );
  return { word: describeEffect(effect), ...(refused === undefined ? {} : { refused }) };
}

/**
 * A placeholder for a resource whose registration is not complete yet, as the subject of a message. If Pulumi refuses
 * the real resource, the resource's own URN never resolves. The SDK would then delay every later message of the process
 * forever (sdk/nodejs/log/index.ts, `lastLog`), and the program would never end. With the Automation API, the next
 * update of the same process would not end either.
 */
const named = (urn: pulumi.URN): pulumi.Resource =>
  ({ urn: pulumi.output(urn) }) as pulumi.Resource;

/**
 * A hook for previews. It runs `run` in the asynchronous store of the program that created the hook. Each inline
 * program of a process has its own store, and the engine calls a hook outside of these stores.
 */
function hook(name: string, run: (args: pulumi.ResourceHookArgs) => void): pulumi.ResourceHook {
  return new pulumi.ResourceHook(name, AsyncResource.bind(run), { onDryRun: true });
}

function withHook<T extends pulumi.ResourceOptions>(opts: T, hookToAdd: pulumi.ResourceHook): T {
  return pulumi.mergeOptions(opts, {
    hooks: { beforeCreate: [hookToAdd], beforeUpdate: [hookToAdd] },
  }) as T;
}

/** The earlier state; undefined for a new machine. */
const stateBefore = (inputs: Record<string, unknown> | undefined): MachineState | undefined =>
  inputs?.["rebootsIfChanged"] === undefined ? undefined : (inputs as unknown as MachineState);
