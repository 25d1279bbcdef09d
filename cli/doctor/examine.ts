import { KubernetesApi } from "../../components/clients/kubernetes/api";
import { diagnose, differences } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/system";
import { withoutAway } from "../../components/diagnosis/away";
import { inventoryOf } from "../../components/diagnosis/inventory";
import { withWhereabouts } from "../../components/diagnosis/whereabouts";
import { type Plan } from "../../components/recipe/index";
import type { Access, Looking } from "../reach/access";
import { observeCluster, type Seen } from "./observe/observe-cluster";
import { observeMachines } from "./observe/observe-machines";
import { foreignCluster, remarks } from "./remarks";
import { type DoctorReport, reportOf } from "./report";

/**
 * Reads the state of a cluster and its machines; changes nothing. `unseen` lists failed reads.
 *
 * @param addresses Talos API addresses by node name. Default: the internal addresses of the cluster's Talos nodes.
 * @param within Milliseconds after which it gives up on reads without an answer, except on a machine for which the user
 * set a wait.
 */
export async function observe(
  access: Access,
  addresses?: Record<string, string>,
  within = 55_000,
): Promise<Seen> {
  const end = performance.now() + within;
  // The credential plugin, the lists and the logs each have a share of the time.
  const seeing = observeCluster(new KubernetesApi(access.kubeconfig, [], 0.2 * within), new Date());
  if (access.machines === undefined) return seeing;
  const machineAddresses = addresses ?? (await seeing).addresses;
  const limit =
    access.machines.patience === undefined ? { limit: 0.9 * (end - performance.now()) } : {};
  const [cluster, machines] = await Promise.all([
    seeing,
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
 * @param within Milliseconds.
 */
export async function examine(
  looking: Looking,
  plan: Plan | undefined,
  within: number,
): Promise<DoctorReport> {
  const addresses =
    plan && Object.fromEntries(plan.machines.map(({ name, address }) => [name, address]));
  const { observations, unseen, leftOut } = await observe(looking, addresses, within);
  const foreign = plan && foreignCluster(plan, observations);
  const present = plan && foreign === undefined ? withoutAway(plan, observations) : undefined;
  // If the plan is of another cluster, everything differs, so a comparison would be useless.
  const judged = foreign === undefined ? (present?.seen ?? observations) : {};
  const expected = plan && withWhereabouts(present?.plan ?? plan, judged);
  const away = present?.away ?? [];
  const ofAway = (line: string): boolean =>
    away.some((name) => line.startsWith(`machine ${name} `));
  return reportOf({
    system: systemOf(judged, expected),
    planned: plan !== undefined,
    differences: differences(judged, expected),
    findings: diagnose(judged, expected),
    inventory: inventoryOf(systemOf(judged, expected), judged),
    unseen: [
      ...unseen.filter((line) => !ofAway(line)),
      ...(foreign === undefined ? [] : [foreign]),
    ],
    notes: [
      ...looking.leftOut,
      ...leftOut,
      ...away.map(
        (name) => `machine ${name} does not answer and was not checked; its mayBeAway allows this`,
      ),
      ...remarks(judged, expected),
    ],
  });
}
