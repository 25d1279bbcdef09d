import * as fs from "node:fs";
import * as path from "node:path";
import ts from "typescript";

const root = path.join(__dirname, "../..");

/** Files whose texts are joined from lists of words. */
const wordLists = ["components/recipe/rules/redact.ts", "components/recipe/rules/secret-text.ts"];

const sources = ["components", "cli"].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .map((file) => path.join(folder, file))
    .filter((file) => /(?<!\.d)\.ts$/.test(file) && !/\/(?:bin|node_modules)\//.test(file)),
);

/** A text between quotes in its source form: the first piece, and the piece after the last inserted value. */
function piecesOf(node: ts.Node): string[] | undefined {
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(
      ({ rawText, text }) => rawText ?? text,
    );
  if (ts.isStringLiteral(node)) return [node.text];
  return ts.isNoSubstitutionTemplateLiteral(node) ? [node.rawText ?? node.text] : undefined;
}

/**
 * Places of a source where a text has a line break inside a sentence, or ends inside a sentence that the next text
 * continues.
 */
function brokenSentences(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const places: string[] = [];
  const visit = (node: ts.Node): void => {
    const pieces = piecesOf(node);
    // A program inside a text begins on a line of its own.
    const breaksLine =
      pieces !== undefined &&
      !pieces[0]!.startsWith("\n") &&
      pieces.some((piece) => /[\w,;:]\n +[\w]/.test(piece));
    if (breaksLine || splitsSentence(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      places.push(`${file}:${line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return places;
}

/** Whether a sum of two texts divides a sentence. */
function splitsSentence(node: ts.Node): boolean {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken)
    return false;
  const left = ts.isBinaryExpression(node.left) ? node.left.right : node.left;
  const [firstText, secondText] = [piecesOf(left)?.at(-1), piecesOf(node.right)?.[0]];
  return /[\w,)] $/.test(firstText ?? "") && /^[\w`\\(]|^$/.test(secondText ?? "-");
}

// A search for a printed sentence finds it only if one literal contains all of it. A line break in a literal is
// printed.
test("each sentence of a message is in one literal on one line", () => {
  expect(sources.length).toBeGreaterThan(400);
  const places = sources
    .filter((file) => !wordLists.includes(file))
    .flatMap((file) => brokenSentences(file, fs.readFileSync(path.join(root, file), "utf8")));
  expect(places).toEqual([]);
});

test.each([
  ["a sentence over two literals", '"the update ends " + "there"'],
  ["a sentence over two templates", "`${title}: the update ends ` + `there`"],
  ["a line break in a template", "`${title}: the\n      update ends`"],
])("brokenSentences reports %s", (_, text) => {
  expect(brokenSentences("a.ts", `const message = ${text};`)).toEqual(["a.ts:1"]);
});

test.each([
  ["two sentences in two literals", '"the update ends; " + "run it again"'],
  ["a program in a text", "`\nset -u\n  while true`"],
])("brokenSentences accepts %s", (_, text) => {
  expect(brokenSentences("a.ts", `const message = ${text};`)).toEqual([]);
});
