import { findingsOf } from "../../../components/recipe";
import { parseOptions } from "../../options";
import { gpusOf, parseCards } from "../../node/gpu/card";
import { selectCases } from "../../node/gpu/cases";
import { stackOf, type Shape } from "../../node/gpu/shape";
import { renderCases } from "../../node/gpu/table";

// Output of nvidia-smi 580.159.04, without header and units.
const factLines = ["NVIDIA H100 80GB HBM3, 580.159.04, 81559, 700.00, 200.00, 700.00"];
const settingLines = ["700.00, Enabled, Default, Disabled, Disabled, Enabled"];

test("nvidia-smi's output is read as a card with its settings, and equal cards are counted", () => {
  const cards = parseCards(factLines, settingLines);
  expect(cards).toEqual([
    {
      name: "NVIDIA H100 80GB HBM3",
      driver: "580.159.04",
      memoryMiB: 81559,
      powerW: 700,
      minPowerW: 200,
      maxPowerW: 700,
      settings: {
        "power.limit": "700.00",
        persistence_mode: "Enabled",
        compute_mode: "Default",
        "mig.mode.current": "Disabled",
        "mig.mode.pending": "Disabled",
        "ecc.mode.current": "Enabled",
      },
    },
  ]);
  expect(gpusOf([...cards, ...cards])).toEqual([{ model: "H100 80GB HBM3", count: 2 }]);
});

test("the error for a card that the tables lack contains the card's name", () => {
  const cards = parseCards(["NVIDIA Z999, 999.1, 1, 1, 1, 1"], settingLines);
  expect(() => gpusOf(cards)).toThrow(
    /^--gpu: components\/recipe\/facts\/data\/cards.json has no NVIDIA Z999/,
  );
});

test.each<Shape>([
  {},
  { slices: 4 },
  { slices: 2 },
  { envvar: true },
  { watts: 700 },
  { markers: true },
  { claims: true },
  { withoutToolkit: "devicePlugin" },
  { withoutToolkit: "gpuOperator", watts: 700 },
])("the stack for %j passes the checks", (shape) => {
  const gpus = gpusOf(parseCards(factLines, settingLines));
  expect(findingsOf(stackOf(gpus, shape))).toEqual([]);
});

test("cases are selected by name, and the error for an unknown name lists all names", () => {
  expect(selectCases(["envvar", "allocatable"]).map(({ id }) => id)).toEqual([
    "allocatable",
    "envvar",
  ]);
  expect(() => selectCases(["all the rest"])).toThrow(
    /there is no case all the rest.*allocatable, smoke/,
  );
  const ids = selectCases(["all"]).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test("--gpu selects all cases, and is refused without --machines node", () => {
  expect(parseOptions(["--machines", "node", "--gpu"])).toMatchObject({
    cases: ["all"],
    gpu: true,
    "may-change-the-card": false,
  });
  expect(parseOptions(["--machines", "node"])).toMatchObject({ cases: [], gpu: false });
  expect(() => parseOptions(["--gpu"])).toThrow(/^--gpu: cases of a card need a real node/);
});

test("the report of a run is a Markdown table that marks failed and untried cases", () => {
  const rows = [
    { id: "a", title: "first", passed: true, observation: "1 of nvidia.com/gpu", seconds: 12.4 },
    { id: "b", title: "second", passed: false, observation: "a | b\nc", seconds: 1 },
    { id: "c", title: "third", passed: undefined, observation: "no card", seconds: 0 },
  ];
  const text = renderCases({
    ok: false,
    date: "2026-11-22T14:00:00Z",
    versions: { kubelet: "v1.36.3" },
    models: ["H100"],
    rows,
  });
  expect(text.split("\n")).toEqual([
    "2026-11-22. no card: a stand-in of the driver for H100. kubelet v1.36.3.",
    "",
    "| case | outcome | what was seen | s |",
    "|---|---|---|---|",
    "| first | held | 1 of nvidia.com/gpu | 12 |",
    "| second | **did not hold** | a \\| b c | 1 |",
    "| third | not tried | no card | 0 |",
  ]);
});
