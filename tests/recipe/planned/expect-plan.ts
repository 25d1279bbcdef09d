import { parse } from "yaml";
import {
  judge,
  planCluster,
  renderFinding,
  type ClusterSpec,
  type KubernetesRecipe,
  type MachineRecipe,
  type MachineSpec,
} from "../../../components/recipe";
import { expectFields } from "../../support/expect-fields";
import { applyMergePatch, validStack } from "../stacks";

/** A JSON merge patch (RFC 7396): null removes a field, and a list replaces a list. */
type MergePatch<Whole> = Whole extends readonly unknown[]
  ? Whole
  : Whole extends object
    ? { [Field in keyof Whole]?: MergePatch<Whole[Field]> | null }
    : Whole;

/** Changes of a stack. */
export type StackChange = MergePatch<ClusterSpec>;

/** A stack of tests/fixtures/valid with changes. */
interface ChangedStack {
  /** The stack, by the name of its file. Default: `one-card`. */
  base?: string;
  /** Default: the stack's own. */
  talosVersion?: string;
  /** Changes of its first machine. */
  machine?: MergePatch<MachineSpec>;
  /** Other changes. */
  change?: StackChange;
}

/** Expected fields of a part of a plan. Null is a missing field; a list or an empty mapping is compared whole. */
type Fields<Part> = Part extends readonly unknown[]
  ? Part
  : Part extends object
    ? { [Field in keyof Part]?: Fields<Part[Field]> | null }
    : Part;

/** The expected plan. */
interface ExpectedPlan {
  /** Fields of the first machine's plan. */
  machine?: Fields<MachineRecipe>;
  /** Fields of machines' plans, by machine. */
  machines?: Record<string, Fields<MachineRecipe>>;
  /** All units that machines offer, by machine. */
  allocatable?: Record<string, Record<string, number>>;
  /** Fields of the plan of Kubernetes. */
  kubernetes?: Fields<KubernetesRecipe>;
  /** Fields of the patch that the package makes for the first machine. */
  ownPatch?: object;
  /** All patches of the first machine, in order, each by a part of it. */
  patches?: string[];
  /** Names of all marker files, in order. */
  markers?: string[];
  /** All machines for which a machine waits, by machine. */
  after?: Record<string, string[]>;
  /** All warnings and notes, in order, except those about model servers without a key. */
  notes?: RegExp[];
  /** Some of the notes. */
  someNotes?: RegExp[];
  /** Patterns that no note matches. */
  noNote?: RegExp[];
  /** All findings of the checks, each as `check field: problem`. Default: none. */
  findings?: RegExp[];
}

/** Plans a changed stack, and fails unless the plan has everything that is expected. */
export function expectPlan(
  { base = "one-card", talosVersion, machine = {}, change = {} }: ChangedStack,
  expected: ExpectedPlan,
): void {
  const right = validStack(base);
  const first = Object.keys(right.machines)[0]!;
  const withMachine = applyMergePatch(right, {
    ...(talosVersion === undefined ? {} : { talosVersion }),
    machines: { [first]: machine },
  });
  const stack = applyMergePatch(withMachine, change) as ClusterSpec;
  const { findings, remarks, plan = planCluster(stack) } = judge(stack);
  const found = findings.map(({ check, field, problem }) => `${check} ${field}: ${problem}`);
  expect(found).toEqual(matching(expected.findings ?? []));

  const machines = Object.fromEntries(plan.machines.map((one) => [one.name, one]));
  const its = machines[first]!;
  expectFields(its, expected.machine ?? {});
  expectFields(machines, expected.machines ?? {});
  for (const [name, units] of Object.entries(expected.allocatable ?? {}))
    expect([name, machines[name]!.allocatable]).toEqual([name, units]);
  expectFields(plan.kubernetes, expected.kubernetes ?? {});
  if (expected.ownPatch) expectFields(parse(its.patches.at(-1) ?? ""), expected.ownPatch);
  if (expected.patches)
    expect(its.patches).toEqual(expected.patches.map((text) => expect.stringContaining(text)));
  if (expected.markers)
    expect(plan.kubernetes.markers.map(({ file }) => file)).toEqual(expected.markers);
  if (expected.after) expect(plan.after).toEqual(expected.after);

  // tests/workloads/clients.test.ts tests which clients a model server accepts.
  const all = remarks.map(renderFinding);
  const notes = all.filter((note) => !note.includes("clients need no key"));
  if (expected.notes) expect(notes).toEqual(matching(expected.notes));
  expect(all).toEqual(expect.arrayContaining(matching(expected.someNotes ?? [])));
  for (const pattern of expected.noNote ?? []) expect(all.join("\n")).not.toMatch(pattern);
}

const matching = (patterns: RegExp[]): unknown[] =>
  patterns.map((pattern) => expect.stringMatching(pattern));
