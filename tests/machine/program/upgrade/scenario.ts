import { parse } from "yaml";
import { CallError, type CallProblem } from "../../../../components/clients/failure";
import type { UpgradeResult } from "../../../../components/machine/program/task";
import { upgrade } from "../../../../components/machine/program/upgrade/upgrade";
import { pausePhases } from "../../../../components/recipe/effect";
import { type FakeCluster, FakeMachine, pod, schematics } from "../fakes";
import { fixture, only } from "../../../support/table";
import { setup, STAGED } from "../setup";

/** Fields of the fake machine, the fake cluster, or the node that is in it. */
type Fields = Record<string, any>;
/** A call of a machine, how it fails, how often, and whether it is done all the same. */
type Fault = [call: string, problem: CallProblem, times?: number, effect?: boolean];

/** What happens after so many seconds, or with a call and so many seconds after it. */
interface Event {
  at?: number;
  call?: string;
  after?: number;
  machine?: Fields;
  cluster?: Fields;
  node?: Fields;
  /** Boots of the machine. */
  boots?: number;
  /** A pod that goes. */
  gone?: string;
}

/** A run: what is there, and what comes of it. `$plain`, `$gpu`, `$other` are schematics, `$staged` is a configuration that asks for the driver. */
interface Step {
  /** What of the task differs, and what comes to the image that it wants. */
  task?: Fields;
  adds?: { extensions?: string[]; kernelArgs?: string[] };
  previous?: Pick<UpgradeResult, "schematicId">;
  machine?: Fields;
  cluster?: Fields;
  /** What else it works with. */
  bench?: Fields;
  /** The stack's other control planes, and what else is at addresses of the cluster. */
  others?: Record<string, Fields>;
  network?: Record<string, Fields>;
  fails?: Fault[];
  /** Answers of the machine, by call. */
  answers?: Fields;
  /** Release whose image is installed already, and boots. */
  boots?: string;
  events?: Event[];

  /** What it answers. */
  result?: Fields;
  /** Parts, or between slashes patterns, of why it fails; and parts that are not in it. */
  error?: string[];
  errorNever?: string[];
  /** Calls that change the machine, and those that change what Kubernetes has, each once. `untouched`: none. */
  calls?: string[];
  kubernetes?: string[];
  untouched?: boolean;
  /** How machine and node are in the end. */
  is?: Fields;
  node?: Fields;
  disk?: string;
  /** Lines that it says, in the same way; those that it says once, and those that it never says. */
  says?: string[];
  saysOnce?: string[];
  never?: string[];
  /** How long it takes: at least, and less than. */
  minutes?: [number, number];
  /** Phases, and seconds that one takes at least. */
  phases?: string[];
  took?: Record<string, number>;
}

/** A scenario: one run, or several of the same machine, the first of which is as the scenario itself says. */
export interface Scenario extends Step {
  name: string;
  steps?: Step[];
}

/** The scenarios of a table of tests/fixtures/upgrades. */
export const scenarios = (table: string): Scenario[] =>
  filled(parse(fixture(`upgrades/${table}.yaml`), { merge: true }));

/** All parts that a step may have. */
const parts: (keyof Scenario)[] = [
  ...(["name", "steps", "task", "adds", "previous", "machine", "cluster", "bench", "others", "network"] as const),
  ...(["fails", "answers", "boots", "events", "result", "error", "errorNever", "calls", "kubernetes"] as const),
  ...(["untouched", "is", "node", "disk", "says", "saysOnce", "never", "minutes", "phases", "took"] as const),
];

function filled(value: any): any {
  if (Array.isArray(value)) return value.map(filled);
  if (typeof value === "string")
    return value
      .replace("$staged", STAGED)
      .replace(/\$(plain|gpu|other)/g, (_, name: keyof typeof schematics) => schematics[name]);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, filled(part)]));
}

/** Runs a scenario, and fails unless all comes as it says. */
export async function play({ steps = [{}], ...first }: Scenario): Promise<void> {
  const there = setup();
  for (const step of [first, ...steps]) only(step as Scenario, parts);
  for (const [index, step] of steps.entries()) await run(there, index === 0 ? { ...first, ...step } : step);
}

async function run(parts: ReturnType<typeof setup>, step: Step): Promise<void> {
  const { clock, machine, cluster, lines } = parts;
  const begin = { at: clock.now(), calls: machine.calls.length, kubernetes: cluster.calls.length, lines: lines.length };
  arrange(parts, step);
  const { wanted } = setup(undefinedForNull(step.task));
  for (const field of ["extensions", "kernelArgs"] as const) wanted.image[field].push(...(step.adds?.[field] ?? []));
  const asked = { ...parts.bench, ...undefinedForNull(step.bench) };
  let result: UpgradeResult | undefined;
  let error: Error | undefined;
  await upgrade(wanted, asked, step.previous).then(
    (answer) => (result = answer),
    (thrown: Error) => (error = thrown),
  );
  if (error !== undefined && step.error === undefined) throw error;

  for (const part of step.error ?? []) expect(error?.message ?? "no failure").toEqual(having(part));
  for (const part of step.errorNever ?? []) expect(error?.message).not.toContain(part);
  if (step.result !== undefined) expect(result).toMatchObject(step.result);
  const once = (calls: string[]): string[] => calls.filter((call, index) => calls.indexOf(call) === index);
  const [done, inKubernetes] = [machine.calls.slice(begin.calls), once(cluster.calls.slice(begin.kubernetes))];
  if (step.untouched) expect([done, inKubernetes]).toEqual([[], []]);
  if (step.calls) expect(done).toEqual(step.calls);
  if (step.kubernetes) expect(inKubernetes).toEqual(step.kubernetes);
  if (step.is) expect(machine).toMatchObject(step.is);
  if (step.node) expect(cluster.state).toMatchObject(step.node);
  if (step.disk) expect(machine.disk).toContain(step.disk);
  const said = lines.slice(begin.lines);
  for (const part of step.says ?? []) expect(said).toContainEqual(having(part));
  for (const part of step.saysOnce ?? []) expect(said.filter((line) => line.includes(part))).toHaveLength(1);
  for (const part of step.never ?? []) expect(said.join("\n")).not.toContain(part);
  if (step.minutes) {
    const [least, below] = step.minutes;
    expect((clock.now() - begin.at) / 60_000).toBeGreaterThanOrEqual(least);
    expect((clock.now() - begin.at) / 60_000).toBeLessThan(below);
  }
  // Its limit (`longestRun`) counts each phase once, and those of a paused boot twice.
  const names = result?.phases.map(({ name }) => name) ?? [];
  const again = names.filter((name, index) => names.indexOf(name) !== index);
  expect(again).toEqual(pausePhases.filter((name) => again.includes(name)));
  if (step.phases) expect(result!.phases.map(({ name }) => name)).toEqual(step.phases);
  for (const [phase, seconds] of Object.entries(step.took ?? {}))
    expect(result!.phases.find(({ name }) => name === phase)!.seconds).toBeGreaterThanOrEqual(seconds);
}

function arrange({ clock, machine, cluster, bench }: ReturnType<typeof setup>, step: Step): void {
  assign(machine, step.machine ?? {});
  if (step.boots !== undefined) {
    machine.install(`factory.talos.dev/metal-installer/${schematics.gpu}:${step.boots}`);
    machine.boot();
    const { talosVersion: _version, schematicId: _schematic, ...others } = step.machine ?? {};
    assign(machine, others);
  }
  for (const [call, problem, times, effect] of step.fails ?? []) machine.fail(call, problem, times, effect);
  for (const [call, answer] of Object.entries(step.answers ?? {}))
    Object.assign(machine, { [call]: () => Promise.resolve(answer as unknown) });
  const made = (fields: Fields): FakeMachine => {
    const { fails = [], ...others } = fields;
    const it = assign(new FakeMachine(clock), others);
    for (const [call, problem] of fails as Fault[]) it.fail(call, problem);
    return it;
  };
  for (const [address, fields] of Object.entries(step.network ?? {})) machine.network[address] = made(fields);
  if (step.others) bench.others = new Map(Object.entries(step.others).map(([at, fields]) => [at, made(fields)]));
  change(cluster, step.cluster ?? {});
  if (step.cluster?.["servedByMachine"])
    Object.defineProperty(cluster, "unreachable", { get: () => machine.down || machine.stageName !== "running" });

  const happen = (event: Event): void => {
    assign(machine, event.machine ?? {});
    machine.boots += event.boots ?? 0;
    change(cluster, event.cluster ?? {});
    if (event.node) cluster.state = { ...cluster.state!, ...event.node };
    if (event.gone) cluster.podList = cluster.podList.filter(({ name }) => name !== event.gone);
  };
  const { events = [] } = step;
  for (const event of events) if (event.at !== undefined) clock.after(event.at, () => happen(event));
  machine.afterCall = cluster.afterCall = (call) => {
    for (const event of events.filter((each) => each.call === call)) {
      if (event.after === undefined) happen(event);
      else clock.after(event.after, () => happen(event));
    }
  };
}

/** Fields of a machine; a copy of each, since scenarios share them. */
const assign = (machine: FakeMachine, fields: Fields): FakeMachine =>
  Object.assign(machine, JSON.parse(JSON.stringify(fields)) as Fields);

/** `nodes` may be how they cannot be had. */
function change(
  cluster: FakeCluster,
  { podList, budgets, failing, nodes, servedByMachine: _, ...others }: Fields,
): void {
  if (nodes) cluster.nodes = () => nodesOf(nodes as any[]);
  Object.assign(cluster, JSON.parse(JSON.stringify(others)));
  Object.assign(cluster.budgets, budgets);
  for (const [name, [problem, message]] of Object.entries<[CallProblem, string]>(failing ?? {}))
    cluster.failing[name] = new CallError(problem, message);
  if (podList) cluster.podList = (podList as Fields[]).map(({ name, ...more }) => pod(name as string, more));
}

async function nodesOf(nodes: any[]): Promise<any> {
  const [problem, message] = nodes;
  if (typeof problem === "string") throw new CallError(problem as CallProblem, message as string);
  return nodes;
}

const undefinedForNull = (fields: Fields = {}): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value ?? undefined]));
const having = (part: string): unknown =>
  /^\/.*\/$/.test(part) ? expect.stringMatching(new RegExp(part.slice(1, -1))) : expect.stringContaining(part);
