import type { FixId } from "./fix-ids";
import { fixes } from "./fixes";
import { messagesOf, type Observations, type ObservedPod } from "./observations";
import type { MachineRecipe, Plan } from "./types";

/** What is wrong with a running system, and what to do. */
export interface Diagnosis {
  /** Fix that prevents it. */
  fix: FixId;
  symptom: string;
  cause: string;
  remedy: string;
  /** What was seen that says so, one line each. */
  evidence: string[];
}

/** Finds what was seen that speaks for a missing fix; empty when nothing does. */
type Sign = (seen: Observations, plan: Plan) => string[];

/** One failure: its signs, and the failures that only follow from it. */
interface Rule {
  fix: FixId;
  sign: Sign;
  causes: FixId[];
}

const rules: Rule[] = [
  // Without a driver nothing above it works; the pods then wait like those without markers.
  { fix: "kernelModules", sign: driverNotLoaded, causes: ["validationMarkers", "bpfJitHarden", "gpuPresentLabel"] },
  // Pods that are not created write no markers, label no node and fail no container.
  { fix: "privilegedNamespace", sign: refusedByPodSecurity, causes: ["validationMarkers", "gpuPresentLabel"] },
  { fix: "runtimeClass", sign: runtimeClassMissing, causes: ["validationMarkers"] },
  { fix: "gpuPresentLabel", sign: pluginWantsNoPods, causes: [] },
  // The plugin itself runs by the nvidia runtime: its pod can fail like a workload's, before any marker matters.
  { fix: "bpfJitHarden", sign: deviceFilterRefused, causes: [] },
  { fix: "validationMarkers", sign: waitsForMarkers, causes: [] },
];

/** Names what is wrong with a system: the causes, not what follows from them. Pure; empty when nothing known explains it. */
export function diagnose(seen: Observations, plan: Plan): Diagnosis[] {
  const found = rules
    .map((rule) => ({ ...rule, evidence: rule.sign(seen, plan) }))
    .filter((rule) => rule.evidence.length > 0);
  const consequences = new Set(found.flatMap((rule) => rule.causes));
  return found
    .filter((rule) => !consequences.has(rule.fix))
    .flatMap((rule) => {
      const fix = fixes.find((candidate) => candidate.id === rule.fix);
      return fix
        ? [
            {
              fix: rule.fix,
              symptom: fix.symptom,
              cause: fix.cause,
              remedy: remedyOf(rule.fix, plan, fix.remedy),
              evidence: rule.evidence.slice(0, 5),
            },
          ]
        : [];
    });
}

/** Where the stack has the fix, taking it out of `without` is no advice: then it did not take effect. */
function remedyOf(fix: FixId, plan: Plan, remedy: string): string {
  return plan.without.includes(fix)
    ? remedy
    : `the stack has this fix, but it is not in effect: look whether somebody took it away since, and run \`pulumi up --refresh\``;
}

const gpuMachines = (plan: Plan): MachineRecipe[] => plan.machines.filter((machine) => machine.gpuCount > 0);

function driverNotLoaded(seen: Observations, plan: Plan): string[] {
  const expected = new Map(
    gpuMachines(plan).map(({ name, configuration, schematicId }) => [
      name,
      configuration === "omni" ? undefined : schematicId, // Omni makes its own
    ]),
  );
  // A machine that runs another image has no driver for another reason: it was not upgraded, or rolled back.
  const runsOurs = (name: string, schematic: string | undefined): boolean =>
    expected.has(name) && (schematic === undefined || (expected.get(name) ?? schematic) === schematic);
  return (seen.machines ?? [])
    .filter(
      (machine) =>
        runsOurs(machine.name, machine.schematicId) &&
        machine.modules !== undefined &&
        !machine.modules.includes("nvidia"),
    )
    .flatMap((machine) => [
      `${machine.name}: no module nvidia is loaded`,
      ...Object.entries(machine.services ?? {})
        .filter(([name, state]) => name === "ext-nvidia-persistenced" && state !== "Running")
        .map(([name, state]) => `${machine.name}: ${name} is ${state}`),
    ]);
}

function refusedByPodSecurity(seen: Observations, plan: Plan): string[] {
  const { namespace } = plan.kubernetes.release;
  return matching(seen, /violates PodSecurity/, namespace);
}

function runtimeClassMissing(seen: Observations, plan: Plan): string[] {
  const { name, owner } = plan.kubernetes.runtimeClass;
  if (owner !== "component" || seen.runtimeClasses?.includes(name)) return [];
  const refused = matching(seen, new RegExp(`runtimeclass\\S* "?${name}"? not found`, "i"));
  // That it is not there says nothing by itself: the stack may not have come that far.
  return refused.length === 0 || seen.runtimeClasses === undefined
    ? refused
    : [...refused, `there is no RuntimeClass ${name}`];
}

function pluginWantsNoPods(seen: Observations, plan: Plan): string[] {
  if (plan.kubernetes.mode !== "devicePlugin") return [];
  const { release, nodeSelector } = plan.kubernetes;
  const idle = (seen.daemonSets ?? []).filter(
    ({ namespace, name, desired }) =>
      namespace === release.namespace && name.includes("device-plugin") && !name.includes("mps") && desired === 0,
  );
  const unlabelled = gpuMachines(plan).flatMap((machine) => {
    const node = seen.nodes?.find((candidate) => candidate.name === machine.name);
    const missing = node && Object.entries(nodeSelector).filter(([key, value]) => node.labels[key] !== value);
    return missing && missing.length > 0
      ? [`node ${machine.name} lacks ${missing.map(([key, value]) => `${key}=${value}`).join(", ")}`]
      : [];
  });
  if (idle.length === 0 || unlabelled.length === 0) return [];
  return [...idle.map((daemonSet) => `DaemonSet/${daemonSet.name} wants 0 pods`), ...unlabelled];
}

function deviceFilterRefused(seen: Observations): string[] {
  return matching(seen, /last insn is not an exit or jmp|bpf_prog_query.*failed|failed to create device filter/);
}

/** Init containers of the operator's pods that wait for marker files. */
const waiters = ["toolkit-validation", "driver-validation", "wait-for-driver-ready"];

function waitsForMarkers(seen: Observations, plan: Plan): string[] {
  const { release, mode, era } = plan.kubernetes;
  if (mode !== "operator" || era !== "legacy") return [];
  const keeper = (seen.daemonSets ?? []).find(({ name }) => name.includes("validation-markers"));
  if (keeper && keeper.desired > 0 && keeper.ready === keeper.desired) return [];
  return (seen.pods ?? [])
    .filter((pod) => pod.namespace === release.namespace && pod.phase === "Pending")
    .flatMap((pod) => {
      const waiter = waitingContainer(pod);
      return waiter === undefined ? [] : [`Pod/${pod.name}: Init, ${waiter} does not end`];
    });
}

function waitingContainer(pod: ObservedPod): string | undefined {
  return pod.initContainers?.find(
    (container) => waiters.includes(container.name) && container.state !== "terminated" && !container.ready,
  )?.name;
}

function matching(seen: Observations, pattern: RegExp, namespace?: string): string[] {
  const lines = messagesOf(seen)
    .filter(
      (message) =>
        pattern.test(message.text) &&
        (namespace === undefined || message.namespace === undefined || message.namespace === namespace),
    )
    .map((message) => `${message.about}: ${lineWith(pattern, message.text)}`);
  return [...new Set(lines)];
}

function lineWith(pattern: RegExp, text: string): string {
  const line = text.split("\n").find((candidate) => pattern.test(candidate)) ?? text;
  if (line.length <= 400) return line;
  const start = Math.max(0, line.search(pattern) - 80);
  return `${start > 0 ? "…" : ""}${line.slice(start, start + 400)}${start + 400 < line.length ? "…" : ""}`;
}
