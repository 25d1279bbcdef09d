import { planCluster } from "../../../components/recipe";
import { warningsAndNotes } from "../../support/warnings-and-notes";
import { stackOfOneMachine } from "../stacks";

const labels = { "nvidia.com/gpu.present": "true", rack: "7" };
const machine = { gpus: [{ model: "RTX 3090" }], labels };

/** Labels that the stack sets on the machine, and the notes about the operator's labels. */
function labelsAndNotes(...stack: Parameters<typeof stackOfOneMachine>) {
  const { machines } = planCluster(stackOfOneMachine(...stack));
  const { "nvidia.com/gpu.present": present, rack } = machines[0]!.nodeLabels;
  return {
    present,
    rack,
    notes: warningsAndNotes(stackOfOneMachine(...stack)).filter((note) =>
      note.includes("gpu.present"),
    ),
  };
}

test("with the operator, the stack leaves out the user's label nvidia.com/gpu.present, and a note says that the label has no effect", () => {
  const note = expect.stringMatching(
    /^machines\.gpu\.labels\.nvidia\.com\/gpu\.present: has no effect: only the operator sets this label/,
  ) as string;
  const expected = { present: undefined, rack: "7", notes: [note] };
  expect(labelsAndNotes("v1.12.6", machine)).toEqual(expected);
  const external = { gpuOperator: undefined, external: { kind: "gpuOperator" } } as never;
  expect(labelsAndNotes("v1.12.6", machine, external)).toEqual(expected);
});

test("with the device plugin, the stack sets the label nvidia.com/gpu.present", () => {
  const devicePlugin = { gpuOperator: undefined, devicePlugin: { version: "0.18.2" } } as never;
  expect(labelsAndNotes("v1.12.6", machine, devicePlugin)).toEqual({
    present: "true",
    rack: "7",
    notes: [],
  });
});

test("on a machine without a card, the user's label nvidia.com/gpu.present stays", () => {
  expect(labelsAndNotes("v1.12.6", { labels })).toEqual({ present: "true", rack: "7", notes: [] });
});
