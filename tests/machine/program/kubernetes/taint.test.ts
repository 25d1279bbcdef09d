import { parse } from "yaml";
import { CallError } from "../../../../components/clients/failure";
import { taint, untaint, type TaintedNodes } from "../../../../components/machine/program/kubernetes/taint";
import { markedTaints, type NodeTaints, taintMark } from "../../../../components/machine/program/kubernetes/taint-mark";
import type { Report } from "../../../../components/machine/program/progress";
import type { NodeTaintState } from "../../../../components/machine/program/task";
import { FakeClock } from "../fakes";
import { fixture, only } from "../../../support/table";
import { failure } from "../setup";

/** A node in memory, whose version goes up with every write. `races` writes of somebody else come between. */
class FakeNode implements TaintedNodes {
  public writes = 0;
  /** Annotation of the node. */
  public mark: string | null = null;
  /** Answers to reads that are lost. */
  public lost = 0;
  private version = 1;

  constructor(
    public now: NodeTaintState[],
    private races = 0,
  ) {}

  async taints(node: string): Promise<(NodeTaints & { version: string }) | undefined> {
    this.answer();
    if (node !== "velaryon") return undefined;
    return { taints: this.now, ours: markedTaints(this.mark ?? undefined), version: String(this.version) };
  }

  async setTaints(_node: string, { taints, ours }: NodeTaints, version: string): Promise<boolean> {
    if (this.races-- > 0) {
      this.version++;
      this.now = [...this.now, { key: `foreign-${this.version}`, effect: "NoSchedule" }];
    }
    if (version !== String(this.version)) return false;
    this.version++;
    this.writes++;
    this.now = taints;
    this.mark = taintMark(ours);
    return true;
  }

  private answer(): void {
    if (this.lost-- > 0) throw new CallError("unreachable", "Kubernetes: connection refused");
  }
}

const gpu = { key: "gpu", value: "true", effect: "NoSchedule" };

/** A step of a row, in which taints have their names; the table says what each part of it is. */
interface Step {
  [part: string]: any;
}
const { taints, rows } = parse(fixture("taints.yaml")) as {
  taints: Record<string, NodeTaintState>;
  rows: { name: string; has?: string[]; races?: number; steps: Step[] }[];
};
const parts = [
  ...["of", "unset", "set", "lost", "theirs", "refuses", "before", "throws"],
  ...["throwsNot", "gives", "says", "killed", "now", "keys", "mark", "writes", "minutes"],
];
/** The same with taints in the place of their names. */
const named = (names: string[] | undefined): NodeTaintState[] | undefined => names?.map((name) => taints[name]!);

/** Does one step, and gives its answer. */
function act(
  node: FakeNode,
  { of: machine = "velaryon", ...step }: Step,
  before: any,
  report: Report,
): Promise<unknown> {
  if (step["unset"]) return untaint(machine, before, node, clock, report);
  return taint({ machine, taints: named(step["set"]) }, before, node, clock, report);
}
const clock = new FakeClock();

test.each(rows.map((row) => [row.name, row] as const))("%s", async (_, { has = [], races, steps }) => {
  const node = new FakeNode(named(has)!, races);
  let known: unknown;
  for (const step of steps) {
    only(step, parts);
    const begin = clock.now();
    node.lost = step["lost"] ?? 0;
    if (step["theirs"]) node.now = named(step["theirs"])!;
    if (step["refuses"]) node.taints = () => Promise.reject(new CallError("refused", step["refuses"]));
    const said: string[] = [];
    const before = "before" in step ? named(step["before"]) : known;
    const asked = act(node, step, before, (line) => said.push(line));
    if (step["throws"]) {
      const message = await failure(asked);
      for (const part of step["throws"]) expect(message).toContain(part);
      if (step["throwsNot"]) expect(message).not.toContain(step["throwsNot"]);
    } else {
      const answer: unknown = await asked;
      if ("gives" in step) expect(answer).toEqual(named(step["gives"]));
      known = step["killed"] ? undefined : answer;
    }
    if (step["says"]) expect(said).toEqual(step["says"]);
    if (step["now"]) expect(node.now).toEqual(named(step["now"]));
    if (step["keys"]) expect(node.now.map(({ key }) => key)).toEqual(step["keys"]);
    if ("mark" in step) expect(node.mark).toBe(step["mark"]);
    if ("writes" in step) expect(node.writes).toBe(step["writes"]);
    if ("minutes" in step) expect(clock.now() - begin).toBe(step["minutes"] * 60_000);
  }
});

test.each([
  [[gpu, { key: "example.com/a", effect: "NoExecute" }], "gpu=true:NoSchedule,example.com/a:NoExecute"],
  [[{ key: "a", value: "", effect: "NoSchedule" }], "a:NoSchedule"],
  [[], null],
])("taints are marked as kubectl writes them: %j", (taints: NodeTaintState[], mark) => {
  expect(taintMark(taints)).toBe(mark);
  const read = taints.map(({ value, ...rest }) => ({ ...rest, ...(value ? { value } : {}) }));
  expect(markedTaints(mark ?? undefined)).toEqual(read);
});

test("an annotation that somebody has spoiled names no taint", () =>
  expect(markedTaints("nonsense,:NoSchedule,=x:NoSchedule,a:")).toEqual([]));
