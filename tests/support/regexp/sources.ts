import * as fs from "node:fs";
import * as path from "node:path";
import * as ts from "typescript";
import { CountingRegExp, hostileTexts } from "./counting";

const root = path.join(__dirname, "../../..");

/** A regular expression of the sources. */
export interface SourceRegExp {
  /** File and line. */
  place: string;
  source: string;
  flags: string;
}

/** TypeScript files below folders of the repository, without built files. */
export function sourcesBelow(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory())
        return ["node_modules", "bin"].includes(entry.name) ? [] : sourcesBelow(file);
      return entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts") ? [file] : [];
    }),
  );
}

/**
 * The regular expressions of a file: its literals, and the arguments of `RegExp`. A name replaces each value that
 * a template inserts.
 *
 * @returns `unreadCalls`: for each call whose argument is not written in the source, its file
 */
export function regularExpressionsIn(file: string): {
  expressions: SourceRegExp[];
  unreadCalls: string[];
} {
  const text = fs.readFileSync(path.join(root, file), "utf8");
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const expressions: SourceRegExp[] = [];
  const unreadCalls: string[] = [];
  const visit = (node: ts.Node): void => {
    const place = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      expressions.push({ place, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === "RegExp"
    ) {
      const [pattern, flags] = (node.arguments ?? []).map(textOf);
      if (pattern === undefined) unreadCalls.push(file);
      else expressions.push({ place, source: pattern, flags: flags ?? "" });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { expressions, unreadCalls };
}

/** The text of a literal. In a template, a name replaces each value that it inserts. */
function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => `name${literal.text}`)].join(
    "",
  );
}

/** Lengths of the texts: far more than the upper limit of repetitions. */
const [shortLength, longLength] = [100, 200];

/**
 * The largest allowed growth of the steps if the text is twice as long: two times, with a margin for beginning and
 * end.
 */
export const allowedGrowth = 2.6;

/** Steps per character that are few enough for every search: their growth would show nothing. */
const fewSteps = 6;

/** The largest growth of an expression's steps from a text to one twice as long, with the text that shows it. */
export function growthOf({ source, flags }: Pick<SourceRegExp, "source" | "flags">): {
  ratio: number;
  text: string;
} {
  const expression = new CountingRegExp(source, flags);
  const longTexts = hostileTexts(source, flags, longLength);
  let worst = { ratio: 0, text: "" };
  hostileTexts(source, flags, shortLength).forEach((text, index) => {
    if (worst.ratio === Infinity) return;
    const steps = expression.stepsIn(text);
    if (steps < fewSteps * shortLength) return;
    const ratio = steps === Infinity ? steps : expression.stepsIn(longTexts[index]!) / steps;
    if (ratio > worst.ratio) worst = { ratio, text: text.slice(0, 30) };
  });
  return worst;
}
