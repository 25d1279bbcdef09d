import { KubernetesApi } from "../../components/clients/kubernetes/api";
import { diagnose, differences } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/system";
import { withoutAway } from "../../components/diagnosis/away";
import { inventoryOf } from "../../components/diagnosis/inventory";
import { withWhereabouts } from "../../components/diagnosis/whereabouts";
import { type Plan } from "../../components/recipe/index";
import type { Access, ClusterAccess } from "../reach/access";
import { observeCluster, type ClusterObservation } from "./observe/observe-cluster";
import { observeMachines } from "./observe/observe-machines";
import { foreignCluster, remarks } from "./remarks";
import { type DoctorReport, reportOf } from "./report";

/**
 * Reads the state of a cluster and its machines; changes nothing. `unseen` lists failed reads.
 *
 * @param addresses Talos API addresses by node name. Default: the internal addresses of the cluster's Talos nodes.
 * @param timeLimit Milliseconds after which reads without an answer end. If the user set a waiting time for machines,
 *   this time is the limit for machines.
 */
export async function observe(
  access: Access,
  addresses?: Record<string, string>,
  timeLimit = 55_000,
): Promise<ClusterObservation> {
  const end = performance.now() + timeLimit;
  // The credential plugin, the lists and the logs each have a share of the time.
  const clusterObservation = observeCluster(
    new KubernetesApi(access.kubeconfig, [], 0.2 * timeLimit),
    new Date(),
  );
  if (access.machines === undefined) return clusterObservation;
  const machineAddresses = addresses ?? (await clusterObservation).addresses;
  const limit =
    access.machines.patience === undefined ? { limit: 0.9 * (end - performance.now()) } : {};
  const [cluster, machines] = await Promise.all([
    clusterObservation,
    observeMachines(machineAddresses, { ...access.machines, ...limit }),
  ]);
  return {
    observations: { ...cluster.observations, machines: machines.machines },
    unseen: [...cluster.unseen, ...machines.unseen],
    leftOut: [...cluster.leftOut, ...machines.leftOut],
  };
}

/**
 * Examines a cluster: first its differences from the plan, then their known causes.
 *
 * @param timeLimit Milliseconds.
 */
export async function examine(
  access: ClusterAccess,
  plan: Plan | undefined,
  timeLimit: number,
): Promise<DoctorReport> {
  const addresses =
    plan && Object.fromEntries(plan.machines.map(({ name, address }) => [name, address]));
  const { observations, unseen, leftOut } = await observe(access, addresses, timeLimit);
  const foreignClusterProblem = plan && foreignCluster(plan, observations);
  const withoutAwayMachines =
    plan && foreignClusterProblem === undefined ? withoutAway(plan, observations) : undefined;
  // If the plan is of another cluster, everything differs, so a comparison would be useless.
  const judgedObservations =
    foreignClusterProblem === undefined ? (withoutAwayMachines?.observations ?? observations) : {};
  const expectedPlan =
    plan && withWhereabouts(withoutAwayMachines?.plan ?? plan, judgedObservations);
  const awayMachines = withoutAwayMachines?.away ?? [];
  const isOfAwayMachine = (line: string): boolean =>
    awayMachines.some((name) => line.startsWith(`machine ${name} `));
  return reportOf({
    system: systemOf(judgedObservations, expectedPlan),
    planned: plan !== undefined,
    differences: differences(judgedObservations, expectedPlan),
    findings: diagnose(judgedObservations, expectedPlan),
    inventory: inventoryOf(systemOf(judgedObservations, expectedPlan), judgedObservations),
    unseen: [
      ...unseen.filter((line) => !isOfAwayMachine(line)),
      ...(foreignClusterProblem === undefined ? [] : [foreignClusterProblem]),
    ],
    notes: [
      ...access.leftOut,
      ...leftOut,
      ...awayMachines.map(
        (name) => `machine ${name} does not answer and was not checked; its mayBeAway allows this`,
      ),
      ...remarks(judgedObservations, expectedPlan),
    ],
  });
}
