import { CallError } from "../../../components/clients/failure";
import { taint, untaint, type TaintedNodes } from "../../../components/program/cluster/taint";
import {
  markedTaints,
  type NodeTaints,
  taintMark,
} from "../../../components/program/cluster/taint-mark";
import type { NodeTaintState } from "../../../components/program/task";
import { FakeClock } from "../fakes";
import { errorMessageOf } from "../setup";

/**
 * A node in memory, whose version increases with every write. Another tool writes to it this many times in
 * between.
 */
class FakeNode implements TaintedNodes {
  public writes = 0;
  /** Annotation of the node. */
  public mark: string | null = null;
  /** Number of reads whose answers are lost. */
  public lost = 0;
  private version = 1;

  constructor(
    public now: NodeTaintState[],
    private races = 0,
  ) {}

  async taints(node: string): Promise<(NodeTaints & { version: string }) | undefined> {
    this.answer();
    if (node !== "velaryon") return undefined;
    return {
      taints: this.now,
      ours: markedTaints(this.mark ?? undefined),
      version: String(this.version),
    };
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
/** The same key with another value. */
const only = { key: "gpu", value: "only", effect: "NoSchedule" };
const old = { key: "old", value: "x", effect: "NoSchedule" };
const foreign = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
const staysOnNode = "the node keeps the stack's taints";

/** A step of Pulumi: it sets the stack's taints on the node, or removes them. */
type Step = (
  | {
      /** Taints of the stack; an empty list is none. */
      taints: NodeTaintState[];
      /** Set if Pulumi is killed, and so never gets the answer. */
      killed?: true;
    }
  | {
      /** Set if the machine leaves the stack, so that the stack's taints leave the node. */
      leaves: true;
    }
) & {
  /** Name of the machine. Default: that of the node. */
  machine?: string;
  /** Taints that Pulumi knows as the stack's own. Default: those of the previous answer. */
  known?: NodeTaintState[];
  /**
   * Number of reads of the node whose answers are lost. tests/program/single-fault has the case of a single lost
   * answer.
   */
  lostAnswers?: number;
  /** Error with which Kubernetes refuses to show the node. */
  refusal?: string;
  /** Taints of the node that another tool sets before the step. */
  changedByOthers?: NodeTaintState[];
  expect: {
    /** All lines of progress. */
    logs?: string[];
    /** Taints of the node afterwards. */
    nodeTaints?: NodeTaintState[];
    /** Keys of the node's taints afterwards. */
    nodeTaintKeys?: string[];
    /** The node's annotation, which lists the stack's own taints. */
    annotation?: string | null;
    /** Writes to the node since the first step. */
    writes?: number;
    /** Duration of the step in minutes. */
    minutes?: number;
  } & (
    | {
        /** The answer: the stack's own taints on the node. */
        result?: NodeTaintState[];
        error?: never;
      }
    | {
        /** Parts of the error's message. */
        error: [string, ...string[]];
        errorLacks?: string[];
      }
  );
};

/** Runs steps in order, on a node with these taints, while another tool writes to the node this many times. */
async function play(
  { nodeHas = [], foreignWrites = 0 }: { nodeHas?: NodeTaintState[]; foreignWrites?: number },
  ...steps: [Step, ...Step[]]
): Promise<void> {
  const node = new FakeNode(nodeHas, foreignWrites);
  const clock = new FakeClock();
  let lastAnswer: NodeTaintState[] | undefined;
  for (const step of steps) {
    const { machine = "velaryon", known = lastAnswer, refusal, expect: wanted } = step;
    const begin = clock.now();
    node.lost = step.lostAnswers ?? 0;
    if (step.changedByOthers) node.now = step.changedByOthers;
    if (refusal !== undefined)
      node.taints = () => Promise.reject(new CallError("refused", refusal));
    const logs: string[] = [];
    const report = (line: string): void => void logs.push(line);
    const asked: Promise<unknown> =
      "taints" in step
        ? taint({ machine, taints: step.taints }, known, node, clock, report)
        : untaint(machine, known, node, clock, report);
    if (wanted.error) {
      const message = await errorMessageOf(asked);
      for (const part of wanted.error) expect(message).toContain(part);
      for (const part of wanted.errorLacks ?? []) expect(message).not.toContain(part);
    } else {
      const answer = (await asked) as NodeTaintState[] | undefined;
      if (wanted.result) expect(answer).toEqual(wanted.result);
      lastAnswer = "killed" in step ? undefined : answer;
    }
    if (wanted.logs) expect(logs).toEqual(wanted.logs);
    if (wanted.nodeTaints) expect(node.now).toEqual(wanted.nodeTaints);
    if (wanted.nodeTaintKeys) expect(node.now.map(({ key }) => key)).toEqual(wanted.nodeTaintKeys);
    if (wanted.annotation !== undefined) expect(node.mark).toBe(wanted.annotation);
    if (wanted.writes !== undefined) expect(node.writes).toBe(wanted.writes);
    if (wanted.minutes !== undefined) expect(clock.now() - begin).toBe(wanted.minutes * 60_000);
  }
}

describe("a node", () => {
  test("gets the stack's taint once and keeps the taints of other tools", () =>
    play(
      { nodeHas: [foreign] },
      {
        taints: [gpu],
        expect: { result: [gpu], logs: ["taint: gpu"], nodeTaints: [foreign, gpu], writes: 1 },
      },
      { taints: [gpu], expect: { result: [gpu], logs: [], writes: 1 } },
      { leaves: true, expect: { logs: ["untaint: gpu"], nodeTaints: [foreign] } },
      { leaves: true, expect: { logs: [], writes: 2 } },
    ));

  test("keeps a taint that another tool adds in the meantime", () =>
    play(
      { foreignWrites: 3 },
      { taints: [gpu], expect: { nodeTaintKeys: ["foreign-2", "foreign-3", "foreign-4", "gpu"] } },
    ));

  test("gets no taint, and the run fails, if the node changes during 20 attempts", () =>
    play(
      { foreignWrites: 1000 },
      {
        taints: [gpu],
        expect: { error: ["the node changed during each of 20 attempts"] },
      },
    ));

  test("keeps a taint that it had before the stack, also after the stack is destroyed", () =>
    play(
      { nodeHas: [gpu] },
      { taints: [gpu], expect: { result: [], writes: 0 } },
      { leaves: true, expect: { nodeTaints: [gpu] } },
    ));

  test("loses a taint that the stack no longer lists, and gets a changed value", () =>
    play(
      { nodeHas: [foreign] },
      { taints: [gpu, old], expect: { result: [gpu, old] } },
      {
        taints: [only],
        expect: { logs: ["taint: gpu", "untaint: gpu, old"], nodeTaints: [foreign, only] },
      },
      { leaves: true, expect: { nodeTaints: [foreign] } },
    ));

  test("keeps a taint whose value another tool has changed", () =>
    play(
      {},
      { taints: [gpu], expect: { result: [gpu] } },
      { changedByOthers: [only], leaves: true, expect: { logs: [], nodeTaints: [only] } },
    ));

  test("must exist to get taints, but not to lose them", () =>
    play(
      {},
      {
        machine: "gone",
        taints: [gpu],
        expect: { error: ["machines.gone.taints: the cluster has no node of this name"] },
      },
      { machine: "gone", leaves: true, known: [gpu], expect: { logs: [] } },
    ));
});

describe("a run of taint", () => {
  test("after a kill, the next run reads the stack's taints from the node's annotation", () =>
    play(
      { nodeHas: [foreign] },
      { taints: [gpu], killed: true, expect: { annotation: "gpu=true:NoSchedule" } },
      { taints: [gpu], expect: { result: [gpu], writes: 1 } },
      { leaves: true, expect: { nodeTaints: [foreign], annotation: null } },
    ));

  test("after a kill, the next run removes a taint that the stack no longer lists", () =>
    play(
      { nodeHas: [foreign] },
      { taints: [gpu, old], killed: true, expect: { result: [gpu, old] } },
      {
        taints: [gpu],
        expect: {
          result: [gpu],
          writes: 2,
          nodeTaints: [foreign, gpu],
          annotation: "gpu=true:NoSchedule",
        },
      },
    ));

  test("after a kill, the next run removes the last taint", () =>
    play(
      { nodeHas: [foreign] },
      { taints: [gpu], killed: true, expect: { result: [gpu] } },
      {
        taints: [],
        expect: { result: [], logs: ["untaint: gpu"], nodeTaints: [foreign], annotation: null },
      },
    ));

  test("succeeds if the first ten answers of Kubernetes are lost", () =>
    play(
      { nodeHas: [foreign] },
      { lostAnswers: 10, taints: [gpu], expect: { result: [gpu], writes: 1 } },
      { lostAnswers: 10, leaves: true, expect: { nodeTaints: [foreign] } },
    ));

  test("fails before Pulumi gives up if Kubernetes never answers", () =>
    play(
      { nodeHas: [foreign] },
      {
        lostAnswers: Infinity,
        taints: [gpu],
        expect: {
          error: [
            "machines.velaryon.taints: Kubernetes did not answer within 4m (last: Kubernetes: connection " +
              "refused); ",
          ],
          minutes: 4,
        },
      },
    ));
});

// The error explains how Pulumi forgets the taints.
describe("the removal of the stack's taints", () => {
  test("fails with the command that makes Pulumi forget them if the cluster is down", () =>
    play(
      { nodeHas: [foreign, gpu] },
      {
        lostAnswers: Infinity,
        leaves: true,
        known: [gpu],
        expect: {
          error: [
            "machines.velaryon: Kubernetes did not answer within 4m (last: Kubernetes: connect",
            staysOnNode,
            "ends with `-upgrade`",
            "`pulumi state delete 'URN'`",
          ],
          errorLacks: ["pods that the taints should keep away"],
        },
      },
    ));

  test("fails with the command that makes Pulumi forget them if Kubernetes refuses", () =>
    play(
      { nodeHas: [foreign, gpu] },
      {
        refusal: "Kubernetes: node velaryon: Unauthorized",
        leaves: true,
        known: [gpu],
        expect: {
          error: [
            "machines.velaryon: the request to Kubernetes failed: Kubernetes: ",
            staysOnNode,
            "ends with `-upgrade`",
            "`pulumi state delete 'URN'`",
          ],
          errorLacks: ["pods that the taints should keep away"],
        },
      },
    ));

  test("succeeds while the cluster is down if the stack added no taint", () =>
    play(
      { nodeHas: [foreign] },
      { lostAnswers: Infinity, leaves: true, known: [], expect: { minutes: 0 } },
      { lostAnswers: Infinity, taints: [], expect: { result: [], minutes: 0 } },
    ));

  test("uses the node's annotation if Pulumi's state has no record", () =>
    play(
      { nodeHas: [foreign] },
      { taints: [gpu], expect: { result: [gpu] } },
      { leaves: true, known: [], expect: { logs: ["untaint: gpu"], nodeTaints: [foreign] } },
    ));

  test("fails if another tool keeps changing the node", () =>
    play(
      { nodeHas: [gpu], foreignWrites: 1000 },
      {
        leaves: true,
        known: [gpu],
        expect: {
          error: ["during each of 20 attempts; the node keeps the stack's taints"],
        },
      },
    ));
});

// The machine's own step removes it, before any pod loses its toleration.
describe("the last taint of a machine", () => {
  test("is removed, and other tools' taints stay", () =>
    play(
      { nodeHas: [foreign, gpu] },
      { taints: [], known: [gpu], expect: { result: [], nodeTaints: [foreign] } },
    ));

  test("is removed at the second request if the first got no answer", () =>
    play(
      { nodeHas: [gpu] },
      { lostAnswers: 1, taints: [], known: [gpu], expect: { result: [], nodeTaints: [] } },
    ));

  test("causes no failure if the stack had none", () =>
    play(
      { nodeHas: [foreign, gpu] },
      { taints: [], expect: { result: [], nodeTaints: [foreign, gpu], writes: 0 } },
    ));

  test("causes no failure if the node is gone", () =>
    play(
      {},
      { machine: "gone", taints: [], known: [gpu], expect: { result: [], nodeTaints: [] } },
    ));

  test("stays if another tool set it before the stack listed it", () =>
    play(
      { nodeHas: [foreign, gpu] },
      { taints: [gpu], expect: { result: [] } },
      { taints: [], expect: { nodeTaints: [foreign, gpu] } },
    ));
});

describe("taints that the answer records as the stack's", () => {
  test("include a taint that the stack added earlier", () =>
    play({ nodeHas: [gpu] }, { taints: [gpu], known: [gpu], expect: { result: [gpu] } }));

  test("include a taint that the stack added earlier and a new one", () =>
    play({ nodeHas: [gpu] }, { taints: [gpu, old], known: [gpu], expect: { result: [gpu, old] } }));

  test("include a taint whose value the stack changes", () =>
    play({ nodeHas: [only] }, { taints: [gpu], expect: { result: [gpu] } }));
});

test.each([
  [
    [gpu, { key: "example.com/a", effect: "NoExecute" }],
    "gpu=true:NoSchedule,example.com/a:NoExecute",
  ],
  [[{ key: "a", value: "", effect: "NoSchedule" }], "a:NoSchedule"],
  [[], null],
])(
  "the node's annotation has the taints %j as kubectl writes them",
  (taints: NodeTaintState[], mark) => {
    expect(taintMark(taints)).toBe(mark);
    const read = taints.map(({ value, ...rest }) => ({ ...rest, ...(value ? { value } : {}) }));
    expect(markedTaints(mark ?? undefined)).toEqual(read);
  },
);

test("an annotation with invalid content names no taint", () =>
  expect(markedTaints("nonsense,:NoSchedule,=x:NoSchedule,a:")).toEqual([]));
