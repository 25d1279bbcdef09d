import type { z } from "zod";
import { mergeConfiguration, unmergeConfiguration } from "../../recipe/merge";
import { adopt, release, type Merger } from "./adopt";
import { certificateFindings } from "../../clients/certificates";
import { systemClock } from "../../clients/clock";
import { previousAnswer, readable, readTask } from "./environment";
import { Failure, type Problem } from "../../clients/failure";
import { awaitTests } from "./gate/await-tests";
import type { KubernetesCluster } from "./kubernetes/cluster";
import { putBack } from "./kubernetes/put-back";
import { awaitFree } from "./kubernetes/runtime-class";
import { dropTaints, ownTaints, taint, untaint } from "./kubernetes/taint";
import type { Clients } from "./clients";
import { applyToOmni, releaseFromOmni } from "./omni/apply";
import { waitForOmni } from "./omni/wait";
import { preflight } from "./preflight/preflight";
import { preflightResult, preflightTask } from "./preflight/task";
import { placesOf, RealWeb } from "./preflight/web";
import {
  adoptResult,
  adoptTask,
  freeTask,
  gateTask,
  omniTask,
  omniWaitTask,
  putBackTask,
  taintResult,
  taintTask,
  upgradeResult,
  upgradeTask,
} from "./task";
import { upgrade } from "./upgrade/upgrade";

type Credential = "talosconfig" | "kubeconfig";

/** What a verb is, apart from its task. */
interface Doing<Task extends z.ZodObject> {
  /** Credentials that have to be in force before it begins. Default none: it says itself what is wrong with them. */
  needs?: Credential[];
  /** Whether it may end where Pulumi is gone, as long as it has not said that it changes something (`Clients.touches`). Default false. */
  mayEnd?: boolean;
  run: (task: z.infer<Task>, clients: Clients) => Promise<unknown>;
}

/** A verb of the program. */
export interface Verb {
  /** Whether it may end where Pulumi is gone, before it changes something. */
  mayEnd: boolean;
  /** @param input its task as JSON. @returns its answer. */
  run: (input: string, clients: Clients) => Promise<unknown>;
}

const merger: Merger = { merge: mergeConfiguration, unmerge: unmergeConfiguration };

/** The verbs, by name. */
export const verbs: ReadonlyMap<string, Verb> = new Map([
  ["preflight", verb(preflightTask, { mayEnd: true, run: runPreflight })],
  [
    "upgrade",
    verb(upgradeTask, {
      needs: ["talosconfig", "kubeconfig"],
      mayEnd: true,
      run: runUpgrade,
    }),
  ],
  ["adopt", verb(adoptTask, { needs: ["talosconfig"], run: configurationBy(adopt) })],
  ["release", verb(adoptTask, { needs: ["talosconfig"], run: configurationBy(release) })],
  ["taint", verb(taintTask, { needs: ["kubeconfig"], run: taintsBy(taint) })],
  ["untaint", verb(taintTask, { needs: ["kubeconfig"], run: taintsBy(untaint) })],
  ["await-free", verb(freeTask, { needs: ["kubeconfig"], mayEnd: true, run: waitUntilFree })],
  [
    "put-back",
    verb(putBackTask, {
      run: async (task, clients) =>
        putBack(task, clusterOf(clients, "the program looks for the stack's objects"), clients.report),
    }),
  ],
  [
    "gate",
    verb(gateTask, {
      mayEnd: true,
      run: async (task, clients) => {
        const cluster = clusterOf(clients, "the program sees whether the smoke tests passed");
        return awaitTests(task, cluster, systemClock, clients.report);
      },
    }),
  ],
  [
    "omni-apply",
    verb(omniTask, { run: (task, clients) => applyToOmni(task, clients.omni, clients.reportOf(task.machine)) }),
  ],
  [
    "omni-release",
    verb(omniTask, {
      run: (task, clients) => releaseFromOmni(task, clients.omni, systemClock, clients.reportOf(task.machine)),
    }),
  ],
  ["omni-wait", verb(omniWaitTask, { needs: ["talosconfig"], mayEnd: true, run: runOmniWait })],
]);

function verb<Task extends z.ZodObject>(type: Task, { needs = [], mayEnd = false, run }: Doing<Task>): Verb {
  return {
    mayEnd,
    run: async (input, clients) => {
      const task = readTask(type, input);
      const expired = expiredOf(needs, clients);
      if (expired.length > 0) throw new Failure(...expired);
      return run(task, clients);
    },
  };
}

/** What is wrong with credentials whose time is over, or has not come. */
function expiredOf(needs: Credential[], { talosconfig, kubeconfig }: Clients): Problem[] {
  return certificateFindings(
    needs.includes("talosconfig") ? (talosconfig ?? readable("TALOSCONFIG")) : undefined,
    needs.includes("kubeconfig") ? kubeconfig : undefined,
    new Date(),
  );
}

/** Credentials that are not in force are told with all else that is missing. */
async function runPreflight(task: z.infer<typeof preflightTask>, clients: Clients): Promise<unknown> {
  const { env } = process;
  const { omni, report } = clients;
  const cluster = clients.cluster();
  await clients.clientVersion(); // without talosctl no machine would answer, and a machine that does not answer is let pass
  const needs: Credential[] = [
    ...(task.machines.length > 0 ? ["talosconfig" as const] : []),
    ...(task.kubernetes ? ["kubeconfig" as const] : []),
  ];
  const around = {
    ...{
      web: new RealWeb(systemClock, env),
      places: placesOf(env),
      omni,
      machineAt: clients.machine,
      clock: systemClock,
      report,
    },
    cluster: task.kubernetes ? cluster : undefined,
    talosconfig: clients.talosconfig ?? readable("TALOSCONFIG"),
    expired: expiredOf(needs, clients),
  };
  return preflight(task, around, previousAnswer(preflightResult));
}

async function runUpgrade(task: z.infer<typeof upgradeTask>, clients: Clients): Promise<unknown> {
  const { machine } = clients;
  const cluster = clients.cluster();
  const bench = {
    machine: machine(task.address),
    others: new Map(task.otherControlPlanes.map((address) => [address, machine(address)])),
    cluster,
    clientVersion: await clients.clientVersion(),
    clock: systemClock,
    report: clients.reportOf(task.machine),
    touches: clients.touches,
  };
  const previous = previousAnswer(upgradeResult);
  const answer = await upgrade(task, bench, previous);
  return withoutOldTaints(answer, task, previous?.taints, cluster, clients);
}

async function runOmniWait(task: z.infer<typeof omniWaitTask>, clients: Clients): Promise<unknown> {
  await clients.clientVersion(); // without talosctl nothing could end the wait for the machine
  const work = {
    omni: clients.omni,
    machine: clients.machine(task.address),
    clock: systemClock,
    report: clients.reportOf(task.machine),
  };
  const answer = await waitForOmni(task, work);
  return withoutOldTaints(answer, task, previousAnswer(upgradeResult)?.taints, clients.cluster(), clients);
}

/** The answer of a machine that is done, once its node is rid of the taints that the stack no longer wants. */
async function withoutOldTaints(
  answer: object,
  task: Parameters<typeof dropTaints>[0],
  before: Parameters<typeof dropTaints>[1],
  cluster: KubernetesCluster | undefined,
  { reportOf }: Clients,
): Promise<object> {
  await dropTaints(task, before, cluster, systemClock, reportOf(task.machine));
  return { ...answer, taints: task.taints && (await ownTaints(task, before, cluster, systemClock)) };
}

function configurationBy(act: typeof adopt | typeof release): Doing<typeof adoptTask>["run"] {
  return async (task, { machine, reportOf, isAwaited }) =>
    act(task, previousAnswer(adoptResult), {
      machine: machine(task.address),
      merger,
      clock: systemClock,
      report: reportOf(task.machine),
      isAwaited,
    });
}

function taintsBy(act: typeof taint | typeof untaint): Doing<typeof taintTask>["run"] {
  return async (task, clients) => {
    const cluster = clients.cluster();
    const previous = previousAnswer(taintResult);
    if (cluster !== undefined) return act(task, previous, cluster, systemClock, clients.reportOf(task.machine));
    const why = "a worker may not change its own taints, so they go through the Kubernetes API";
    throw withoutKubeconfig(`machines.${task.machine}.taints`, "there is no kubeconfig", why);
  };
}

async function waitUntilFree(task: z.infer<typeof freeTask>, { cluster, report }: Clients): Promise<unknown> {
  const kubernetes = cluster();
  if (kubernetes !== undefined) return awaitFree(task, kubernetes, systemClock, report);
  report(`no kubeconfig: whether RuntimeClass ${task.runtimeClass} is an operator's is not looked at`);
  return {};
}

/** @param why what goes through the Kubernetes API. */
function clusterOf(clients: Clients, why: string): KubernetesCluster {
  const cluster = clients.cluster();
  if (cluster === undefined)
    throw withoutKubeconfig("kubeconfig", "there is none", `${why} through the Kubernetes API`);
  return cluster;
}

function withoutKubeconfig(field: string, problem: string, why: string): Failure {
  return new Failure({ field, problem, why, remedy: "give the kubeconfig, or name its file by KUBECONFIG" });
}
