import type * as command from "@pulumi/command";
import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { answerOf, runProgram } from "../machine/program-resource";
import { gateResult, type GateTask } from "../program/task";
import { defined } from "../recipe/mapping";
import type { KubernetesRecipe, MachineRecipe } from "../recipe/types";
import { resourceOf } from "./smoke-test";
import { outlasting } from "./timeouts";

/** A machine with GPUs, and its smoke test. */
export interface SmokeTest {
  machine: MachineRecipe;
  job: k8s.batch.v1.Job;
}

/** The smoke tests that the gate waits for, and the time limit of the wait. */
export interface Tests {
  recipe: KubernetesRecipe;
  /** The tests of all GPU machines, except those that are away. */
  smokeTests: SmokeTest[];
  /** Seconds. */
  limit: number;
  secrets: Secrets;
  /**
   * Whether a test counts as failed if no GPU resource unit becomes free for it within the limit. Default: false; the
   * machine then counts as untested.
   */
  mustPass?: boolean;
  /** When upgrades left nodes cordoned for their tests, by node name. Default: none. */
  cordonedAt?: Map<string, pulumi.Output<string>> | undefined;
  /** Text whose change makes the gate run again. Default none. */
  reconcileToken?: string | undefined;
  /** Resources that restore objects before the gate runs. Default: none. */
  putBack?: pulumi.Resource | undefined;
}

/**
 * Share of the limit during which a test waits while other pods use all units. It is small, because most such pods do
 * not end during an update.
 */
const PATIENCE = 1 / 10;

/**
 * The gate: a resource that waits for the smoke tests, and on which the workloads depend. It runs the machine program,
 * and runs again when a test is replaced, and when a machine goes away or comes back. If other pods use all units of a
 * machine, the machine stays untested and the update warns.
 */
export function testsPassed(
  name: string,
  {
    recipe,
    smokeTests,
    limit,
    secrets,
    mustPass = false,
    cordonedAt,
    reconcileToken,
    putBack,
  }: Tests,
  { parent }: pulumi.CustomResourceOptions,
): command.local.Command {
  const createdJobs = smokeTests.map(({ machine, job: { metadata } }) =>
    pulumi.output({
      job: metadata.name,
      uid: metadata.uid,
      ...defined({ cordonedAt: cordonedAt?.get(machine.name) }),
    }),
  );
  const task = pulumi.all(createdJobs).apply((jobs) =>
    JSON.stringify({
      namespace: recipe.namespace,
      tests: jobs.map((job, index) => {
        const { machine } = smokeTests[index]!;
        const resource = resourceOf(recipe, machine);
        // If only a minimum is known, the gate accepts any number that the node offers.
        const units = machine.atLeast?.includes(resource)
          ? undefined
          : machine.allocatable[resource];
        return {
          machine: machine.name,
          ...job,
          resource,
          ...(units === undefined ? {} : { units }),
        };
      }),
      limit: `${limit}s`,
      patience: `${Math.ceil(limit * PATIENCE)}s`,
      ...(mustPass ? { mustPass } : {}),
    } satisfies Omit<GateTask, "pollSeconds">),
  );
  const neededCredentials = ["kubeconfig"] as const;
  const programUse = {
    verb: "gate",
    task,
    neededCredentials,
    secrets,
    limit: outlasting(limit).create,
    reconcileToken,
    forgets: true,
  };
  const dependsOn = [...smokeTests.map(({ job }) => job), ...(putBack ? [putBack] : [])];
  const gate = runProgram(`${name}-gate`, programUse, { ...(parent && { parent }), dependsOn });
  untested(gate).apply((untestedMachines) => {
    for (const [machine, why] of Object.entries(untestedMachines)) {
      const effect =
        "its cards were not tested, because a smoke test never evicts pods; the test runs again at the next change of the machine or of the GPU provider";
      void pulumi.log.warn(`machines.${machine}: ${why}; ${effect}`, gate);
    }
  });
  return gate;
}

/** Machines that could not be tested, with the reason. */
export const untested = (gate: command.local.Command): pulumi.Output<Record<string, string>> =>
  answerOf(gate, (answer) => gateResult.parse(answer).untested);
