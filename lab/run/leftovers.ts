import type { MachineRecipe, Plan } from "../../components/recipe";
import type { MachineStanding, Standing } from "./standing";

/** What a destroy left behind. */
export interface Leftovers {
  /** What is ours and should have gone, and what was somebody else's and has changed. Empty when the destroy is clean. */
  left: string[];
  /** What stays by design, or because its owner keeps it: each with the reason. */
  stays: string[];
}

/** Something that stays, and why. */
interface Keeper {
  /** Matches a line of what is left. */
  pattern: RegExp;
  why: string;
}

const objectKeepers: Keeper[] = [
  { pattern: /^Lease kube-node-lease\//, why: "a kubelet's heartbeat, which it makes in its own time" },
  { pattern: /^StorageClass lab$/, why: "the lab's own, made once its machines are there" },
  {
    pattern: /^CustomResourceDefinition .*\.(nvidia\.com|nfd\.k8s-sigs\.io)$/,
    // helm.sh/docs/chart_best_practices/custom_resource_definitions: a chart's crds folder is installed, never deleted;
    // the GPU Operator's chart deletes them by a hook when operator.cleanupCRD is true, and with them every object of
    // theirs, other people's too (gpu-operator, deployments/gpu-operator/templates/cleanup_crd.yaml).
    why: "Helm never deletes what a chart's crds folder brought; gpuOperator.values.operator.cleanupCRD does",
  },
];

/** What somebody else's operator or plugin makes of itself, and renews while its machines are upgraded; it is still there. */
function theirs({ kubernetes: { external, release, runtimeClass } }: Plan): Keeper[] {
  if (!external) return [];
  const why = "somebody else's, which is still there";
  const kind = release.namespace === "kube-system" ? "(Pod|ReplicaSet|ControllerRevision)" : "\\w+";
  return [
    { pattern: new RegExp(`^(gone, and not ours: )?${kind} ${release.namespace}/`), why },
    { pattern: new RegExp(`^RuntimeClass ${runtimeClass.name}$`), why },
    { pattern: /^(label|annotation) (nvidia\.com|feature\.node\.kubernetes\.io|nfd\.node\.kubernetes\.io)\//, why },
  ];
}

/** What the kubelets of machines that joined meanwhile make of themselves. */
function joined({ spec, machines }: Plan, { nodes }: Standing): Keeper[] {
  return machines
    .filter(({ name }) => nodes[name] === undefined)
    .map(({ name }) => ({
      pattern: new RegExp(`^Node ${name}$`),
      why: spec.bootstrap
        ? "a cluster that the stack bootstrapped stays, as its machines do"
        : "its owner added the machine to the cluster, and there it stays",
    }));
}

const operatorLabels: Keeper = {
  pattern: /^label nvidia\.com\/(gpu\.present|gpu\.deploy\.[a-z-]+|mig\.config\.state)=/,
  why: "the GPU Operator does not take its labels off nodes when it is uninstalled (gpu-operator#1391, #2571)",
};

/**
 * Labels that a destroy leaves on nodes. Those that the stack itself set are not among them, whatever their names, unless
 * an operator had set them before.
 */
const nodeKeepers: Keeper[] = [
  operatorLabels,
  {
    pattern: /^(label|annotation) extensions\.talos\.dev\//,
    why: "Talos says so of the image, which stays: machines are not downgraded",
  },
];

/** How a machine's configuration and image are to be after a destroy. */
const machineRules: Record<MachineRecipe["configuration"], { configuration: "restored" | "kept"; why: string }> = {
  adopted: { configuration: "restored", why: "machines are neither wiped nor downgraded" },
  owned: {
    configuration: "kept",
    why: "machines are neither wiped nor downgraded, and nobody else has its configuration",
  },
  omni: { configuration: "restored", why: "" },
};

/**
 * What a destroy left of a stack.
 *
 * @param before as it was before the first update
 * @param up as it was before the destroy
 * @param after as it is now
 * @param earlier what the stack was before it became `plan`
 */
export function leftovers(
  plan: Plan,
  before: Standing,
  up: Standing,
  after: Standing,
  earlier: readonly Plan[] = [],
): Leftovers {
  const operatorWas = earlier.some(({ kubernetes }) => kubernetes.mode === "operator");
  // Machines behind `upgrade.first` are labelled after the release, and so lose the label before it: the operator, which is
  // still there, writes its own in its place (gpu-operator, controllers/state_manager.go, addGPUStateLabels).
  const { first = [] } = plan.spec.upgrade ?? {};
  const outlived = ({ name }: MachineRecipe): boolean =>
    plan.kubernetes.mode === "operator" && first.length > 0 && !first.includes(name);
  const parts = [
    objects(plan, before, after),
    ...plan.machines.flatMap((machine) => [
      node(machine, before, after, operatorWas || outlived(machine), theirs(plan)),
      onMachine(machine, before.machines[machine.name], up.machines[machine.name], after.machines[machine.name]),
    ]),
    plainly("Omni has", before.omni, after.omni),
    plainly("process", Object.entries(before.processes).map(told), Object.entries(after.processes).map(told)),
  ];
  return { left: parts.flatMap(({ left }) => left), stays: parts.flatMap(({ stays }) => stays) };
}

const told = ([pid, command]: [string, string]): string => `${pid} ${command}`;

function objects(plan: Plan, before: Standing, after: Standing): Leftovers {
  const gone = before.objects.filter((name) => !after.objects.includes(name));
  const come = after.objects.filter((name) => !before.objects.includes(name));
  const lines = [...gone.map((name) => `gone, and not ours: ${name}`), ...come];
  return sorted(lines, [...objectKeepers, ...theirs(plan), ...joined(plan, before)]);
}

function node(
  { name, nodeLabels, nodeTaints }: MachineRecipe,
  before: Standing,
  after: Standing,
  operatorWas: boolean,
  others: Keeper[],
): Leftovers {
  const was = before.nodes[name];
  const is = after.nodes[name] ?? [];
  const isOurs = (line: string): boolean => !(operatorWas && operatorLabels.pattern.test(line)) && isSaid(line);
  const isSaid = (line: string): boolean =>
    Object.entries(nodeLabels).some(([key, value]) => line === `label ${key}=${value}`) ||
    nodeTaints.some(({ key, effect }) => line.startsWith(`taint ${key}`) && line.endsWith(`:${effect}`)) ||
    /^annotation talos-gpu/.test(line);
  // A node that the stack made: all that is its own was put there by somebody, and stays with the cluster.
  const come = was === undefined ? is.filter(isOurs) : is.filter((line) => !was.includes(line) && !isPassing(line));
  // What somebody else keeps up to date is not gone with its former value: Node Feature Discovery tells of the new release.
  const isRenewed = (line: string): boolean =>
    others.some(({ pattern }) => pattern.test(line)) && is.some((now) => now.split("=")[0] === line.split("=")[0]);
  const gone = (was ?? []).filter(
    (line) => !is.includes(line) && !isPassing(line) && !isKept(line) && !wasNotReady(line) && !isRenewed(line),
  );
  const ours = come.filter(isOurs);
  const rest = sorted(
    come.filter((line) => !isOurs(line)),
    [...others, ...nodeKeepers],
  );
  return named(`node ${name}: `, {
    left: [...ours, ...rest.left, ...gone.map((line) => `gone, and not ours: ${line}`)],
    stays: rest.stays,
  });
}

/** What is told of the image may also go with it. */
const isKept = (line: string): boolean => nodeKeepers.some(({ pattern }) => pattern.test(line));

/** Taints of a node whose kubelet was late before: Kubernetes takes them off by itself. One that comes is left. */
const wasNotReady = (line: string): boolean => /^taint node\.kubernetes\.io\/(not-ready|unreachable)\b/.test(line);

/** Annotations by which controllers talk to themselves. */
const isPassing = (line: string): boolean =>
  /^annotation (node\.alpha\.kubernetes\.io|volumes\.kubernetes\.io|talos\.dev|networking\.talos\.dev|cluster\.talos\.dev)\//.test(
    line,
  );

function onMachine(
  { name, configuration: owner, gpuCount }: MachineRecipe,
  before: MachineStanding | undefined,
  up: MachineStanding | undefined,
  after: MachineStanding | undefined,
): Leftovers {
  const rule = machineRules[owner];
  const left =
    owner === "omni" && before?.configuration === undefined
      ? onJoined(up, after)
      : difference(
          (rule.configuration === "kept" ? up : before)?.configuration ?? [],
          after?.configuration ?? [],
        ).filter(
          // Omni names the image of the machine's schematic in every configuration that it makes.
          (line) => owner !== "omni" || line !== "changed: machine.install.image",
        );
  const image = owner === "omni" ? before?.image : up?.image;
  // NVIDIA's services wait for the driver at every boot (talos#14373).
  const ofImage = (line: string): boolean =>
    owner === "adopted" && gpuCount > 0 && line === "added: machine.kernel.modules[]";
  const stays = [
    ...left.filter(ofImage).map((line) => `configuration, ${line}: the image stays, and does not boot without`),
    ...(image !== before?.image ? [`image ${image}: ${rule.why}`] : []),
    ...(rule.configuration === "kept" ? [`configuration: ${rule.why}`] : []),
  ];
  return named(`machine ${name}: `, {
    left: [
      ...left.filter((line) => !ofImage(line)).map((line) => `configuration, ${line}`),
      ...(after?.image === image ? [] : [`it runs ${after?.image}, and should run ${image}`]),
    ],
    stays,
  });
}

/**
 * A machine that its owner added meanwhile has no earlier configuration to go back to: it must have lost something, ours,
 * and got nothing new but the image of its next installation, which Omni writes.
 */
function onJoined(up: MachineStanding | undefined, after: MachineStanding | undefined): string[] {
  const changes = difference(up?.configuration ?? [], after?.configuration ?? []);
  const lost = changes.some((line) => line.startsWith("gone: "));
  const news = changes.filter((line) => !/^(gone: |changed: machine\.install\.image$)/.test(line));
  return lost ? news : ["nothing of ours has gone", ...news];
}

/** Where two configurations differ; paths alone, for the values may be secret. */
function difference(wanted: string[], found: string[]): string[] {
  const path = (line: string): string => line.slice(0, line.lastIndexOf(": "));
  const extra = found.filter((line) => !wanted.includes(line)).map(path);
  const missing = wanted.filter((line) => !found.includes(line)).map(path);
  return [
    ...[...new Set(extra)].map((each) => (missing.includes(each) ? `changed: ${each}` : `added: ${each}`)),
    ...[...new Set(missing)].filter((each) => !extra.includes(each)).map((each) => `gone: ${each}`),
  ];
}

function plainly(what: string, before: string[], after: string[]): Leftovers {
  return {
    left: [
      ...after.filter((line) => !before.includes(line)).map((line) => `${what} ${line}`),
      ...before.filter((line) => !after.includes(line)).map((line) => `gone, and not ours: ${what} ${line}`),
    ],
    stays: [],
  };
}

/** Tells what stays with a reason from what is left. */
function sorted(lines: string[], keepers: Keeper[]): Leftovers {
  const found: Leftovers = { left: [], stays: [] };
  for (const line of lines.toSorted()) {
    const keeper = keepers.find(({ pattern }) => pattern.test(line));
    if (keeper === undefined) found.left.push(line);
    else found.stays.push(`${line}: ${keeper.why}`);
  }
  return found;
}

const named = (prefix: string, { left, stays }: Leftovers): Leftovers => ({
  left: left.map((line) => `${prefix}${line}`),
  stays: stays.map((line) => `${prefix}${line}`),
});
