import { shortHash } from "../../recipe/short-hash";
import { parseDuration, formatDuration } from "../../recipe/rules/duration";
import { foreignCredentials } from "../../clients/certificates";
import { LimitReached, waitFor, type Clock } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import { checkForOmni } from "../omni/check";
import type { Omni } from "../../clients/omni/server";
import type { Report } from "../progress";
import { askForChart, askForInstallers } from "./sources";
import type { AskedNode, Cluster } from "../cluster/cluster";
import { askMachines, warnOfCordons } from "./machines";
import { remembered, takenAway } from "./memory";
import type { PreflightAnswer, PreflightResult, PreflightTask } from "./task";
import type { Places, Web } from "./web";
import { releasesOf } from "./listed-releases";
import { foreignOffers } from "./others";
import { askForRelease } from "./kubernetes-release";
import { answerOr, orTold } from "./or-told";
import { defined } from "../../recipe/mapping";
import { lostVolumes } from "./volumes";
import { type MachineSide, ofOneCluster } from "../seen/same-cluster";

/** Machines that are asked of which cluster they are: one of them answers, as a rule. */
const WITNESSES = 3;

/** The cluster of the kubeconfig, as far as something is asked of it before machines are touched. */
export type AskedCluster = Pick<
  Cluster,
  | "server"
  | "authority"
  | "nodes"
  | "node"
  | "annotationOf"
  | "boundClaims"
  | "podsOfClass"
  | "gpuOffers"
  | "runtimeClass"
  | "apiServers"
  | "requestedApis"
  | "objectsAt"
>;

/** Clients that the questions go to. */
export interface Surroundings {
  web: Web;
  places: Places;
  /** Undefined without a kubeconfig: the stack makes its cluster, or Kubernetes is not asked. */
  cluster: AskedCluster | undefined;
  machineAt: (address: string) => Machine;
  /** Content of the talosconfig, for its context's name; undefined where it is not known. */
  talosconfig: string | undefined;
  /** Credentials that are not in force: a question with them is refused. */
  expired: FieldFinding[];
  omni: Omni;
  clock: Clock;
  report: Report;
}

/**
 * Asks for all that comes after the first reboot, before it: chart and repository, installer images, the Kubernetes
 * API; whether the credentials are for one cluster; who owns the namespaces; whether each machine is the node of its
 * name, and what it would lose. Changes nothing.
 *
 * @param previous answer of the last run: what has not changed since is not asked about again.
 * @throws Failure with everything that is known to be missing; what cannot be checked is reported and skipped.
 */
export async function preflight(
  task: PreflightTask,
  around: Surroundings,
  previous: PreflightResult | undefined,
): Promise<PreflightAnswer> {
  const { web, places, report } = around;
  const before = previous?.machines ?? {};
  report(
    "asks for what comes after the first reboot: chart, images, Kubernetes, credentials, what machines would lose",
  );
  const inForce = (credential: string): boolean =>
    !around.expired.some(({ field }) => field === credential);
  const machines = inForce("talosconfig") ? task.machines : [];
  const kubernetes = inForce("kubeconfig")
    ? askKubernetes({ ...task, machines }, around, previous)
    : noAnswer;
  const nodes = kubernetes.then(
    (answer) => answer.nodes ?? [],
    () => [], // `found` has the error
  );
  const found = await Promise.all([
    Promise.resolve(around.expired),
    Promise.resolve(takenAway(task, before)),
    askForChart(task, web, places, report),
    askForInstallers(task.installers, web, places, report),
    kubernetes.then(({ findings }) => findings),
    askMachines(machines, before, {
      ...around,
      nodes,
      releases: releasesOf(web, places, report),
      installers: (images) => askForInstallers(images, web, places, report),
    }),
    ...task.omni.map((machine) =>
      orTold(
        checkForOmni(machine, around.omni),
        report,
        (why) => `${machine.machine}: Omni was not asked (${why}); its own update asks again`,
      ),
    ),
  ]);
  const findings = found.flat();
  if (findings.length > 0) throw new Failure(...findings);
  const { together, release } = await kubernetes;
  const { cluster } = around;
  if (cluster && (await nodes).length > 0) await warnOfCordons(machines, before, cluster, report);
  return { ...remembered(task, before), ...defined({ together, release }) };
}

/** Findings of Kubernetes' part of the questions. */
interface KubernetesAnswer {
  findings: FieldFinding[];
  /** As in the result. */
  together?: string;
  /** As in the result. */
  release?: string | undefined;
  /** Nodes of the cluster; absent where they could not be had. */
  nodes?: AskedNode[];
}

const noAnswer: Promise<KubernetesAnswer> = Promise.resolve({ findings: [] });

async function askKubernetes(
  task: PreflightTask,
  around: Surroundings,
  previous: Pick<PreflightResult, "together" | "release"> | undefined,
): Promise<KubernetesAnswer> {
  const { cluster, clock, report } = around;
  if (cluster === undefined) return noAnswer;
  const limit = parseDuration(task.limit);
  let nodes: AskedNode[];
  try {
    nodes = await waitFor(clock, {
      what: "the Kubernetes API",
      limit,
      poll: task.pollSeconds * 1_000,
      look: async () => ({ done: await cluster.nodes() }),
      onMissing: (missing) =>
        report(
          `waits up to ${formatDuration(limit)} for the Kubernetes API at ${cluster.server}: ${missing}`,
        ),
    });
  } catch (error) {
    if (error instanceof LimitReached)
      return {
        findings: unreachable(
          task,
          cluster,
          `${formatDuration(limit)} (last: ${error.missing})`,
          report,
        ),
      };
    if (!(error instanceof CallError)) throw error;
    const foreign = foreignCredentials(error.message);
    if (foreign !== undefined) return { findings: [foreign] };
    report(`Kubernetes at ${cluster.server}: not asked (${lastLine(error)})`);
    return noAnswer;
  }
  await warnOfClass(task, cluster, report);
  await warnOfOperatorsClass(task, cluster, report);
  const unknown = (why: string): string =>
    `not known whether the update would replace volumes (${why})`;
  const step = task.release?.wanted === previous?.release ? undefined : task.release;
  const objects = [
    ...(step === undefined
      ? []
      : await orTold(
          askForRelease(step, nodes, cluster, report),
          report,
          (why) => `not known what Kubernetes ${step.version} changes in the cluster (${why})`,
        )),
    ...(await foreignNamespaces(task, cluster, report)),
    ...(await orTold(lostVolumes(task, cluster), report, unknown)),
    ...(await orTold(
      waitFor(clock, {
        what: "what gives out the cards",
        limit,
        poll: task.pollSeconds * 1_000,
        look: async () => ({ done: await foreignOffers(task, cluster, report) }),
      }),
      report,
      (why) => `not known whether something else in the cluster gives out the cards (${why})`,
    )),
  ];
  // Unchanged credentials belong to the same cluster as in the last check, so this check asks no machine again.
  const pair = shortHash(
    JSON.stringify([cluster.server, cluster.authority, around.talosconfig]),
    16,
  );
  const release = task.release?.wanted;
  if (pair === previous?.together) return { findings: objects, together: pair, release, nodes };
  const { verdict, findings } = await foreignKubeconfig(task, nodes, around);
  return {
    findings: [...objects, ...findings],
    release,
    nodes,
    ...(verdict === "yes" ? { together: pair } : {}),
  };
}

function unreachable(
  { drain }: PreflightTask,
  { server }: AskedCluster,
  within: string,
  report: Report,
): FieldFinding[] {
  if (!drain) {
    report(
      `Kubernetes at ${server}: no answer within ${within}; no machine is to be drained, so the update goes on`,
    );
    return [];
  }
  return [
    {
      field: "kubeconfig",
      problem: `the Kubernetes API at ${server} did not answer within ${within}`,
      why: "machines could not be drained, nor anything installed after their reboot, so nothing was changed",
      remedy:
        "see whether a control plane is up (`talosctl service kubelet`, `talosctl dmesg`) and whether the URL is right, then run again; to reboot machines without it, set upgrade.drain: false",
    },
  ];
}

/** Pods of others that name a RuntimeClass which no machine will know: they run on until their machine reboots. */
async function warnOfClass(
  { classGone }: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<void> {
  if (classGone === undefined) return;
  const { name, but } = classGone;
  const unknown = (why: string): string =>
    `not known whether pods of others name RuntimeClass ${name} (${why})`;
  const pods = await answerOr([], cluster.podsOfClass(name), report, unknown);
  const others = pods.filter((pod) => !pod.startsWith(`${but}/`));
  const more = others.length > 5 ? ` and ${others.length - 5} more` : "";
  if (others.length > 0)
    report(
      `warning: no machine will have a handler for RuntimeClass ${name}, which ${others.slice(0, 5).join(", ")}${more} name: take runtimeClassName out of them, else they do not start again`,
    );
}

/**
 * A RuntimeClass that the operator makes its own: it then goes with the operator (gpu-operator v26.3.3,
 * controllers/object_controls.go).
 */
async function warnOfOperatorsClass(
  { installs }: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<void> {
  if (installs?.field !== "gpuOperator") return;
  const unknown = (why: string): string =>
    `not known whether RuntimeClass nvidia is in the cluster already (${why})`;
  const found = await answerOr(undefined, cluster.runtimeClass("nvidia"), report, unknown);
  if (found !== undefined && found.policy === undefined)
    report(
      "warning: RuntimeClass nvidia is in the cluster already: the operator takes it over, and deletes it when it is uninstalled; whatever else needs it must then create it again",
    );
}

/**
 * Namespaces with the mark of another stack. One without a mark may be from an earlier version of this stack: the
 * preview knows it by the state.
 */
async function foreignNamespaces(
  task: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<FieldFinding[]> {
  const found: FieldFinding[] = [];
  for (const name of task.namespaces) {
    const unknown = (why: string): string =>
      `not known whether another stack made Namespace ${name} (${why})`;
    const owner = await answerOr(
      undefined,
      cluster.annotationOf(name, task.mark.annotation),
      report,
      unknown,
    );
    if (owner === undefined || owner.startsWith(task.mark.ours)) continue;
    found.push({
      field: "kubeconfig",
      problem: `Namespace ${name} was made by ${owner.split(" ")[0]!}`,
      why: "two stacks would change and delete the same objects, which the update would find out after the reboots",
      remedy: "give one of the stacks another namespace, or take the other one down first",
    });
  }
  return found;
}

async function foreignKubeconfig(
  task: PreflightTask,
  nodes: AskedNode[],
  around: Surroundings,
): Promise<{ verdict: ReturnType<typeof ofOneCluster>; findings: FieldFinding[] }> {
  const { cluster, machineAt, report } = around;
  const seen = await Promise.all(
    task.machines.slice(0, WITNESSES).map(async ({ machine, address }): Promise<MachineSide[]> => {
      try {
        const ask = machineAt(address);
        const bootId = (await ask.bootId()).trim();
        const { active } = await ask.configurations();
        return [{ machine, address, bootId, configuration: active }];
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        return []; // asked for its losses it says why
      }
    }),
  );
  const machines = seen.flat();
  const verdict = ofOneCluster(machines, { authority: cluster!.authority, nodes });
  if (verdict === "unknown" && machines.length > 0)
    report("not known from here whether talosconfig and kubeconfig are of one cluster");
  if (verdict !== "no") return { verdict, findings: [] };
  const someNodes = nodes.map(({ name }) => name).slice(0, 5);
  const ours = machines.map(({ machine, address }) => `${machine} (${address})`);
  const findings = [
    {
      field: "kubeconfig",
      problem: `it is of another cluster than the talosconfig: ${cluster!.server} has the nodes ${someNodes.join(", ")}, none of which is ${ours.join(", ")}, and another certificate authority`,
      why: "machines would reboot without a drain, and what belongs on them would be installed in another cluster",
      remedy:
        "fetch the machines' own (`talosctl kubeconfig`) and give it, or the talosconfig of the other cluster",
    },
  ];
  return { verdict, findings };
}
