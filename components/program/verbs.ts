import type { z } from "zod";
import { adopt, release } from "./adopt";
import { certificateFindings } from "../clients/certificates";
import { systemClock as clock } from "../clients/clock";
import { previousAnswer, readTask } from "./environment";
import { Failure, type FieldFinding } from "../clients/failure";
import { awaitTests } from "./gate/await-tests";
import type { KubernetesCluster } from "./cluster/cluster";
import { putBack } from "./cluster/put-back";
import { awaitFree } from "./cluster/runtime-class";
import { taint, type TaintTask, untaint } from "./cluster/taint";
import type { Clients } from "./clients";
import { applyToOmni, releaseFromOmni } from "./omni/apply";
import { waitForOmni } from "./omni/wait";
import { askForRoom, sizesOf } from "./preflight/boot-images";
import { askForRelease } from "./preflight/kubernetes-release";
import { preflight } from "./preflight/preflight";
import { askForSigner } from "./preflight/signer";
import { preflightResult, preflightTask } from "./preflight/task";
import { type Places, placesOf, RealWeb } from "./preflight/web";
import { releasesOf } from "./preflight/listed-releases";
import {
  adoptResult,
  adoptTask,
  freeTask,
  gateTask,
  omniTask,
  omniWaitTask,
  pulledImages,
  pullImagesTask,
  putBackTask,
  untaintTask,
  upgradeResult,
  upgradeTask,
} from "./task";
import { pullImages } from "./upgrade/kubernetes-images";
import type { UpgradeContext } from "./upgrade/run";
import { upgrade } from "./upgrade/upgrade";

type Credential = "talosconfig" | "kubeconfig";

/** A verb of the program. */
export interface Verb {
  /**
   * Whether the verb may end early if Pulumi has ended, as long as the verb has changed nothing (`Clients.touches`).
   */
  mayEnd: boolean;
  /**
   * @param input the verb's task as JSON.
   * @returns the verb's answer.
   */
  run: (input: string, clients: Clients) => Promise<unknown>;
}

type Run<Type extends z.ZodObject> = (task: z.infer<Type>, clients: Clients) => Promise<unknown>;

/**
 * @param neededCredentials credentials that must be usable before the verb begins. The verb ignores mistakes in other
 * credentials, except empty ones.
 */
function verb<Type extends z.ZodObject>(
  type: Type,
  neededCredentials: Credential[],
  run: Run<Type>,
  mayEnd = false,
): Verb {
  return {
    mayEnd,
    run: async (input, clients) => {
      const task = readTask(type, input);
      const problems = [
        ...unusableCredentials(neededCredentials, clients),
        ...expiredCredentials(neededCredentials, clients),
      ];
      if (problems.length > 0) throw new Failure(...problems);
      return run(task, clients);
    },
  };
}

/** Inputs and clients of a verb for one machine. */
const benchOf = ({ machine, address }: { machine: string; address: string }, clients: Clients) => ({
  machine: clients.machine(address),
  clock,
  report: clients.reportOf(machine),
});

const runOnConfiguration =
  (runTask: typeof adopt | typeof release): Run<typeof adoptTask> =>
  (task, clients) =>
    runTask(task, previousAnswer(adoptResult), {
      ...benchOf(task, clients),
      isAwaited: clients.isAwaited,
    });

const runInOmni =
  (runTask: typeof applyToOmni | typeof releaseFromOmni): Run<typeof omniTask> =>
  (task, clients) =>
    runTask(task, clients.omni, clients.reportOf(task.machine), clock);

/** The verbs, by name. */
export const verbs: ReadonlyMap<string, Verb> = new Map([
  ["preflight", verb(preflightTask, [], runPreflight, true)],
  ["upgrade", verb(upgradeTask, ["talosconfig", "kubeconfig"], runUpgrade, true)],
  ["adopt", verb(adoptTask, ["talosconfig"], runOnConfiguration(adopt))],
  ["release", verb(adoptTask, ["talosconfig"], runOnConfiguration(release))],
  ["untaint", verb(untaintTask, ["kubeconfig"], runUntaint)],
  ["await-free", verb(freeTask, ["kubeconfig"], runAwaitFree, true)],
  ["pull-images", verb(pullImagesTask, ["talosconfig"], runPullImages, true)],
  ["put-back", verb(putBackTask, [], runPutBack)],
  ["gate", verb(gateTask, [], runGate, true)],
  ["omni-apply", verb(omniTask, [], runInOmni(applyToOmni))],
  ["omni-release", verb(omniTask, [], runInOmni(releaseFromOmni))],
  ["omni-wait", verb(omniWaitTask, ["talosconfig"], runOmniWait, true)],
]);

/** Findings about unusable credentials. An empty credential is always reported, because it was passed by mistake. */
function unusableCredentials(
  neededCredentials: Credential[],
  { credentials }: Clients,
): FieldFinding[] {
  if (credentials.empty.length > 0) return [...credentials.empty];
  const problems = [
    neededCredentials.includes("talosconfig") ? credentials.talosconfigInUse().problem : undefined,
    neededCredentials.includes("kubeconfig") ? credentials.unreadableKubeconfig : undefined,
  ];
  return problems.filter((problem) => problem !== undefined);
}

/** Findings about credentials that have expired or are not valid yet. */
function expiredCredentials(
  neededCredentials: Credential[],
  { credentials }: Clients,
): FieldFinding[] {
  return certificateFindings(
    neededCredentials.includes("talosconfig") ? credentials.talosconfigInUse().text : undefined,
    neededCredentials.includes("kubeconfig") ? credentials.kubeconfig : undefined,
    new Date(),
  );
}

/**
 * Runs the preflight. The preflight reports credentials that have expired or are not valid yet together with all other
 * findings. It ends at once if a credential is missing or unreadable, because no check could then run.
 */
async function runPreflight(
  task: z.infer<typeof preflightTask>,
  clients: Clients,
): Promise<unknown> {
  const { env } = process;
  const { omni, report } = clients;
  const neededCredentials: Credential[] = [
    ...(task.machines.length > 0 ? ["talosconfig" as const] : []),
    ...(task.kubernetes ? ["kubeconfig" as const] : []),
  ];
  const unusableFindings = unusableCredentials(neededCredentials, clients);
  if (unusableFindings.length > 0) throw new Failure(...unusableFindings);
  const cluster = task.kubernetes ? clients.cluster() : undefined;
  // Fails without talosctl: otherwise no machine would answer, and the preflight would skip all of them.
  await clients.clientVersion();
  const context = {
    web: new RealWeb(clock, env),
    places: placesOf(env),
    omni,
    clock,
    report,
    cluster,
    machineAt: (address: string) => clients.machine(address),
    talosconfig: clients.credentials.talosconfigInUse().text,
    expired: expiredCredentials(neededCredentials, clients),
  };
  return preflight(task, context, previousAnswer(preflightResult));
}

async function runUpgrade(task: z.infer<typeof upgradeTask>, clients: Clients): Promise<unknown> {
  const cluster = clusterOf(task, clients);
  const others = new Map(
    task.otherControlPlanes.map((address) => [address, clients.machine(address)]),
  );
  const taint = tainting(task, cluster, clients);
  const clientVersion = await clients.clientVersion();
  const web = new RealWeb(clock, process.env);
  const places = placesOf(process.env);
  const bench = benchOf(task, clients);
  const context: UpgradeContext = {
    ...bench,
    others,
    cluster,
    clientVersion,
    releases: releasesOf(web, places, clients.report),
    askFactory: askingFactory(bench, web, places),
    touches: clients.touches,
    taint,
  };
  const answer = await upgrade(task, context, previousAnswer(upgradeResult));
  return { ...answer, ...(await taint()) };
}

/** Asks the Image Factory at most once about each step of an upgrade, because the precheck may look many times. */
function askingFactory(
  { machine, report }: Pick<UpgradeContext, "machine" | "report">,
  web: RealWeb,
  places: Places,
): NonNullable<UpgradeContext["askFactory"]> {
  const sizeOf = sizesOf(web, places);
  const answers = new Map<string, Promise<FieldFinding[]>>();
  return (next, image, release) => {
    const step = `${release} ${next.installerImage}`;
    const answer =
      answers.get(step) ??
      Promise.all([
        askForSigner(next, machine, image, { web, places, report }),
        askForRoom(next, image, release, [], sizeOf),
      ]).then((findings) => findings.flat());
    answers.set(step, answer);
    answer.catch(() => answers.delete(step));
    return answer;
  };
}

async function runOmniWait(task: z.infer<typeof omniWaitTask>, clients: Clients): Promise<unknown> {
  const taint = tainting(task, clusterOf(task, clients), clients);
  // Fails without talosctl: otherwise the program would wait for the machine without effect.
  await clients.clientVersion();
  const answer = await waitForOmni(task, { ...benchOf(task, clients), omni: clients.omni });
  return { ...answer, ...(await taint()) };
}

/**
 * The Kubernetes client for an upgrade; undefined without a kubeconfig. Throws if the machine's node gets taints and
 * there is no kubeconfig.
 */
const clusterOf = (task: TaintTask, clients: Clients): KubernetesCluster | undefined =>
  task.taints === undefined ? clients.cluster() : taintedCluster(task.machine, clients);

const taintedCluster = (machine: string, clients: Clients): KubernetesCluster =>
  clusterFor(
    clients,
    "a worker may not change its own taints, so the program sets them through the Kubernetes API",
    `machines.${machine}.taints`,
  );

/**
 * Gives a machine's node the stack's current taints, and records which taints are the stack's. Also removes the stack's
 * former taints, because the pods that start next, such as the smoke test, do not tolerate them.
 */
function tainting(
  task: TaintTask,
  cluster: KubernetesCluster | undefined,
  clients: Clients,
): () => Promise<object> {
  if (cluster === undefined) return () => Promise.resolve({});
  const previousTaints = previousAnswer(upgradeResult)?.taints;
  const report = clients.reportOf(task.machine);
  return async () => ({ taints: await taint(task, previousTaints, cluster, clock, report) });
}

async function runUntaint(
  { machine }: z.infer<typeof untaintTask>,
  clients: Clients,
): Promise<unknown> {
  const previousTaints = previousAnswer(upgradeResult)?.taints;
  await untaint(
    machine,
    previousTaints,
    taintedCluster(machine, clients),
    clock,
    clients.reportOf(machine),
  );
  return {};
}

async function runAwaitFree(task: z.infer<typeof freeTask>, clients: Clients): Promise<unknown> {
  const cluster = clients.cluster();
  if (cluster !== undefined) return awaitFree(task, cluster, clock, clients.report);
  clients.report(
    `no kubeconfig: not checked whether RuntimeClass ${task.runtimeClass} belongs to an operator`,
  );
  return {};
}

async function runPullImages(
  task: z.infer<typeof pullImagesTask>,
  clients: Clients,
): Promise<unknown> {
  // Fails without talosctl: otherwise no machine would answer, and the program would pull nothing.
  await clients.clientVersion();
  return pullImages(task, previousAnswer(pulledImages), {
    machine: (address) => clients.machine(address),
    reportOf: (machine) => clients.reportOf(machine),
    askKubernetes: async (kubeconfig, version, apiServers) => {
      const cluster = clients.clusterAt(kubeconfig);
      const step = { version, apiServers, ofControlPlanes: true, withAddons: true };
      return askForRelease(step, await cluster.nodes(), cluster, clients.report);
    },
    clock,
  });
}

async function runPutBack(task: z.infer<typeof putBackTask>, clients: Clients): Promise<unknown> {
  const why = "the program checks the stack's objects through the Kubernetes API";
  return putBack(task, clusterFor(clients, why), clients.report);
}

async function runGate(task: z.infer<typeof gateTask>, clients: Clients): Promise<unknown> {
  const why = "only the Kubernetes API shows whether the smoke tests have passed";
  return awaitTests(task, clusterFor(clients, why), clock, clients.report);
}

/**
 * The Kubernetes client of a verb that needs one.
 *
 * @throws Failure with the given field and reason if there is no kubeconfig.
 */
function clusterFor(clients: Clients, why: string, field = "kubeconfig"): KubernetesCluster {
  const cluster = clients.cluster();
  if (cluster !== undefined) return cluster;
  const remedy = "pass the kubeconfig, or set KUBECONFIG to its path";
  throw new Failure({ field, problem: "there is no kubeconfig", why, remedy });
}
