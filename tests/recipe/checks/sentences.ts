import * as ts from "typescript";
import { files, read } from "../../docs/pages";

/** A piece of a message in the source of the checks. */
interface Sentence {
  /** The check with this message; undefined if it is in a function that several checks may call. */
  check: string | undefined;
  /** The piece in the form of the source. */
  sentence: string;
  /** Matches the piece in a message. */
  pattern: RegExp;
}

/** Every sentence of the checks' messages: all their texts of several words, except rules and sources. */
export const sentencesOfChecks = (): Sentence[] =>
  files
    // Arguments of components are not a stack, and have their own tests.
    .filter((file) => /^components\/recipe\/checks\/(?!check-arguments)[^/]*\.ts$/.test(file))
    .flatMap(sentencesIn);

function sentencesIn(file: string): Sentence[] {
  const sentences: Sentence[] = [];
  const visit = (node: ts.Node, check?: string): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isPropertyAssignment(node)) {
      const name = (node.name as ts.StringLiteral).text;
      // `refuses` and `when` describe a kind of values and a condition, and do not occur in messages.
      if (["rule", "source", "refuses", "when"].includes(name)) return;
      const isCheck =
        ts.isObjectLiteralExpression(node.initializer) &&
        propertyNames(node.initializer).includes("rule");
      visit(node.initializer, isCheck ? name : check);
      return;
    }
    const pieces = piecesOf(node);
    if (pieces.some((piece) => /\S \S/.test(piece)))
      sentences.push({
        check,
        sentence: pieces.join("…"),
        pattern: new RegExp(
          pieces.map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^]*"),
        ),
      });
    node.forEachChild((child) => visit(child, check));
  };
  visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true));
  return sentences;
}

const propertyNames = (object: ts.ObjectLiteralExpression): string[] =>
  object.properties.map(({ name }) => name?.getText() ?? "");

/** The fixed pieces of a text between its inserted values; none if the node is not a text. */
function piecesOf(node: ts.Node): string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (!ts.isTemplateExpression(node)) return [];
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
}
