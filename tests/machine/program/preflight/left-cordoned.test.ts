import { CORDONED_BY } from "../../../../components/machine/program/kubernetes/cordon-mark";
import { schematics } from "../fakes";
import { ask, brought, type Stand } from "./stand";

describe("what an update that failed has left cordoned", () => {
  const ours = { unschedulable: true, annotations: { [CORDONED_BY]: "talos-gpu" }, ready: true };
  test.each<[string, Partial<Stand>, object | undefined, boolean]>([
    ["is told where the stack says something else", { wanted: "2", state: ours }, brought([schematics.gpu]), true],
    ["is not told of a machine that is wanted as before", { state: ours }, brought([schematics.gpu]), false],
    ["is not told of a machine that is new: its upgrade runs", { state: ours }, undefined, false],
    ["is not told of somebody else's cordon", { wanted: "2", state: { ...ours, annotations: {} } }, brought([]), false],
    [
      "is not told of a node that takes pods",
      { wanted: "2", state: { ...ours, unschedulable: false } },
      brought([]),
      false,
    ],
  ])("%s", async (_, changes, before, told) => {
    const { outcome, lines } = await ask(changes, before);
    expect(outcome).toMatchObject({ machines: {} });
    const warning = expect.stringMatching(
      /^warning: gpu-1: an earlier update failed .*node gpu-1 is still cordoned.*change `reconcileToken`/,
    ) as string;
    expect(lines.filter((line) => line.startsWith("warning"))).toEqual(told ? [warning] : []);
  });
});
