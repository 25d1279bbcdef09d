import { checkCluster, type ClusterSpec } from "../../components/recipe/index";
import { charts } from "../../components/recipe/facts/data/charts";
import type { Seen } from "./seen";

/** Comments on a field of the stack. */
type Note = (path: string, text: string) => void;

/**
 * What offers the GPUs: what is there, else the newest of the tables that the checks take.
 *
 * @param base the stack without it.
 */
export function exposureOf(base: ClusterSpec, { releases, machines }: Seen, note: Note): Partial<ClusterSpec> {
  const [there, ...others] = [...releases].sort((a, b) => a.chart.localeCompare(b.chart));
  const key = (chart: string): "gpuOperator" | "devicePlugin" =>
    chart === "gpu-operator" ? "gpuOperator" : "devicePlugin";
  const newest = (chart: string): string[] =>
    charts
      .filter((one) => one.chart === chart)
      .map(({ version }) => version)
      .toReversed();
  if (there !== undefined) {
    const field = key(there.chart);
    const version = there.version ?? newest(there.chart)[0]!;
    const uninstall =
      there.name === undefined
        ? `Helm did not install it, so remove it with the tool that did`
        : `\`helm -n ${there.namespace} uninstall ${there.name}\` (running pods keep their GPUs)`;
    note(
      field,
      `${there.chart} ${there.version ?? "of an unknown version"} is installed in ${there.namespace}${there.name === undefined ? "" : ` as Helm's release ${there.name}`}`,
    );
    note(
      field,
      `if another tool brought it, remove it right before the first update, since the stack installs its own: ${uninstall}. Before that, copy its values into the stack`,
    );
    for (const other of others)
      note(field, `${other.chart} is installed as well, in ${other.namespace}: one of the two must go`);
    return { [field]: { version, namespace: there.namespace } };
  }
  const candidates = [
    ...newest("gpu-operator").map((version) => ({ gpuOperator: { version } })),
    ...newest("nvidia-device-plugin").map((version) => ({ devicePlugin: { version } })),
  ];
  const fits = candidates.find((exposure) =>
    checkCluster({ ...base, ...exposure }).every(({ field }) => !/^(gpuOperator|devicePlugin)/.test(field)),
  );
  const offering = machines.filter(({ offers = [] }) => offers.length > 0);
  const resources = [...new Set(offering.flatMap(({ offers = [] }) => offers))];
  note(
    fits && "devicePlugin" in fits ? "devicePlugin" : "gpuOperator",
    offering.length === 0
      ? "nothing offers GPUs yet; this is the newest release that is known to fit"
      : `something offers ${resources.join(" and ")} on ${offering.map(({ name }) => name).join(", ")} already, and it is none of NVIDIA's charts: find it (\`kubectl get daemonsets -A\`), and remove it right before the first update, since the stack installs its own; this is the newest release that is known to fit`,
  );
  return fits ?? candidates[0]!;
}
