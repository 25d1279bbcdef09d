import { painter } from "../../../cli/terminal/paint";
import { renderTable } from "../../../cli/terminal/table";
import { terminalOf } from "../../../cli/terminal/terminal";
import { widthOf, wrap } from "../../../cli/terminal/wrap";

describe("terminalOf", () => {
  const stream = { isTTY: true, columns: 132 };

  test.each<[string, NodeJS.ProcessEnv, { colour: boolean; moves: boolean }]>([
    [
      "gives an ordinary terminal colours and movement",
      { TERM: "xterm" },
      { colour: true, moves: true },
    ],
    [
      "gives a terminal no colours with NO_COLOR",
      { NO_COLOR: "1" },
      { colour: false, moves: true },
    ],
    [
      "gives a terminal colours with an empty NO_COLOR",
      { NO_COLOR: "" },
      { colour: true, moves: true },
    ],
    [
      "gives a dumb terminal neither colours nor movement",
      { TERM: "dumb" },
      { colour: false, moves: false },
    ],
  ])("%s", (_, environment, expected) => {
    expect(terminalOf(stream, environment)).toEqual({ columns: 132, ...expected });
  });

  test("does not count a pipe as a terminal", () => {
    expect(terminalOf({ columns: 132 }, {})).toBeUndefined();
  });

  test.each([
    ["no columns", undefined],
    ["0 columns", 0],
  ])("assumes 80 columns for a terminal that reports %s", (_, columns) => {
    expect(terminalOf({ isTTY: true, columns }, {})?.columns).toBe(80);
  });
});

describe("wrap", () => {
  test("breaks between words, and indents the following lines", () => {
    expect(wrap("- one two three", 9, "  ")).toEqual(["- one two", "  three"]);
  });

  test("breaks a word that does not fit, and keeps the text's line breaks", () => {
    expect(wrap("abcdefgh ij\nk", 5)).toEqual(["abcde", "fgh", "ij", "k"]);
  });

  test("keeps the spaces at the beginning of a line", () => {
    expect(wrap("  a b", 4, "  ")).toEqual(["  a", "  b"]);
  });

  test.each([1, 2, 7, 40])("makes no line longer than %i columns", (columns) => {
    const text = "  a word, an-address-that-is-long: https://example.org/a/b/c and the rest";
    for (const line of wrap(text, columns, "      "))
      expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  test("begins a word that is longer than a line next to its bullet", () => {
    expect(wrap("- abcdefghij", 8, "  ")).toEqual(["- abcdef", "  ghij"]);
  });

  test("loses no word", () => {
    expect(wrap("one two three four", 8).join(" ")).toBe("one two three four");
  });
});

describe("a table", () => {
  const head = ["machine", "Talos", "why"];
  const rows = [
    [
      "gpu-1",
      "v1.12.6",
      "its disk does not have Talos v1.12.6 with schematic 6698d6f136c5 already",
    ],
  ];
  const plain = painter(false);

  test("is as wide as its texts if they fit", () => {
    expect(renderTable(["a", "b"], [["one", "x\nyz"]], { columns: 80, paint: plain })).toBe(
      [
        "┌─────┬────┐",
        "│ a   │ b  │",
        "├─────┼────┤",
        "│ one │ x  │",
        "│     │ yz │",
        "└─────┴────┘",
      ].join("\n"),
    );
  });

  test.each([200, 80, 60, 45, 40, 30, 20])("fits %i columns and loses no word", (columns) => {
    const lines = renderTable(head, rows, { columns, paint: plain }).split("\n");
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    const text = lines.join(" ");
    for (const word of ["gpu-1", "v1.12.6", "schematic", "6698d6f136c5", "already"])
      expect(text).toContain(word);
  });

  test("becomes a list if not even the words fit", () => {
    expect(renderTable(head, rows, { columns: 30, paint: plain }).split("\n")).toEqual([
      "gpu-1",
      "  Talos  v1.12.6",
      "  why    its disk does not",
      "         have Talos v1.12.6",
      "         with schematic",
      "         6698d6f136c5 already",
    ]);
  });

  test("colours each line of a cell separately, without the frame", () => {
    const painted = renderTable(
      ["a", "b"],
      [[{ text: "red words", style: "red" }, "x".repeat(9)]],
      { columns: 21, paint: painter(true) },
    );
    for (const word of ["red", "words"])
      expect(painted.split("\n").join("")).toContain(`\u001b[31m${word}\u001b[39m`);
  });
});
