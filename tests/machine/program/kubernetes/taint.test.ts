import { CallError } from "../../../../components/clients/failure";
import {
  dropTaints,
  ownTaints,
  taint,
  untaint,
  type NodeTaints,
  type TaintedNodes,
} from "../../../../components/machine/program/kubernetes/taint";
import { markedTaints, taintMark } from "../../../../components/machine/program/kubernetes/taint-mark";
import type { NodeTaintState, TaintResult } from "../../../../components/machine/program/task";
import { FakeClock } from "../fakes";
import { failure } from "../setup";

/** A node in memory, whose version goes up with every write. `races` writes of somebody else come between. */
class FakeNode implements TaintedNodes {
  public writes = 0;
  /** Annotation of the node. */
  public mark: string | null = null;
  /** Answers of either call that are lost; what was asked is done all the same. */
  public lost = 0;
  /** Called when a write is done, before its answer. */
  public afterWrite: () => void = () => {};
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
    this.afterWrite();
    this.answer();
    return true;
  }

  private answer(): void {
    if (this.lost-- > 0) throw new CallError("unreachable", "Kubernetes: connection refused");
  }
}

const gpu = { key: "gpu", value: "true", effect: "NoSchedule" };
const foreign = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
const quiet = (): void => {};
const clock = new FakeClock();
const set = (node: FakeNode, taints = [gpu], previous?: TaintResult): Promise<TaintResult> =>
  taint({ machine: "velaryon", taints }, previous, node, clock, quiet);
const unset = (node: FakeNode, previous?: TaintResult): Promise<{ changed: boolean }> =>
  untaint({ machine: "velaryon", taints: [gpu] }, previous, node, clock, quiet);

test("adds the stack's taint and leaves those of others, as they are", async () => {
  const node = new FakeNode([foreign]);
  expect(await set(node)).toEqual({ added: [gpu], changed: true });
  expect(node.now).toEqual([foreign, gpu]);
});

test("does nothing the second time, and still knows what is its own", async () => {
  const node = new FakeNode([foreign]);
  const first = await set(node);
  expect(await set(node, [gpu], first)).toEqual({ added: [gpu], changed: false });
  expect(node.writes).toBe(1);
});

test("keeps what somebody adds in between", async () => {
  const node = new FakeNode([], 3);
  await set(node);
  expect(node.now.map(({ key }) => key)).toEqual(["foreign-2", "foreign-3", "foreign-4", "gpu"]);
});

test("takes back its own, and no other", async () => {
  const node = new FakeNode([foreign]);
  const result = await set(node);
  expect(await unset(node, result)).toEqual({ changed: true });
  expect(node.now).toEqual([foreign]);
  expect(await unset(node, result)).toEqual({ changed: false });
});

test("a taint that was there before stays when the stack goes", async () => {
  const node = new FakeNode([gpu]);
  const result = await set(node);
  expect(result).toEqual({ added: [], changed: false });
  await unset(node, result);
  expect(node.now).toEqual([gpu]);
});

test("a taint that the stack no longer says goes, one with a new value is changed", async () => {
  const node = new FakeNode([foreign]);
  const first = await set(node, [gpu, { key: "old", value: "x", effect: "NoSchedule" }]);
  const changed = { ...gpu, value: "only" };
  const second = await set(node, [changed], first);
  expect(node.now).toEqual([foreign, changed]);
  await unset(node, second);
  expect(node.now).toEqual([foreign]);
});

test("one that somebody gave another value since is theirs", async () => {
  const node = new FakeNode([]);
  const result = await set(node);
  node.now = [{ ...gpu, value: "theirs" }];
  expect(await unset(node, result)).toEqual({ changed: false });
});

test("without the node, taint says so and untaint has nothing to do", async () => {
  const node = new FakeNode([]);
  await expect(taint({ machine: "gone", taints: [gpu] }, undefined, node, clock, quiet)).rejects.toThrow(
    "machines.gone.taints: the cluster has no node of this name",
  );
  const added = { added: [gpu], changed: true };
  expect(await untaint({ machine: "gone", taints: [gpu] }, added, node, clock, quiet)).toEqual({ changed: false });
});

test("does not try for ever", async () => {
  const node = new FakeNode([], 1000);
  await expect(set(node)).rejects.toThrow("somebody else changed the node during each of 20 attempts");
});

describe("an answer that is lost", () => {
  test("to the update: the next one knows by the node what is its own", async () => {
    const node = new FakeNode([foreign]);
    await set(node); // killed before Pulumi has its answer
    expect(node.mark).toBe("gpu=true:NoSchedule");
    const second = await set(node);
    expect(second).toEqual({ added: [gpu], changed: false });
    await unset(node, second);
    expect([node.now, node.mark]).toEqual([[foreign], null]);
  });

  test("to the update: what the stack no longer says by then goes", async () => {
    const node = new FakeNode([foreign]);
    await set(node, [gpu, { key: "old", value: "x", effect: "NoExecute" }]);
    expect(await set(node)).toEqual({ added: [gpu], changed: true });
    expect([node.now, node.mark]).toEqual([[foreign, gpu], "gpu=true:NoSchedule"]);
  });

  test("to the upgrade of a machine: its taints are the stack's own still", async () => {
    const node = new FakeNode([foreign]);
    await set(node);
    expect(await ownTaints({ machine: "velaryon", taints: [gpu] }, undefined, node, clock)).toEqual([gpu]);
    await dropTaints({ machine: "velaryon" }, [gpu], node, clock, quiet);
    expect([node.now, node.mark]).toEqual([[foreign], null]);
  });

  test.each([1, 2, 10])("by Kubernetes, %s times: it is asked again", async (lost) => {
    const node = new FakeNode([foreign]);
    node.lost = lost;
    const result = await set(node);
    expect(result.added).toEqual([gpu]);
    node.lost = lost;
    await unset(node, result);
    expect(node.now).toEqual([foreign]);
  });

  test("by Kubernetes after the write: what was written is the stack's own", async () => {
    const node = new FakeNode([foreign]);
    node.afterWrite = () => (node.lost = 1);
    expect((await set(node)).added).toEqual([gpu]);
    expect(node.writes).toBe(1);
  });

  test("by Kubernetes for ever: it ends before Pulumi does, and says who did not answer", async () => {
    const node = new FakeNode([foreign]);
    node.lost = Infinity;
    const start = clock.now();
    await expect(set(node)).rejects.toThrow(
      "machines.velaryon.taints: Kubernetes did not answer within 4m (last: Kubernetes: connection refused); ",
    );
    expect(clock.now() - start).toBe(4 * 60_000);
  });
});

describe("a cluster that does not answer when taints leave the stack", () => {
  const refused = new CallError("refused", "Kubernetes: node velaryon: Unauthorized");
  test.each<[string, (node: FakeNode) => void, string]>([
    [
      "that is down",
      (node) => (node.lost = Infinity),
      "Kubernetes did not answer within 4m (last: Kubernetes: connect",
    ],
    [
      "that refuses",
      (node) => (node.taints = () => Promise.reject(refused)),
      "Kubernetes cannot be asked: Kubernetes: ",
    ],
  ])("%s: the message says how the stack forgets them", async (_, spoil, problem) => {
    const node = new FakeNode([foreign, gpu]);
    spoil(node);
    const message = await failure(unset(node, { added: [gpu], changed: true }));
    expect(message).toContain(`machines.velaryon: ${problem}`);
    expect(message).toContain("the stack's taints could not be taken off the node");
    expect(message).toContain("ends with `-taints`");
    expect(message).not.toContain("pods that do not belong there");
  });

  test("nothing was added: it is looked at once, and does not stop the update", async () => {
    const node = new FakeNode([foreign]);
    node.lost = Infinity;
    const start = clock.now();
    expect(await unset(node, { added: [], changed: false })).toEqual({ changed: false });
    expect(clock.now() - start).toBe(0);
  });

  test("nothing was added that Pulumi knows of: what the node's mark names still goes", async () => {
    const node = new FakeNode([foreign]);
    await set(node);
    expect(await unset(node, { added: [], changed: false })).toEqual({ changed: true });
  });

  test("somebody else keeps changing the node: the taints are said to stay", async () => {
    const node = new FakeNode([gpu], 1000);
    const message = await failure(unset(node, { added: [gpu], changed: true }));
    expect(message).toContain("during each of 20 attempts; the stack's taints could not be taken off the node");
  });
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

describe("the last taint of a machine goes with the machine's own step, before anything is without its toleration", () => {
  const drop = async (wanted: NodeTaintState[], before: NodeTaintState[] | undefined): Promise<NodeTaintState[]> => {
    const node = new FakeNode([foreign, gpu]);
    await dropTaints({ machine: "velaryon", taints: wanted }, before, node, clock, quiet);
    return node.now;
  };

  test("it goes, and those of others stay", async () => expect(await drop([], [gpu])).toEqual([foreign]));
  test("of several, `taint` drops it", async () => expect(await drop([foreign], [gpu])).toEqual([foreign, gpu]));
  test("the stack had none", async () => expect(await drop([], undefined)).toEqual([foreign, gpu]));
  test("a node that is gone has none", async () => {
    await dropTaints({ machine: "gone", taints: [] }, [gpu], new FakeNode([]), clock, quiet);
  });
});

describe("what is the stack's own among its taints", () => {
  const own = (wanted: NodeTaintState[], before: NodeTaintState[] | undefined, there: NodeTaintState[]) =>
    ownTaints({ machine: "velaryon", taints: wanted }, before, new FakeNode(there), clock);

  test("one that the node had already is not, and so it stays when the stack no longer lists it", async () => {
    const before = await own([gpu], undefined, [foreign, gpu]);
    expect(before).toEqual([]);
    const node = new FakeNode([foreign, gpu]);
    await dropTaints({ machine: "velaryon", taints: [] }, before, node, clock, quiet);
    expect(node.now).toEqual([foreign, gpu]);
  });
  test("one that comes is", async () => expect(await own([gpu], undefined, [foreign])).toEqual([gpu]));
  test("one that came earlier still is", async () => expect(await own([gpu], [gpu], [gpu])).toEqual([gpu]));
  test("one whose value the stack changes is", async () =>
    expect(await own([gpu], undefined, [{ ...gpu, value: "false" }])).toEqual([gpu]));
  test("a node that is not there yet has none", async () =>
    expect(await ownTaints({ machine: "new", taints: [gpu] }, undefined, new FakeNode([]), clock)).toEqual([gpu]));
});
