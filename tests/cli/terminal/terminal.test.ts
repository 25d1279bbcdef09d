import { painter } from "../../../cli/terminal/paint";
import { renderTable } from "../../../cli/terminal/table";
import { terminalOf } from "../../../cli/terminal/terminal";
import { widthOf, wrap } from "../../../cli/terminal/wrap";

describe("terminalOf", () => {
  const stream = { isTTY: true, columns: 132 };

  test.each<[string, NodeJS.ProcessEnv, { colour: boolean; moves: boolean }]>([
    ["a terminal", { TERM: "xterm" }, { colour: true, moves: true }],
    ["with NO_COLOR", { NO_COLOR: "1" }, { colour: false, moves: true }],
    ["with an empty NO_COLOR", { NO_COLOR: "" }, { colour: true, moves: true }],
    ["a dumb one", { TERM: "dumb" }, { colour: false, moves: false }],
  ])("%s", (_, environment, expected) => {
    expect(terminalOf(stream, environment)).toEqual({ columns: 132, ...expected });
  });

  test("a pipe is no terminal", () => {
    expect(terminalOf({ columns: 132 }, {})).toBeUndefined();
  });

  test.each([undefined, 0])("a terminal that says %p columns has 80", (columns) => {
    expect(terminalOf({ isTTY: true, columns }, {})?.columns).toBe(80);
  });
});

describe("wrap", () => {
  test("breaks between words, and indents what follows", () => {
    expect(wrap("- one two three", 9, "  ")).toEqual(["- one two", "  three"]);
  });

  test("breaks a word that does not fit, and keeps the text's own lines", () => {
    expect(wrap("abcdefgh ij\nk", 5)).toEqual(["abcde", "fgh", "ij", "k"]);
  });

  test("keeps the blanks at the beginning of a line", () => {
    expect(wrap("  a b", 4, "  ")).toEqual(["  a", "  b"]);
  });

  test.each([1, 2, 7, 40])("no line has more than %i characters", (columns) => {
    const text = "  a word, an-address-that-is-long: https://example.org/a/b/c and the rest";
    for (const line of wrap(text, columns, "      "))
      expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  test("a word that does not fit begins after its bullet", () => {
    expect(wrap("- abcdefghij", 8, "  ")).toEqual(["- abcdef", "  ghij"]);
  });

  test("loses no word", () => {
    expect(wrap("one two three four", 8).join(" ")).toBe("one two three four");
  });
});

describe("renderTable", () => {
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
    const said = lines.join(" ");
    for (const word of ["gpu-1", "v1.12.6", "schematic", "6698d6f136c5", "already"])
      expect(said).toContain(word);
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

  test("paints each line of a cell by itself, so that no colour runs over the frame", () => {
    const painted = renderTable(
      ["a", "b"],
      [[{ text: "red words", style: "red" }, "x".repeat(9)]],
      { columns: 21, paint: painter(true) },
    );
    for (const word of ["red", "words"])
      expect(painted.split("\n").join("")).toContain(`\u001b[31m${word}\u001b[39m`);
  });
});
