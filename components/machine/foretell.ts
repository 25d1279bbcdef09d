import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { hooksAreThere } from "../pulumi/hooks";
import {
  describeEffect,
  effectOf,
  effectOfLook,
  machineState,
  type MachineState,
  refusalOf,
} from "../recipe/effect";
import type { PlannedMachine } from "../recipe/machine/planned-machine";

/** Inputs and options by which a preview reports whether a machine reboots. */
export interface Foretelling {
  /** The wanted state of the machine: inputs of its component. */
  state: MachineState;
  /** Options of the machine's component. */
  component: pulumi.ComponentResourceOptions;
  /** Adds to the options of the program that may reboot it. */
  program(opts: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions;
}

/**
 * Makes a preview say whether the machine reboots. The engine hands the component's inputs as they were in the
 * stack's state, which nothing else of a program gets to see. A machine without changes is not mentioned. In the
 * update itself nothing is registered, so the state names no hook of ours.
 *
 * The component's inputs are in the state as soon as an update begins. Where that update failed, the next one of the
 * same stack file finds them unchanged; then the program's resource names the machine, since its inputs are recorded
 * only once it has succeeded.
 *
 * @param component returns the component, once it exists.
 */
export function foretell(
  name: string,
  machine: PlannedMachine,
  component: () => pulumi.Resource,
  opts: pulumi.ComponentResourceOptions = {},
): Foretelling {
  const state = machineState(machine);
  if (!pulumi.runtime.isDryRun() || !hooksAreThere("registerResourceHook"))
    return { state, component: opts, program: (given) => given };
  let isTold = false;
  const tell = (line: string, about: pulumi.Resource): void => {
    isTold = true;
    void pulumi.log.info(line, about);
  };
  const ofComponent = hook(`${name}-reboots`, ({ urn, oldInputs, oldOutputs }) => {
    const { word, refused } = foretold(
      machine.name,
      stateBefore(oldInputs),
      oldOutputs,
      state,
      machine.versionContract !== undefined,
    );
    tell(word, named(urn));
    if (refused !== undefined) throw new Error(refused);
  });
  const ofProgram = hook(`${name}-program-reboots`, () => {
    if (!isTold) tell(describeEffect(effectOfLook(state)), component());
  });
  return {
    state,
    component: hooked(opts, ofComponent),
    program: (given) => hooked(given, ofProgram),
  };
}

/**
 * Lines of a preview about a machine that the stack changes, and the reasons if the update would refuse the change.
 *
 * The engine writes the component's inputs at once, and its outputs only when it is done (pulumi,
 * pkg/resource/deploy/step.go, UpdateStep: of a component the new state has none). So inputs without outputs are of
 * an update that failed: the machine may be as before that update or as after it.
 *
 * @param before as the last update began it; undefined of a machine that is new.
 * @param outputs of the component, as the last update left them.
 * @param isContractSaid whether the stack has `versionContract` for the machine.
 */
export function foretold(
  node: string,
  before: MachineState | undefined,
  outputs: Record<string, unknown> | undefined,
  after: MachineState,
  isContractSaid = false,
): { word: string; refused?: string } {
  const runs = outputs?.["talosVersion"];
  const failed = before !== undefined && runs === undefined;
  const effect = failed ? effectOfLook(after) : effectOf(before, after);
  // After an update that failed, the preflight compares with what that one had planned.
  const refused = refusalOf(node, runs, after, failed ? undefined : before, isContractSaid);
  return { word: describeEffect(effect), ...(refused === undefined ? {} : { refused }) };
}

/**
 * Subject of a message about a resource that is just being registered. If Pulumi refuses it, the resource itself
 * never gets its name. The SDK holds back every later message of the process until it does (sdk/nodejs/log/index.ts,
 * `lastLog`): the program would not end, and the next one of a program that uses the Automation API would not end
 * either.
 */
const named = (urn: pulumi.URN): pulumi.Resource =>
  ({ urn: pulumi.output(urn) }) as pulumi.Resource;

/**
 * Of several inline programs in one process each has a store of its own, which the engine's call back would be
 * without.
 */
function hook(name: string, act: (args: pulumi.ResourceHookArgs) => void): pulumi.ResourceHook {
  return new pulumi.ResourceHook(name, AsyncResource.bind(act), { onDryRun: true });
}

function hooked<T extends pulumi.ResourceOptions>(opts: T, before: pulumi.ResourceHook): T {
  return pulumi.mergeOptions(opts, {
    hooks: { beforeCreate: [before], beforeUpdate: [before] },
  }) as T;
}

/** The state as it was; undefined of a machine that is new. */
const stateBefore = (inputs: Record<string, unknown> | undefined): MachineState | undefined =>
  inputs?.["rebootsIfChanged"] === undefined ? undefined : (inputs as unknown as MachineState);
