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
 * A node in memory, whose version increases with every write. Another tool writes to it `foreignWrites` times in
 * between.
 */
class FakeNode implements TaintedNodes {
  public writes = 0;
  /** Annotation of the node. */
  public mark: string | null = null;
  /** Number of reads whose answers are lost. */
  public lostAnswers = 0;
  private version = 1;

  constructor(
    public currentTaints: NodeTaintState[],
    private foreignWrites = 0,
  ) {}

  async taints(node: string): Promise<(NodeTaints & { version: string }) | undefined> {
    this.answer();
    if (node !== "velaryon") return undefined;
    return {
      taints: this.currentTaints,
      stackTaints: markedTaints(this.mark ?? undefined),
      version: String(this.version),
    };
  }

  async setTaints(
    _node: string,
    { taints, stackTaints }: NodeTaints,
    version: string,
  ): Promise<boolean> {
    if (this.foreignWrites-- > 0) {
      this.version++;
      this.currentTaints = [
        ...this.currentTaints,
        { key: `foreign-${this.version}`, effect: "NoSchedule" },
      ];
    }
    if (version !== String(this.version)) return false;
    this.version++;
    this.writes++;
    this.currentTaints = taints;
    this.mark = taintMark(stackTaints);
    return true;
  }

  private answer(): void {
    if (this.lostAnswers-- > 0)
      throw new CallError("unreachable", "Kubernetes: connection refused");
  }
}

const gpuTaint = { key: "gpu", value: "true", effect: "NoSchedule" };
/** The same key with another value. */
const gpuTaintWithOtherValue = { key: "gpu", value: "only", effect: "NoSchedule" };
const secondTaint = { key: "old", value: "x", effect: "NoSchedule" };
const foreignTaint = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
const staysOnNode = "the node keeps the stack's taints";

/** A step of Pulumi: it sets the stack's taints on the node, or removes them. */
type Step = (
  | {
      /** Taints of the stack; an empty list is none. */
      taints: NodeTaintState[];
      /** Set if Pulumi is killed, and so never gets the answer. */
      isKilled?: true;
    }
  | {
      /** Set if the machine leaves the stack, so that the stack's taints leave the node. */
      leavesStack: true;
    }
) & {
  /** Name of the machine. Default: that of the node. */
  machine?: string;
  /** Taints that Pulumi knows as the stack's own. Default: those of the previous answer. */
  recordedTaints?: NodeTaintState[];
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
async function runSteps(
  { nodeHas = [], foreignWrites = 0 }: { nodeHas?: NodeTaintState[]; foreignWrites?: number },
  ...steps: [Step, ...Step[]]
): Promise<void> {
  const node = new FakeNode(nodeHas, foreignWrites);
  const clock = new FakeClock();
  let lastAnswer: NodeTaintState[] | undefined;
  for (const step of steps) {
    const { machine = "velaryon", recordedTaints = lastAnswer, refusal, expect: expected } = step;
    const startTime = clock.now();
    node.lostAnswers = step.lostAnswers ?? 0;
    if (step.changedByOthers) node.currentTaints = step.changedByOthers;
    if (refusal !== undefined)
      node.taints = () => Promise.reject(new CallError("refused", refusal));
    const logLines: string[] = [];
    const report = (line: string): void => void logLines.push(line);
    const run: Promise<unknown> =
      "taints" in step
        ? taint({ machine, taints: step.taints }, recordedTaints, node, clock, report)
        : untaint(machine, recordedTaints, node, clock, report);
    if (expected.error) {
      const message = await errorMessageOf(run);
      for (const part of expected.error) expect(message).toContain(part);
      for (const part of expected.errorLacks ?? []) expect(message).not.toContain(part);
    } else {
      const answer = (await run) as NodeTaintState[] | undefined;
      if (expected.result) expect(answer).toEqual(expected.result);
      lastAnswer = "isKilled" in step ? undefined : answer;
    }
    if (expected.logs) expect(logLines).toEqual(expected.logs);
    if (expected.nodeTaints) expect(node.currentTaints).toEqual(expected.nodeTaints);
    if (expected.nodeTaintKeys)
      expect(node.currentTaints.map(({ key }) => key)).toEqual(expected.nodeTaintKeys);
    if (expected.annotation !== undefined) expect(node.mark).toBe(expected.annotation);
    if (expected.writes !== undefined) expect(node.writes).toBe(expected.writes);
    if (expected.minutes !== undefined)
      expect(clock.now() - startTime).toBe(expected.minutes * 60_000);
  }
}

describe("a node", () => {
  test("gets the stack's taint once and keeps the taints of other tools", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      {
        taints: [gpuTaint],
        expect: {
          result: [gpuTaint],
          logs: ["taint: gpu"],
          nodeTaints: [foreignTaint, gpuTaint],
          writes: 1,
        },
      },
      { taints: [gpuTaint], expect: { result: [gpuTaint], logs: [], writes: 1 } },
      { leavesStack: true, expect: { logs: ["untaint: gpu"], nodeTaints: [foreignTaint] } },
      { leavesStack: true, expect: { logs: [], writes: 2 } },
    ));

  test("keeps a taint that another tool adds in the meantime", () =>
    runSteps(
      { foreignWrites: 3 },
      {
        taints: [gpuTaint],
        expect: { nodeTaintKeys: ["foreign-2", "foreign-3", "foreign-4", "gpu"] },
      },
    ));

  test("gets no taint, and the run fails, if the node changes during 20 attempts", () =>
    runSteps(
      { foreignWrites: 1000 },
      {
        taints: [gpuTaint],
        expect: { error: ["the node changed during each of 20 attempts"] },
      },
    ));

  test("keeps a taint that it had before the stack, also after the stack is destroyed", () =>
    runSteps(
      { nodeHas: [gpuTaint] },
      { taints: [gpuTaint], expect: { result: [], writes: 0 } },
      { leavesStack: true, expect: { nodeTaints: [gpuTaint] } },
    ));

  test("loses a taint that the stack no longer lists, and gets a changed value", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      { taints: [gpuTaint, secondTaint], expect: { result: [gpuTaint, secondTaint] } },
      {
        taints: [gpuTaintWithOtherValue],
        expect: {
          logs: ["taint: gpu", "untaint: gpu, old"],
          nodeTaints: [foreignTaint, gpuTaintWithOtherValue],
        },
      },
      { leavesStack: true, expect: { nodeTaints: [foreignTaint] } },
    ));

  test("keeps a taint whose value another tool has changed", () =>
    runSteps(
      {},
      { taints: [gpuTaint], expect: { result: [gpuTaint] } },
      {
        changedByOthers: [gpuTaintWithOtherValue],
        leavesStack: true,
        expect: { logs: [], nodeTaints: [gpuTaintWithOtherValue] },
      },
    ));

  test("must exist to get taints, but not to lose them", () =>
    runSteps(
      {},
      {
        machine: "gone",
        taints: [gpuTaint],
        expect: { error: ["machines.gone.taints: the cluster has no node of this name"] },
      },
      { machine: "gone", leavesStack: true, recordedTaints: [gpuTaint], expect: { logs: [] } },
    ));
});

describe("a run of taint", () => {
  test("after a kill, the next run reads the stack's taints from the node's annotation", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      { taints: [gpuTaint], isKilled: true, expect: { annotation: "gpu=true:NoSchedule" } },
      { taints: [gpuTaint], expect: { result: [gpuTaint], writes: 1 } },
      { leavesStack: true, expect: { nodeTaints: [foreignTaint], annotation: null } },
    ));

  test("after a kill, the next run removes a taint that the stack no longer lists", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      {
        taints: [gpuTaint, secondTaint],
        isKilled: true,
        expect: { result: [gpuTaint, secondTaint] },
      },
      {
        taints: [gpuTaint],
        expect: {
          result: [gpuTaint],
          writes: 2,
          nodeTaints: [foreignTaint, gpuTaint],
          annotation: "gpu=true:NoSchedule",
        },
      },
    ));

  test("after a kill, the next run removes the last taint", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      { taints: [gpuTaint], isKilled: true, expect: { result: [gpuTaint] } },
      {
        taints: [],
        expect: {
          result: [],
          logs: ["untaint: gpu"],
          nodeTaints: [foreignTaint],
          annotation: null,
        },
      },
    ));

  test("succeeds if the first ten answers of Kubernetes are lost", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      { lostAnswers: 10, taints: [gpuTaint], expect: { result: [gpuTaint], writes: 1 } },
      { lostAnswers: 10, leavesStack: true, expect: { nodeTaints: [foreignTaint] } },
    ));

  test("fails before Pulumi gives up if Kubernetes never answers", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      {
        lostAnswers: Infinity,
        taints: [gpuTaint],
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
    runSteps(
      { nodeHas: [foreignTaint, gpuTaint] },
      {
        lostAnswers: Infinity,
        leavesStack: true,
        recordedTaints: [gpuTaint],
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
    runSteps(
      { nodeHas: [foreignTaint, gpuTaint] },
      {
        refusal: "Kubernetes: node velaryon: Unauthorized",
        leavesStack: true,
        recordedTaints: [gpuTaint],
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
    runSteps(
      { nodeHas: [foreignTaint] },
      { lostAnswers: Infinity, leavesStack: true, recordedTaints: [], expect: { minutes: 0 } },
      { lostAnswers: Infinity, taints: [], expect: { result: [], minutes: 0 } },
    ));

  test("uses the node's annotation if Pulumi's state has no record", () =>
    runSteps(
      { nodeHas: [foreignTaint] },
      { taints: [gpuTaint], expect: { result: [gpuTaint] } },
      {
        leavesStack: true,
        recordedTaints: [],
        expect: { logs: ["untaint: gpu"], nodeTaints: [foreignTaint] },
      },
    ));

  test("fails if another tool keeps changing the node", () =>
    runSteps(
      { nodeHas: [gpuTaint], foreignWrites: 1000 },
      {
        leavesStack: true,
        recordedTaints: [gpuTaint],
        expect: {
          error: ["during each of 20 attempts; the node keeps the stack's taints"],
        },
      },
    ));
});

// The machine's own step removes it, before any pod loses its toleration.
describe("the last taint of a machine", () => {
  test("is removed, and other tools' taints stay", () =>
    runSteps(
      { nodeHas: [foreignTaint, gpuTaint] },
      {
        taints: [],
        recordedTaints: [gpuTaint],
        expect: { result: [], nodeTaints: [foreignTaint] },
      },
    ));

  test("is removed at the second request if the first got no answer", () =>
    runSteps(
      { nodeHas: [gpuTaint] },
      {
        lostAnswers: 1,
        taints: [],
        recordedTaints: [gpuTaint],
        expect: { result: [], nodeTaints: [] },
      },
    ));

  test("causes no failure if the stack had none", () =>
    runSteps(
      { nodeHas: [foreignTaint, gpuTaint] },
      { taints: [], expect: { result: [], nodeTaints: [foreignTaint, gpuTaint], writes: 0 } },
    ));

  test("causes no failure if the node is gone", () =>
    runSteps(
      {},
      {
        machine: "gone",
        taints: [],
        recordedTaints: [gpuTaint],
        expect: { result: [], nodeTaints: [] },
      },
    ));

  test("stays if another tool set it before the stack listed it", () =>
    runSteps(
      { nodeHas: [foreignTaint, gpuTaint] },
      { taints: [gpuTaint], expect: { result: [] } },
      { taints: [], expect: { nodeTaints: [foreignTaint, gpuTaint] } },
    ));
});

describe("taints that the answer records as the stack's", () => {
  test("include a taint that the stack added earlier", () =>
    runSteps(
      { nodeHas: [gpuTaint] },
      { taints: [gpuTaint], recordedTaints: [gpuTaint], expect: { result: [gpuTaint] } },
    ));

  test("include a taint that the stack added earlier and a new one", () =>
    runSteps(
      { nodeHas: [gpuTaint] },
      {
        taints: [gpuTaint, secondTaint],
        recordedTaints: [gpuTaint],
        expect: { result: [gpuTaint, secondTaint] },
      },
    ));

  test("include a taint whose value the stack changes", () =>
    runSteps(
      { nodeHas: [gpuTaintWithOtherValue] },
      { taints: [gpuTaint], expect: { result: [gpuTaint] } },
    ));
});

test.each([
  [
    [gpuTaint, { key: "example.com/a", effect: "NoExecute" }],
    "gpu=true:NoSchedule,example.com/a:NoExecute",
  ],
  [[{ key: "a", value: "", effect: "NoSchedule" }], "a:NoSchedule"],
  [[], null],
])(
  "the node's annotation has the taints %j as kubectl writes them",
  (taints: NodeTaintState[], annotation) => {
    expect(taintMark(taints)).toBe(annotation);
    const expectedTaints = taints.map(({ value, ...rest }) => ({
      ...rest,
      ...(value ? { value } : {}),
    }));
    expect(markedTaints(annotation ?? undefined)).toEqual(expectedTaints);
  },
);

test("an annotation with invalid content names no taint", () =>
  expect(markedTaints("nonsense,:NoSchedule,=x:NoSchedule,a:")).toEqual([]));
