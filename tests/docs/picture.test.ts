import * as fs from "node:fs";
import * as path from "node:path";
import { pictureOf } from "../../generate/picture/picture";
import { emptyReport, renderReport } from "../../lab/run/report";

const picture = fs.readFileSync(path.join(__dirname, "../../docs/pictures/lab.svg"), "utf8");
const linesOf = (svg: string): string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!);
const cellsOf = (line: string): string[] => line.split("│").map((cell) => cell.trim());

test("the picture of a lab has the tables that a lab prints today, and its total", () => {
  const report = {
    ...emptyReport("frank", true),
    workloads: [{ namespace: "ollama", name: "ollama", kind: "Deployment", ready: true }],
  };
  const heads = renderReport(report)
    .split("\n")
    .filter((line, index, lines) => line.startsWith("│") && lines[index - 1]!.startsWith("┌"));
  const drawn = linesOf(picture).map(cellsOf);
  expect(heads).toHaveLength(3);
  for (const head of heads) expect(drawn).toContainEqual(cellsOf(head));
  expect(linesOf(picture)).toContainEqual(
    expect.stringMatching(/^✔ total: 2 updates, \d+ created/),
  );
});

test("a picture has the finished stages and the tables, but not single steps", () => {
  const lines = ["· down", "    create a & b", '✔ down: "all" <1 s', "┌─┐", "│a│", "└─┘"];
  expect(linesOf(pictureOf("npm run lab", lines))).toEqual([
    "$ npm run lab",
    "✔ down: &quot;all&quot; &lt;1 s",
    "┌─┐",
    "│a│",
    "└─┘",
  ]);
});
