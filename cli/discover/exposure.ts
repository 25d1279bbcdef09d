import { checkCluster, type ClusterSpec } from "../../components/recipe/index";
import { charts } from "../../components/recipe/facts/data/charts";
import {
  type GpuProviderField,
  gpuProviderFields,
  gpuProviderOfChart,
  gpuProviderOfField,
} from "../../components/recipe/facts/gpu-provider";
import { MANAGER } from "../../components/clients/kubernetes/manager";
import type { Seen, SeenRelease } from "./seen";

type Note = (path: string, text: string) => void;

/** The GPU provider: the installed one, else the newest of the tables that the checks accept.
 *
 * @param base the stack without it.
 */
export function exposureOf(
  base: ClusterSpec,
  { releases, machines }: Seen,
  note: Note,
): Partial<ClusterSpec> {
  const [there, ...others] = [...releases].sort((a, b) => a.chart.localeCompare(b.chart));
  if (there !== undefined) {
    const { field } = gpuProviderOfChart(there.chart);
    const version = there.version ?? releasesOf(field)[0]!;
    for (const other of others)
      note(
        isOthers(there, machines) ? "external" : field,
        `${other.chart} is installed as well, in ${other.namespace}: one of the two must go`,
      );
    if (isOthers(there, machines)) return external(there, field, note);
    note(
      field,
      `${there.chart} ${version} is installed in ${there.namespace}, by a stack as it seems`,
    );
    return { [field]: { version, namespace: there.namespace } };
  }
  const fits = newestExposure(base, ["gpuOperator", "devicePlugin"]);
  const offering = machines.filter(({ offers = [] }) => offers.length > 0);
  const resources = [...new Set(offering.flatMap(({ offers = [] }) => offers))];
  note(
    fits.devicePlugin ? "devicePlugin" : "gpuOperator",
    offering.length === 0
      ? "nothing offers GPUs yet; this is the newest release that is known to fit"
      : `something offers ${resources.join(" and ")} on ${offering.map(({ name }) => name).join(", ")} already, and it is none of NVIDIA's charts: find it (\`kubectl get daemonsets -A\`), and declare it as external if it stays; or remove it right before the first update, since the stack installs its own; this is the newest release that is known to fit`,
  );
  return fits;
}

/** Releases of a chart that the tables have, newest first. */
const releasesOf = (kind: GpuProviderField): string[] =>
  charts
    .filter(({ chart }) => chart === gpuProviderOfField(kind).chart)
    .map(({ version }) => version)
    .toReversed();

/**
 * The newest release of the tables that the checks take for a stack; where they take none, the newest at all.
 *
 * @param base the stack without it.
 * @param kinds in the order in which they are tried.
 */
export function newestExposure(
  base: ClusterSpec,
  kinds: readonly GpuProviderField[],
): Pick<ClusterSpec, GpuProviderField> {
  const candidates = kinds.flatMap((kind) =>
    releasesOf(kind).map((version) => ({ [kind]: { version } })),
  );
  const fits = candidates.find((exposure) =>
    checkCluster({ ...base, ...exposure }).every(
      ({ field }) => !gpuProviderFields.some((one) => field.startsWith(one)),
    ),
  );
  return fits ?? candidates[0]!;
}

/** Whether a release is external: no stack has labelled a node, or another tool keeps it. */
function isOthers({ by }: SeenRelease, machines: Seen["machines"]): boolean {
  const managers = machines.flatMap(({ labelManagers = {} }) =>
    Object.values(labelManagers).flat(),
  );
  return (
    by !== undefined ||
    !managers.some((manager) => manager.startsWith(MANAGER) || manager.startsWith("pulumi"))
  );
}

/** The external GPU provider, which keeps its owner. */
function external(
  { chart, version, name, namespace, by }: SeenRelease,
  kind: GpuProviderField,
  note: Note,
): Partial<ClusterSpec> {
  const owner =
    by ?? (name === undefined ? "something that is not Helm" : `Helm, as release ${name}`);
  note(
    "external",
    `${chart} ${version ?? "of an unknown version"} is installed in ${namespace} by ${owner}; the stack leaves it as it is`,
  );
  note(
    "external",
    by === undefined
      ? `give its values, so that they are checked: \`helm -n ${namespace} get values ${name ?? "RELEASE"} > values.yaml\`, and files: [values.yaml]; docs/use.md#take-a-release-over says how the stack takes the release over`
      : `list under files the manifests from which ${by} installs it, so that its values are checked: ${by === "Flux" ? "HelmRelease, and OCIRepository or HelmRepository" : "Application, and its files of values"}`,
  );
  return { external: { kind, namespace, ...(version === undefined ? {} : { version }) } };
}
