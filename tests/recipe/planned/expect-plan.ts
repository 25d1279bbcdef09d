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
  /** Fields of the patch that this package makes for the first machine. */
  packagePatch?: object;
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
  absentNotes?: RegExp[];
  /** All findings of the checks, each as `check field: problem`. Default: none. */
  findings?: RegExp[];
}

/** Plans a changed stack, and fails unless the plan has everything that is expected. */
export function expectPlan(
  { base = "one-card", talosVersion, machine = {}, change = {} }: ChangedStack,
  expected: ExpectedPlan,
): void {
  const baseStack = validStack(base);
  const firstName = Object.keys(baseStack.machines)[0]!;
  const stackWithMachine = applyMergePatch(baseStack, {
    ...(talosVersion === undefined ? {} : { talosVersion }),
    machines: { [firstName]: machine },
  });
  const stack = applyMergePatch(stackWithMachine, change) as ClusterSpec;
  const { findings, remarks, plan = planCluster(stack) } = judge(stack);
  const findingLines = findings.map(({ check, field, problem }) => `${check} ${field}: ${problem}`);
  expect(findingLines).toEqual(matchingPatterns(expected.findings ?? []));

  const machines = Object.fromEntries(plan.machines.map((recipe) => [recipe.name, recipe]));
  const firstMachine = machines[firstName]!;
  expectFields(firstMachine, expected.machine ?? {});
  expectFields(machines, expected.machines ?? {});
  for (const [name, units] of Object.entries(expected.allocatable ?? {}))
    expect({ name, units: machines[name]!.allocatable }).toEqual({ name, units });
  expectFields(plan.kubernetes, expected.kubernetes ?? {});
  if (expected.packagePatch)
    expectFields(parse(firstMachine.patches.at(-1) ?? ""), expected.packagePatch);
  if (expected.patches)
    expect(firstMachine.patches).toEqual(
      expected.patches.map((text) => expect.stringContaining(text)),
    );
  if (expected.markers)
    expect(plan.kubernetes.markers.map(({ file }) => file)).toEqual(expected.markers);
  if (expected.after) expect(plan.after).toEqual(expected.after);

  // tests/workloads/clients.test.ts tests which clients a model server accepts.
  const renderedRemarks = remarks.map(renderFinding);
  const notes = renderedRemarks.filter((note) => !note.includes("clients need no key"));
  if (expected.notes) expect(notes).toEqual(matchingPatterns(expected.notes));
  expect(renderedRemarks).toEqual(
    expect.arrayContaining(matchingPatterns(expected.someNotes ?? [])),
  );
  for (const pattern of expected.absentNotes ?? [])
    expect(renderedRemarks.join("\n")).not.toMatch(pattern);
}

/** Matches a list of texts, one for each pattern. */
const matchingPatterns = (patterns: RegExp[]): unknown[] =>
  patterns.map((pattern) => expect.stringMatching(pattern));
