import { shortHash } from "../../recipe/short-hash";
import { parseDuration, formatDuration } from "../../recipe/rules/duration";
import { foreignCredentials } from "../../clients/certificates";
import { LimitReached, waitFor, type Clock } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import { checkForOmni } from "../omni/check";
import type { Omni } from "../../clients/omni/server";
import type { Report } from "../progress";
import { sizesOf } from "./boot-images";
import { askForChart, askForInstallers } from "./sources";
import type { AskedNode, Cluster } from "../cluster/cluster";
import { askMachines, warnOfFailedUpdates } from "./machines";
import { remembered, reusedPlaceFindings } from "./memory";
import type { PreflightAnswer, PreflightResult, PreflightTask } from "./task";
import type { Places, Web } from "./web";
import { releasesOf } from "./listed-releases";
import { foreignOffers } from "./others";
import { askForRelease } from "./kubernetes-release";
import { answerOrReport, findingsOrReport } from "./or-report";
import { defined } from "../../recipe/mapping";
import { askForVolumes } from "./volumes";
import { warnOfMissingObjects } from "./needed";
import { type MachineSide, compareClusters } from "../seen/same-cluster";

/**
 * Greatest number of machines that the preflight asks, to find out to which cluster they belong. Usually at least one
 * of them answers.
 */
const WITNESSES = 3;

/** The calls to the kubeconfig's cluster that the preflight needs. */
export type AskedCluster = Pick<
  Cluster,
  | "server"
  | "authority"
  | "nodes"
  | "node"
  | "annotationOf"
  | "exists"
  | "boundClaims"
  | "storage"
  | "podsOfClass"
  | "gpuOffers"
  | "runtimeClass"
  | "apiServers"
  | "requestedApis"
  | "objectsAt"
>;

/** Clients of the preflight. */
export interface PreflightContext {
  web: Web;
  places: Places;
  /** Undefined without a kubeconfig: this stack then creates its cluster, or does not use Kubernetes. */
  cluster: AskedCluster | undefined;
  machineAt: (address: string) => Machine;
  /** Content of the talosconfig, which contains the name of its context; undefined if it is unknown. */
  talosconfig: string | undefined;
  /**
   * Findings about credentials that have expired or are not valid yet. The preflight skips checks that need these
   * credentials.
   */
  expired: FieldFinding[];
  omni: Omni;
  clock: Clock;
  report: Report;
}

/**
 * Checks, before the first reboot, everything that the update needs after it: chart and repository, installer images,
 * and the Kubernetes API. It also checks whether the credentials are for one cluster, and who owns the namespaces. For
 * each machine, it checks whether the machine is the node of its name, and what the machine would lose. Changes
 * nothing.
 *
 * @param previous answer of the last run; the preflight skips checks of unchanged parts.
 * @throws Failure with everything that is known to be missing; a check that is impossible is reported and skipped.
 */
export async function preflight(
  task: PreflightTask,
  context: PreflightContext,
  previous: PreflightResult | undefined,
): Promise<PreflightAnswer> {
  const { web, places, report } = context;
  const previousMachines = previous?.machines ?? {};
  report(
    "before any change, checks chart, images, Kubernetes and credentials, and whether a machine's next image would lose something",
  );
  const isValid = (credential: string): boolean =>
    !context.expired.some(({ field }) => field === credential);
  const machines = isValid("talosconfig") ? task.machines : [];
  const kubernetes = isValid("kubeconfig")
    ? askKubernetes({ ...task, machines }, context, previous)
    : noAnswer;
  const nodes = kubernetes.then(
    (answer) => answer.nodes ?? [],
    () => [], // `allFindings` has the error
  );
  const allFindings = await Promise.all([
    Promise.resolve(context.expired),
    Promise.resolve(reusedPlaceFindings(task, previousMachines)),
    askForChart(task, web, places, report),
    askForInstallers(task.installers, web, places, report),
    kubernetes.then(({ findings }) => findings),
    askMachines(machines, previousMachines, {
      ...context,
      nodes,
      releases: releasesOf(web, places, report),
      installers: (images) => askForInstallers(images, web, places, report),
      sizeOf: sizesOf(web, places),
    }),
    ...task.omni.map((machine) =>
      findingsOrReport(
        checkForOmni(machine, context.omni),
        report,
        (why) =>
          `${machine.machine}: Omni did not answer (${why}); the machine's own update asks again`,
      ),
    ),
  ]);
  const findings = allFindings.flat();
  if (findings.length > 0) throw new Failure(...findings);
  const { sameClusterHash, release } = await kubernetes;
  const { cluster } = context;
  if (cluster && (await nodes).length > 0)
    await warnOfFailedUpdates(machines, previousMachines, cluster, context);
  return { ...remembered(task, previousMachines), ...defined({ sameClusterHash, release }) };
}

/** Result of the checks that use Kubernetes. */
interface KubernetesAnswer {
  findings: FieldFinding[];
  /** Hash of talosconfig and kubeconfig; the field `sameClusterHash` of `preflightResult`. */
  sameClusterHash?: string;
  /** Hash of the checked settings; the field `release` of `preflightResult`. */
  release?: string | undefined;
  /** Nodes of the cluster; absent if Kubernetes did not list them. */
  nodes?: AskedNode[];
}

const noAnswer: Promise<KubernetesAnswer> = Promise.resolve({ findings: [] });

async function askKubernetes(
  task: PreflightTask,
  context: PreflightContext,
  previous: Pick<PreflightResult, "sameClusterHash" | "release"> | undefined,
): Promise<KubernetesAnswer> {
  const { cluster, clock, report } = context;
  if (cluster === undefined) return noAnswer;
  const limit = parseDuration(task.limit);
  let nodes: AskedNode[];
  try {
    nodes = await waitFor(clock, {
      subject: "the Kubernetes API",
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
    report(
      `Kubernetes at ${cluster.server}: the request failed, so the checks of the cluster are skipped (${lastLine(error)})`,
    );
    return noAnswer;
  }
  await warnOfClass(task, cluster, report);
  await warnOfOperatorsClass(task, cluster, report);
  await warnOfMissingObjects(task, cluster, report);
  const unknownText = (why: string): string =>
    `not known whether the update would replace volumes (${why})`;
  const step = task.release?.settingsHash === previous?.release ? undefined : task.release;
  const objects = [
    ...(step === undefined
      ? []
      : await findingsOrReport(
          askForRelease(step, nodes, cluster, report),
          report,
          (why) => `not known what Kubernetes ${step.version} changes in the cluster (${why})`,
        )),
    ...(await foreignNamespaces(task, cluster, report)),
    ...(await findingsOrReport(askForVolumes(task, cluster, report), report, unknownText)),
    ...(await findingsOrReport(
      waitFor(clock, {
        subject: "the GPU providers in the cluster",
        limit,
        poll: task.pollSeconds * 1_000,
        look: async () => ({ done: await foreignOffers(task, cluster, report) }),
      }),
      report,
      (why) => `not known whether another GPU provider runs in the cluster (${why})`,
    )),
  ];
  // The last run has already compared these credentials with the machines.
  const credentialsHash = shortHash(
    JSON.stringify([cluster.server, cluster.authority, context.talosconfig]),
    16,
  );
  const release = task.release?.settingsHash;
  if (credentialsHash === previous?.sameClusterHash)
    return { findings: objects, sameClusterHash: credentialsHash, release, nodes };
  const { verdict, findings } = await foreignKubeconfig(task, nodes, context);
  return {
    findings: [...objects, ...findings],
    release,
    nodes,
    ...(verdict === "yes" ? { sameClusterHash: credentialsHash } : {}),
  };
}

function unreachable(
  { drain }: PreflightTask,
  { server }: AskedCluster,
  limitText: string,
  report: Report,
): FieldFinding[] {
  if (!drain) {
    report(
      `Kubernetes at ${server}: no answer within ${limitText}; the update drains no machine, so it goes on`,
    );
    return [];
  }
  return [
    {
      field: "kubeconfig",
      problem: `the Kubernetes API at ${server} did not answer within ${limitText}`,
      why: "without Kubernetes, the update can drain no machine, and can install nothing after the reboots. It stopped before it changed anything",
      remedy:
        "check the URL, and that a control plane is up (`talosctl service kubelet`, `talosctl dmesg`), then run again. To reboot machines without a drain, set `upgrade.drain: false`",
    },
  ];
}

/**
 * Warns of other users' pods with a RuntimeClass for which no machine will have a handler. Such pods run only until
 * their machine reboots.
 */
async function warnOfClass(
  { removedRuntimeClass }: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<void> {
  if (removedRuntimeClass === undefined) return;
  const { name, exceptNamespace } = removedRuntimeClass;
  const unknownText = (why: string): string =>
    `not known whether other users' pods use RuntimeClass ${name} (${why})`;
  const pods = await answerOrReport([], cluster.podsOfClass(name), report, unknownText);
  const otherPods = pods.filter((pod) => !pod.startsWith(`${exceptNamespace}/`));
  const moreText = otherPods.length > 5 ? ` and ${otherPods.length - 5} more` : "";
  if (otherPods.length > 0)
    report(
      `warning: no machine will have a handler for RuntimeClass ${name}, which these pods use: ${otherPods.slice(0, 5).join(", ")}${moreText}; remove runtimeClassName from their manifests, or these pods cannot start again`,
    );
}

/**
 * Warns of an existing RuntimeClass that the operator takes over and later deletes (gpu-operator v26.3.3,
 * controllers/object_controls.go).
 */
async function warnOfOperatorsClass(
  { installs }: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<void> {
  if (installs?.field !== "gpuOperator") return;
  const unknownText = (why: string): string =>
    `not known whether RuntimeClass nvidia already exists (${why})`;
  const runtimeClass = await answerOrReport(
    undefined,
    cluster.runtimeClass("nvidia"),
    report,
    unknownText,
  );
  if (runtimeClass !== undefined && runtimeClass.policy === undefined)
    report(
      "warning: RuntimeClass nvidia already exists: the operator takes it over, and deletes it when the operator is uninstalled; other users of the class must then create it again",
    );
}

/**
 * Findings about namespaces whose owner annotation names another stack. A namespace without the annotation is no
 * finding here, because an older version of this package may have created it. The preview recognizes such a namespace
 * by Pulumi's state.
 */
async function foreignNamespaces(
  task: PreflightTask,
  cluster: AskedCluster,
  report: Report,
): Promise<FieldFinding[]> {
  const findings: FieldFinding[] = [];
  for (const name of task.namespaces) {
    const unknownText = (why: string): string =>
      `not known whether another stack made Namespace ${name} (${why})`;
    const owner = await answerOrReport(
      undefined,
      cluster.annotationOf(name, task.mark.annotation),
      report,
      unknownText,
    );
    if (owner === undefined || owner.startsWith(task.mark.valuePrefix)) continue;
    findings.push({
      field: "kubeconfig",
      problem: `Namespace ${name} was made by ${owner.split(" ")[0]!}`,
      why: "two stacks would change and delete the same objects, and the update would fail only after the reboots",
      remedy: "give one of the stacks another namespace, or destroy the other stack first",
    });
  }
  return findings;
}

async function foreignKubeconfig(
  task: PreflightTask,
  nodes: AskedNode[],
  context: PreflightContext,
): Promise<{ verdict: ReturnType<typeof compareClusters>; findings: FieldFinding[] }> {
  const { cluster, machineAt, report } = context;
  const machineSides = await Promise.all(
    task.machines.slice(0, WITNESSES).map(async ({ machine, address }): Promise<MachineSide[]> => {
      try {
        const talos = machineAt(address);
        const bootId = (await talos.bootId()).trim();
        const { active } = await talos.configurations();
        return [{ machine, address, bootId, configuration: active }];
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        return []; // `askMachines` asks it as well, and reports the error
      }
    }),
  );
  const machines = machineSides.flat();
  const verdict = compareClusters(machines, { authority: cluster!.authority, nodes });
  if (verdict === "unknown" && machines.length > 0)
    report("not known whether talosconfig and kubeconfig belong to one cluster");
  if (verdict !== "no") return { verdict, findings: [] };
  const someNodes = nodes.map(({ name }) => name).slice(0, 5);
  const machineTexts = machines.map(({ machine, address }) => `${machine} (${address})`);
  const findings = [
    {
      field: "kubeconfig",
      problem: `belongs to another cluster than the talosconfig. ${cluster!.server} has another certificate authority, and none of its nodes (${someNodes.join(", ")}) is a machine of the stack: ${machineTexts.join(", ")}`,
      why: "machines would reboot without a drain, and the update would install their GPU provider in another cluster",
      remedy:
        "fetch the machines' kubeconfig with `talosctl kubeconfig`, or use the talosconfig of the other cluster",
    },
  ];
  return { verdict, findings };
}
