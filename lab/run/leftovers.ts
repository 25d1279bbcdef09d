import { readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { MachineRecipe, Plan } from "../../components/recipe";
import type { MachineSnapshot, LabSnapshot } from "./snapshot";

/** Objects and settings that a destroy did not remove or restore. */
export interface Leftovers {
  /** Objects of the stack that still exist, and objects of others that have changed. Empty if the destroy is clean. */
  left: string[];
  /** Objects that are meant to stay, each with the reason. */
  stays: string[];
}

/**
 * A pattern of lines about new or missing objects, with a verdict: `left` if the destroy should have removed the
 * object, `passes` if the line is harmless, else the reason why the object stays.
 */
type Rule = [applies: (line: string) => boolean, verdict: { why: string } | "left" | "passes"];

const like = (pattern: string) => (line: string) => new RegExp(pattern).test(line);

/** The rules for every stack, from `stays.yaml`. */
const always = (
  parse(readFileSync(path.join(__dirname, "stays.yaml"), "utf8")) as {
    line: string;
    why?: string;
  }[]
).map(({ line, why }): Rule => [like(line), why === undefined ? "passes" : { why }]);
const [operatorLabels] = always as [Rule, ...Rule[]];

const gone = (line: string): string => `gone, and not ours: ${line}`;

/**
 * Objects that an external operator or plugin creates, and replaces while its machines are upgraded. It still runs
 * after the destroy.
 */
function theirs({ kubernetes: { external, release, runtimeClass } }: Plan): Rule[] {
  if (!external) return [];
  const kind = release.namespace === "kube-system" ? "(Pod|ReplicaSet|ControllerRevision)" : "\\w+";
  const patterns = [
    `^(gone, and not ours: )?${kind} ${release.namespace}/`,
    `^RuntimeClass ${runtimeClass.name}$`,
    String.raw`^node \S+: (label|annotation) (nvidia\.com|feature\.node\.kubernetes\.io|nfd\.node\.kubernetes\.io)/`,
  ];
  return patterns.map((pattern) => [
    like(pattern),
    { why: "an external object that still exists" },
  ]);
}

/**
 * The operator adds an owner reference to an existing RuntimeClass, so Kubernetes deletes the RuntimeClass together
 * with the operator's policy (gpu-operator v26.3.3, controllers/object_controls.go, RuntimeClass).
 */
const takenAlong: Rule = [
  like("^gone, and not ours: RuntimeClass nvidia$"),
  { why: "the operator took it over, and deleted it with itself" },
];

const clusterStays =
  "the destroy keeps the machines, and with them a cluster that the stack bootstrapped";

/** Objects that every new cluster has: Kubernetes v1.36, Talos v1.13. */
function ofTheCluster({ spec }: Plan, before: LabSnapshot): Rule[] {
  if (!spec.bootstrap || before.lines.includes("Namespace default")) return [];
  const kinds =
    "ConfigMap|Endpoints|EndpointSlice|Lease|Role|RoleBinding|Secret|Service|ServiceAccount";
  const own = [
    `Namespace (default|kube-)`,
    `(${kinds}) (default|kube-[a-z-]+)/`,
    `Pod kube-system/kube-`,
    `ClusterRole(Binding)? (system|cluster-admin$|admin$|edit$|view$)`,
    `(CertificateSigningRequest|FlowSchema|IPAddress|PriorityClass|PriorityLevelConfiguration|ServiceCIDR) `,
  ];
  return [[like(`^(${own.join("|")})`), "passes"]];
}

/**
 * The labels, taints and annotations that the stack sets on a machine's node. They are leftovers, unless an operator
 * had set them before or writes its own value.
 */
function onNode(
  { name, nodeLabels, nodeTaints }: MachineRecipe,
  plan: Plan,
  before: LabSnapshot,
  operatorWas: boolean,
): Rule[] {
  const here = `node ${name}: `;
  const isOurs = (line: string): boolean =>
    Object.entries(nodeLabels).some(([key, value]) => line === `${here}label ${key}=${value}`) ||
    nodeTaints.some(
      ({ key, effect }) => line.startsWith(`${here}taint ${key}`) && line.endsWith(`:${effect}`),
    ) ||
    line.startsWith(`${here}annotation talos-gpu`);
  // Machines behind `upgrade.first` are labelled after the release, and so lose the label before it: the operator,
  // which is still there, writes its own in its place (gpu-operator, controllers/state_manager.go,
  // addGPUStateLabels).
  const { first = [] } = plan.spec.upgrade ?? {};
  const outlived = plan.kubernetes.mode === "operator" && first.length > 0 && !first.includes(name);
  const why = plan.spec.bootstrap
    ? clusterStays
    : "its owner added the machine to the cluster, so it stays there";
  return [
    ...(operatorWas || outlived
      ? [
          [
            (line: string) => line.startsWith(here) && operatorLabels[0](line),
            operatorLabels[1],
          ] as Rule,
        ]
      : []),
    [isOurs, "left"],
    // A node that joined after the first look: its owner set everything on it, and it stays in the cluster.
    ...(before.lines.some((line) => line.startsWith(here))
      ? []
      : ([
          [(line) => line === `Node ${name}`, { why }],
          [(line) => line.startsWith(here), "passes"],
        ] as Rule[])),
  ];
}

/**
 * Compares a lab before and after a stack, and reports what the destroy left.
 *
 * @param before the state before the first update
 * @param up the state right before the destroy
 * @param after the present state
 * @param earlier plans of the stack before each edit
 */
export function leftovers(
  plan: Plan,
  before: LabSnapshot,
  up: LabSnapshot,
  after: LabSnapshot,
  earlier: readonly Plan[] = [],
): Leftovers {
  const operatorWas = earlier.some(({ kubernetes }) => kubernetes.mode === "operator");
  const others = theirs(plan);
  const rules = [
    ...plan.machines.flatMap((machine) => onNode(machine, plan, before, operatorWas)),
    ...others,
    ...always,
    ...ofTheCluster(plan, before),
    ...(plan.kubernetes.runtimeClass.owner === "operator" ? [takenAlong] : []),
  ];
  // Another program may update its line, e.g. Node Feature Discovery after a new release. Such a line is not gone.
  const key = (line: string): string => line.split("=")[0]!;
  const isRenewed = (line: string): boolean =>
    others.some(([applies]) => applies(line)) && after.lines.some((now) => key(now) === key(line));
  const lines = [
    ...before.lines.filter((line) => !after.lines.includes(line) && !isRenewed(line)).map(gone),
    ...after.lines.filter((line) => !before.lines.includes(line)),
  ];
  const found: Leftovers = {
    left: [],
    stays: plan.spec.bootstrap ? [`the cluster: ${clusterStays}`] : [],
  };
  for (const line of lines.sort()) {
    const verdict = rules.find(([applies]) => applies(line))?.[1] ?? "left";
    if (verdict === "left") found.left.push(line);
    else if (verdict !== "passes") found.stays.push(`${line}: ${verdict.why}`);
  }
  for (const machine of plan.machines) {
    const [was, stood, is] = [before, up, after].map(({ machines }) => machines[machine.name]);
    const { left, stays } = onMachine(machine, was, stood, is);
    found.left.push(...left.map((line) => `machine ${machine.name}: ${line}`));
    found.stays.push(...stays.map((line) => `machine ${machine.name}: ${line}`));
  }
  return found;
}

/**
 * Leftovers of one machine. An adopted machine must have its former configuration again, and an owned one keeps the
 * stack's. Neither is wiped or downgraded. Omni gives its machine the former image, too.
 */
function onMachine(
  { configuration: owner, gpuCount }: MachineRecipe,
  before: MachineSnapshot | undefined,
  up: MachineSnapshot | undefined,
  after: MachineSnapshot | undefined,
): Leftovers {
  // A machine that its owner added after the first look has no former configuration to compare with. It must have lost
  // the stack's part, and have nothing new.
  const joined = owner === "omni" && before?.configuration === undefined;
  const wanted = owner === "owned" || joined ? up : before;
  const changes = difference(wanted?.configuration ?? [], after?.configuration ?? []).filter(
    // Omni names the image of the machine's schematic in every configuration that it makes.
    (line) => owner !== "omni" || line !== "changed: machine.install.image",
  );
  const news = joined ? changes.filter((line) => !line.startsWith("gone: ")) : changes;
  const wrong =
    joined && news.length === changes.length ? ["nothing of the stack was removed", ...news] : news;
  // NVIDIA's services wait for the driver at every boot (talos#14373).
  const ofImage = (line: string): boolean =>
    owner === "adopted" && gpuCount > 0 && line === "added: machine.kernel.modules[]";
  const image = (owner === "omni" ? before : up)?.image;
  const why = "machines are neither wiped nor downgraded";
  return {
    left: [
      ...wrong.filter((line) => !ofImage(line)).map((line) => `configuration, ${line}`),
      ...(after?.image === image ? [] : [`it runs ${after?.image}, and should run ${image}`]),
    ],
    stays: [
      ...wrong
        .filter(ofImage)
        .map((line) => `configuration, ${line}: the image stays, and does not boot without this`),
      ...(image === before?.image ? [] : [`image ${image}: ${why}`]),
      ...(owner === "owned"
        ? [`configuration: ${why}, and no other tool has its configuration`]
        : []),
    ],
  };
}

/** The paths at which two configurations differ, without values, which may be secret. */
function difference(wanted: string[], found: string[]): string[] {
  const path = (line: string): string => line.slice(0, line.lastIndexOf(": "));
  const extra = found.filter((line) => !wanted.includes(line)).map(path);
  const missing = wanted.filter((line) => !found.includes(line)).map(path);
  return [
    ...[...new Set(extra)].map((each) =>
      missing.includes(each) ? `changed: ${each}` : `added: ${each}`,
    ),
    ...[...new Set(missing)].filter((each) => !extra.includes(each)).map((each) => `gone: ${each}`),
  ];
}
