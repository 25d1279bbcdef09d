import { readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { MachineRecipe, Plan } from "../../components/recipe";
import type { MachineSnapshot, LabSnapshot } from "./snapshot";

/** What differs after a destroy from the state before the stack. */
export interface Leftovers {
  /**
   * Objects, settings, images and processes that the destroy should have removed or restored. Empty if the destroy is
   * clean.
   */
  faults: string[];
  /** Differences that a destroy may leave, each with the reason. */
  allowed: string[];
}

/** A rule for lines about new or missing objects. */
interface Rule {
  applies(line: string): boolean;
  /**
   * `fault` if the destroy should have removed or restored the object; `passes` if the line is harmless. Else the reason
   * why the destroy may leave the difference.
   */
  verdict: { reason: string } | "fault" | "passes";
}

const matching = (pattern: string) => (line: string) => new RegExp(pattern).test(line);

/** The rules for every stack, from `stays.yaml`. */
const commonRules = (
  parse(readFileSync(path.join(__dirname, "stays.yaml"), "utf8")) as {
    line: string;
    why?: string;
  }[]
).map(({ line, why }): Rule => ({
  applies: matching(line),
  verdict: why === undefined ? "passes" : { reason: why },
}));
const [operatorLabels] = commonRules as [Rule, ...Rule[]];

const missingLine = (line: string): string => `missing, and not the stack's: ${line}`;

/**
 * Objects that an external operator or plugin creates, and replaces while its machines are upgraded. It still runs
 * after the destroy.
 */
function externalObjectRules({ kubernetes: { external, release, runtimeClass } }: Plan): Rule[] {
  if (!external) return [];
  const kind = release.namespace === "kube-system" ? "(Pod|ReplicaSet|ControllerRevision)" : "\\w+";
  const patterns = [
    `^(missing, and not the stack's: )?${kind} ${release.namespace}/`,
    `^RuntimeClass ${runtimeClass.name}$`,
    String.raw`^node \S+: (label|annotation) (nvidia\.com|feature\.node\.kubernetes\.io|nfd\.node\.kubernetes\.io)/`,
  ];
  return patterns.map((pattern) => ({
    applies: matching(pattern),
    verdict: { reason: "an external object that still exists" },
  }));
}

/**
 * The operator adds an owner reference to an existing RuntimeClass, so Kubernetes deletes the RuntimeClass together
 * with the operator's policy (gpu-operator v26.3.3, controllers/object_controls.go, RuntimeClass).
 */
const operatorRuntimeClassRule: Rule = {
  applies: matching("^missing, and not the stack's: RuntimeClass nvidia$"),
  verdict: { reason: "the operator took it over, and deleted it with itself" },
};

const clusterStaysReason =
  "the destroy keeps the machines, and with them a cluster that the stack bootstrapped";

/** Objects that every new cluster has: Kubernetes v1.36, Talos v1.13. */
function newClusterRules({ spec }: Plan, before: LabSnapshot): Rule[] {
  if (!spec.bootstrap) return [];
  const addons: Rule = {
    applies: matching(
      "^(DaemonSet|Deployment|ReplicaSet|ControllerRevision|Pod) kube-system/(kube-proxy|coredns)\\b",
    ),
    verdict: "passes",
  };
  // In a lab with emulated machines, Kubernetes runs before the stack.
  if (before.lines.includes("Namespace default")) return [addons];
  const kinds =
    "ConfigMap|Endpoints|EndpointSlice|Lease|Role|RoleBinding|Secret|Service|ServiceAccount";
  const patterns = [
    `Namespace (default|kube-)`,
    `(${kinds}) (default|kube-[a-z-]+)/`,
    `Pod kube-system/kube-`,
    `ClusterRole(Binding)? (system|cluster-admin$|admin$|edit$|view$)`,
    `(CertificateSigningRequest|FlowSchema|IPAddress|PriorityClass|PriorityLevelConfiguration|ServiceCIDR) `,
  ];
  return [addons, { applies: matching(`^(${patterns.join("|")})`), verdict: "passes" }];
}

/**
 * The labels, taints and annotations that the stack sets on a machine's node. They are leftovers, unless an operator
 * had set them before or writes its own value.
 */
function nodeRules(
  { name, nodeLabels, nodeTaints }: MachineRecipe,
  plan: Plan,
  before: LabSnapshot,
  hadOperator: boolean,
): Rule[] {
  const prefix = `node ${name}: `;
  const isSetByStack = (line: string): boolean =>
    Object.entries(nodeLabels).some(([key, value]) => line === `${prefix}label ${key}=${value}`) ||
    nodeTaints.some(
      ({ key, effect }) => line.startsWith(`${prefix}taint ${key}`) && line.endsWith(`:${effect}`),
    ) ||
    line.startsWith(`${prefix}annotation talos-gpu`);
  // Machines behind `upgrade.first` are labelled after the release, and so lose the label before it: the operator,
  // which is still there, writes its own in its place (gpu-operator, controllers/state_manager.go,
  // addGPUStateLabels).
  const { first = [] } = plan.spec.upgrade ?? {};
  const operatorRelabels =
    plan.kubernetes.mode === "operator" && first.length > 0 && !first.includes(name);
  const reason = plan.spec.bootstrap
    ? clusterStaysReason
    : "its owner added the machine to the cluster, so it stays there";
  const operatorLabelRule: Rule = {
    applies: (line) => line.startsWith(prefix) && operatorLabels.applies(line),
    verdict: operatorLabels.verdict,
  };
  // A node that joined after the first look: its owner set everything on it, and it stays in the cluster.
  const joinedNodeRules: Rule[] = [
    { applies: (line) => line === `Node ${name}`, verdict: { reason } },
    { applies: (line) => line.startsWith(prefix), verdict: "passes" },
  ];
  const joinedLater = !before.lines.some((line) => line.startsWith(prefix));
  return [
    ...(hadOperator || operatorRelabels ? [operatorLabelRule] : []),
    { applies: isSetByStack, verdict: "fault" },
    ...(joinedLater ? joinedNodeRules : []),
  ];
}

/**
 * Compares a lab before and after a stack, and reports what the destroy left.
 *
 * @param before the state before the first update
 * @param beforeDestroy the state right before the destroy
 * @param after the present state
 * @param earlierPlans plans of the stack before each edit
 */
export function leftovers(
  plan: Plan,
  before: LabSnapshot,
  beforeDestroy: LabSnapshot,
  after: LabSnapshot,
  earlierPlans: readonly Plan[] = [],
): Leftovers {
  const hadOperator = earlierPlans.some(({ kubernetes }) => kubernetes.mode === "operator");
  const externalRules = externalObjectRules(plan);
  const rules = [
    ...plan.machines.flatMap((machine) => nodeRules(machine, plan, before, hadOperator)),
    ...externalRules,
    ...commonRules,
    ...newClusterRules(plan, before),
    ...(plan.kubernetes.runtimeClass.owner === "operator" ? [operatorRuntimeClassRule] : []),
  ];
  // Another program may update its line, e.g. Node Feature Discovery after a new release. Such a line is not gone.
  const key = (line: string): string => line.split("=")[0]!;
  const isRenewed = (line: string): boolean =>
    externalRules.some(({ applies }) => applies(line)) &&
    after.lines.some((presentLine) => key(presentLine) === key(line));
  const lines = [
    ...before.lines
      .filter((line) => !after.lines.includes(line) && !isRenewed(line))
      .map(missingLine),
    ...after.lines.filter((line) => !before.lines.includes(line)),
  ];
  const result: Leftovers = {
    faults: [],
    allowed: plan.spec.bootstrap ? [`the cluster: ${clusterStaysReason}`] : [],
  };
  for (const line of lines.sort()) {
    const verdict = rules.find(({ applies }) => applies(line))?.verdict ?? "fault";
    if (verdict === "fault") result.faults.push(line);
    else if (verdict !== "passes") result.allowed.push(`${line}: ${verdict.reason}`);
  }
  for (const machine of plan.machines) {
    const { faults, allowed } = machineLeftovers(
      machine,
      before.machines[machine.name],
      beforeDestroy.machines[machine.name],
      after.machines[machine.name],
    );
    result.faults.push(...faults.map((line) => `machine ${machine.name}: ${line}`));
    result.allowed.push(...allowed.map((line) => `machine ${machine.name}: ${line}`));
  }
  return result;
}

/**
 * Leftovers of one machine. An adopted machine must have its former configuration again, and an owned one keeps the
 * stack's. Neither is wiped or downgraded. Omni gives its machine the former image, too.
 */
function machineLeftovers(
  { configuration: owner, gpuCount }: MachineRecipe,
  before: MachineSnapshot | undefined,
  beforeDestroy: MachineSnapshot | undefined,
  after: MachineSnapshot | undefined,
): Leftovers {
  // A machine that its owner added after the first look has no former configuration to compare with. It must have lost
  // the stack's part, and have nothing new.
  const joinedLater = owner === "omni" && before?.configuration === undefined;
  const expected = owner === "owned" || joinedLater ? beforeDestroy : before;
  const changes = changedPaths(expected?.configuration ?? [], after?.configuration ?? []).filter(
    // Omni names the image of the machine's schematic in every configuration that it makes.
    (line) => owner !== "omni" || line !== "changed: machine.install.image",
  );
  const relevantChanges = joinedLater
    ? changes.filter((line) => !line.startsWith("gone: "))
    : changes;
  const remainingChanges =
    joinedLater && relevantChanges.length === changes.length
      ? ["nothing of the stack was removed", ...relevantChanges]
      : relevantChanges;
  // NVIDIA's services wait for the driver at every boot (talos#14373).
  const isNeededByImage = (line: string): boolean =>
    owner === "adopted" && gpuCount > 0 && line === "added: machine.kernel.modules[]";
  const expectedImage = (owner === "omni" ? before : beforeDestroy)?.image;
  const reason = "machines are neither wiped nor downgraded";
  return {
    faults: [
      ...remainingChanges
        .filter((line) => !isNeededByImage(line))
        .map((line) => `configuration, ${line}`),
      ...(after?.image === expectedImage
        ? []
        : [`it runs ${after?.image}, and should run ${expectedImage}`]),
    ],
    allowed: [
      ...remainingChanges
        .filter(isNeededByImage)
        .map((line) => `configuration, ${line}: the image stays, and does not boot without this`),
      ...(expectedImage === before?.image ? [] : [`image ${expectedImage}: ${reason}`]),
      ...(owner === "owned"
        ? [`configuration: ${reason}, and no other tool has its configuration`]
        : []),
    ],
  };
}

/** The paths at which two configurations differ, without values, which may be secret. */
function changedPaths(expected: string[], actual: string[]): string[] {
  const path = (line: string): string => line.slice(0, line.lastIndexOf(": "));
  const extra = actual.filter((line) => !expected.includes(line)).map(path);
  const missing = expected.filter((line) => !actual.includes(line)).map(path);
  return [
    ...[...new Set(extra)].map((changedPath) =>
      missing.includes(changedPath) ? `changed: ${changedPath}` : `added: ${changedPath}`,
    ),
    ...[...new Set(missing)]
      .filter((missingPath) => !extra.includes(missingPath))
      .map((missingPath) => `gone: ${missingPath}`),
  ];
}
