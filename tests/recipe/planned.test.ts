import { parse } from "yaml";
import { judge, planCluster, type ClusterSpec } from "../../components/recipe";
import { expectSaid } from "../support/said";
import { fixture, table } from "../support/table";
import { merged, validStack } from "./stacks";

/** A row of tests/fixtures/planned.yaml, which says what each part is. */
interface Planned {
  name: string;
  base?: string;
  on?: string;
  machine?: object;
  change?: object;
  planned?: object;
  kubernetes?: object;
  ours?: object;
  /** Parts of the plans of further machines. */
  machines?: Record<string, object>;
  allocatable?: Record<string, object>;
  /** The machine's patches, each by its beginning. */
  patches?: string[];
  /** Names of the marker files. */
  markers?: string[];
  after?: object;
  notes?: string[];
  told?: string[];
  untold?: string[];
  findings?: string[];
}

const parts = [
  ...([
    "name",
    "base",
    "on",
    "machine",
    "change",
    "planned",
    "kubernetes",
    "ours",
    "machines",
  ] as const),
  ...([
    "allocatable",
    "patches",
    "markers",
    "after",
    "notes",
    "told",
    "untold",
    "findings",
  ] as const),
];

const matching = (patterns: string[]): unknown[] =>
  patterns.map((each) => expect.stringMatching(new RegExp(each)));

test.each(table<Planned>(fixture("planned.yaml"), parts))("%s", (_, row) => {
  const base = validStack(row.base ?? "one-card");
  const [first] = Object.keys(base.machines);
  const of = merged(base, {
    ...(row.on === undefined ? {} : { talosVersion: row.on }),
    machines: { [first!]: row.machine ?? {} },
  });
  const stack = merged(of, row.change ?? {}) as ClusterSpec;
  const { findings, plan = planCluster(stack) } = judge(stack);
  const said = findings.map(({ check, field, problem }) => `${check} ${field}: ${problem}`);
  expect(said).toEqual(matching(row.findings ?? []));
  const { [first!]: machine, ...others } = Object.fromEntries(
    plan.machines.map((one) => [one.name, one]),
  );
  expectSaid(machine, row.planned ?? {});
  expectSaid({ ...others, [first!]: machine }, row.machines ?? {});
  expectSaid(plan.kubernetes, row.kubernetes ?? {});
  if (row.ours !== undefined) expectSaid(parse(machine!.patches.at(-1) ?? ""), row.ours);
  for (const [name, units] of Object.entries(row.allocatable ?? {}))
    expect([name, { ...others, [first!]: machine! }[name]!.allocatable]).toEqual([name, units]);
  if (row.patches)
    expect(machine!.patches).toEqual(row.patches.map((text) => expect.stringContaining(text)));
  if (row.markers) expect(plan.kubernetes.markers.map(({ file }) => file)).toEqual(row.markers);
  if (row.after) expect(plan.after).toEqual(row.after);
  // Whom a model server answers is the subject of tests/workloads/clients.test.ts; the base stacks have one that is open to all pods.
  const notes = plan.notes.filter((note) => !note.includes("asks for no key"));
  if (row.notes) expect(notes).toEqual(matching(row.notes));
  expect(plan.notes).toEqual(expect.arrayContaining(matching(row.told ?? [])));
  for (const pattern of row.untold ?? [])
    expect(plan.notes.join("\n")).not.toMatch(new RegExp(pattern));
});
