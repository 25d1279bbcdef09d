import { checkCluster, type ClusterSpec } from "../../components/recipe/index";
import { charts } from "../../components/recipe/facts/data/charts";
import {
  type GpuProviderField,
  gpuProviderFields,
  gpuProviderOfChart,
  gpuProviderOfField,
} from "../../components/recipe/facts/gpu-provider";
import { MANAGER } from "../../components/clients/kubernetes/manager";
import type { SeenCluster, SeenRelease } from "./seen";

type Note = (path: string, text: string) => void;

/**
 * The GPU provider of the stack: the installed one, else the newest release that is in the tables and passes the
 * checks.
 *
 * @param base the stack without a GPU provider.
 */
export function exposureOf(
  base: ClusterSpec,
  { releases, machines }: SeenCluster,
  note: Note,
): Partial<ClusterSpec> {
  const [firstRelease, ...otherReleases] = [...releases].sort((a, b) =>
    a.chart.localeCompare(b.chart),
  );
  if (firstRelease !== undefined) {
    const { field } = gpuProviderOfChart(firstRelease.chart);
    const version = firstRelease.version ?? releasesOf(field)[0]!;
    for (const otherRelease of otherReleases)
      note(
        isManagedByOthers(firstRelease, machines) ? "external" : field,
        `${otherRelease.chart} is also installed, in ${otherRelease.namespace}: remove one of the two`,
      );
    if (isManagedByOthers(firstRelease, machines)) return externalSpec(firstRelease, field, note);
    note(
      field,
      `${firstRelease.chart} ${version} is installed in ${firstRelease.namespace}, probably by a stack`,
    );
    return { [field]: { version, namespace: firstRelease.namespace } };
  }
  const newestProvider = newestExposure(base, ["gpuOperator", "devicePlugin"]);
  const machinesWithOffers = machines.filter(({ offers = [] }) => offers.length > 0);
  const resources = [...new Set(machinesWithOffers.flatMap(({ offers = [] }) => offers))];
  note(
    newestProvider.devicePlugin ? "devicePlugin" : "gpuOperator",
    machinesWithOffers.length === 0
      ? "no node offers GPUs yet; this is the newest release that the checks accept for these machines"
      : `${resources.join(" and ")} is already allocatable on ${machinesWithOffers.map(({ name }) => name).join(", ")}, but none of NVIDIA's charts is installed. Find the provider of this resource (\`kubectl get daemonsets -A\`). To keep that provider, declare it as external. Otherwise remove that provider right before the first update, because the stack installs the release below. This is the newest release that the checks accept for these machines`,
  );
  return newestProvider;
}

/** Releases of a chart in the tables, newest first. */
const releasesOf = (kind: GpuProviderField): string[] =>
  charts
    .filter(({ chart }) => chart === gpuProviderOfField(kind).chart)
    .map(({ version }) => version)
    .toReversed();

/**
 * The newest release that is in the tables and passes a stack's checks. If none passes the checks, the newest release
 * in the tables.
 *
 * @param base the stack without a GPU provider.
 * @param kinds GPU providers, in the order in which they are tried.
 */
export function newestExposure(
  base: ClusterSpec,
  kinds: readonly GpuProviderField[],
): Pick<ClusterSpec, GpuProviderField> {
  const candidates = kinds.flatMap((kind) =>
    releasesOf(kind).map((version) => ({ [kind]: { version } })),
  );
  const fittingExposure = candidates.find((exposure) =>
    checkCluster({ ...base, ...exposure }).every(
      ({ field }) =>
        !gpuProviderFields.some((gpuProviderField) => field.startsWith(gpuProviderField)),
    ),
  );
  return fittingExposure ?? candidates[0]!;
}

/** Whether a release is external: another tool manages it, or no stack has labelled a node. */
function isManagedByOthers({ by }: SeenRelease, machines: SeenCluster["machines"]): boolean {
  const managers = machines.flatMap(({ labelManagers = {} }) =>
    Object.values(labelManagers).flat(),
  );
  return (
    by !== undefined ||
    !managers.some((manager) => manager.startsWith(MANAGER) || manager.startsWith("pulumi"))
  );
}

/** The stack's field `external` for an installed GPU provider that another tool manages. */
function externalSpec(
  { chart, version, name, namespace, by }: SeenRelease,
  kind: GpuProviderField,
  note: Note,
): Partial<ClusterSpec> {
  const owner = by ?? (name === undefined ? "a tool other than Helm" : `Helm, as release ${name}`);
  note(
    "external",
    `${chart} ${version ?? "of an unknown release"} is installed in ${namespace} by ${owner}, and the stack does not change it`,
  );
  note(
    "external",
    by === undefined
      ? `if the stack should check its values, run \`helm -n ${namespace} get values ${name ?? "RELEASE"} > values.yaml\` and write files: [values.yaml]. To let the stack take the release over, see docs/use.md#take-a-release-over`
      : `if the stack should check its values, list the manifests of ${by} under files: ${by === "Flux" ? "the HelmRelease, and the OCIRepository or HelmRepository" : "the Application and its values files"}`,
  );
  return { external: { kind, namespace, ...(version === undefined ? {} : { version }) } };
}
