import * as path from "node:path";
import * as ts from "typescript";
import { repository } from "../../stacks/stack-file";

/** A field of the stack in the source: its docstring and the docstring's tags. */
export interface Field {
  /** Path as the JSON schema has it: keys, `*` for any key of a mapping, `[]` for any item of a list. */
  path: string[];
  /** First part of the docstring: what the field means. */
  meaning: string;
  required: boolean;
  /** Tag `@default`: Markdown. */
  default?: string;
  /** Tag `@example`: the value as YAML. */
  example?: string;
  /** Tag `@causes`: the effect of a change of the field. */
  causes?: string;
}

const specFolder = path.join(repository, "components/recipe/spec");

/**
 * Every field of a stack, in the order of its types, each followed by its own fields. Read by the TypeScript
 * compiler, which is what sees docstrings; shapes and limits are the schema's to say.
 *
 * @throws Error naming the file when it cannot be read.
 */
export function fieldsOfStack(): Field[] {
  const file = path.join(specFolder, "cluster.ts");
  const options: ts.CompilerOptions = {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noLib: true,
    types: [],
  };
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const declaration = source?.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === "StackSpec",
  );
  if (!declaration)
    throw new Error(`${file}: has no interface StackSpec, so nothing is known of a stack's fields`);
  return fieldsOf(declaration, checker, []);
}

/** Those of the interfaces that it extends come first, unless it says them itself. */
function membersOf(
  declaration: ts.InterfaceDeclaration,
  checker: ts.TypeChecker,
): ts.TypeElement[] {
  const inherited = (declaration.heritageClauses ?? [])
    .flatMap(({ types }) => types)
    .flatMap(({ expression }) => declarationOf(expression, checker) ?? [])
    .flatMap((above) => membersOf(above, checker));
  const own = new Set(declaration.members.map((member) => member.name?.getText()));
  return [
    ...inherited.filter((member) => !own.has(member.name?.getText())),
    ...declaration.members,
  ];
}

function fieldsOf(
  declaration: ts.InterfaceDeclaration,
  checker: ts.TypeChecker,
  above: string[],
): Field[] {
  const members = membersOf(declaration, checker);
  return members.filter(ts.isPropertySignature).flatMap((member) => {
    const at = [...above, member.name.getText()];
    const { type, below } = innermost(member.type);
    const inner = type && declarationOf(type, checker);
    return [fieldOf(member, at), ...(inner ? fieldsOf(inner, checker, [...at, ...below]) : [])];
  });
}

/** The type within lists and mappings of it, and the path to it. */
function innermost(
  type: ts.TypeNode | undefined,
  below: string[] = [],
): { type?: ts.TypeNode; below: string[] } {
  if (type && ts.isArrayTypeNode(type)) return innermost(type.elementType, [...below, "[]"]);
  if (type && ts.isTypeReferenceNode(type) && type.typeName.getText() === "Record")
    return innermost(type.typeArguments?.[1], [...below, "*"]);
  return type ? { type, below } : { below };
}

function declarationOf(
  type: ts.Node,
  checker: ts.TypeChecker,
): ts.InterfaceDeclaration | undefined {
  const symbol = checker.getSymbolAtLocation(ts.isTypeReferenceNode(type) ? type.typeName : type);
  const aliased =
    symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return aliased?.declarations?.find(ts.isInterfaceDeclaration);
}

function fieldOf(member: ts.PropertySignature, at: string[]): Field {
  const text = (comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string =>
    (ts.getTextOfJSDocComment(comment) ?? "").replace(/\s*\n\s*/g, " ").trim();
  const comments = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
  const tags = new Map(ts.getJSDocTags(member).map((tag) => [tag.tagName.text, text(tag.comment)]));
  const tag = (name: "default" | "example" | "causes"): Partial<Field> =>
    tags.has(name)
      ? { [name]: name === "example" ? unquoted(tags.get(name)!) : tags.get(name)! }
      : {};
  return {
    path: at,
    meaning: comments.map(({ comment }) => text(comment)).join(" "),
    required: member.questionToken === undefined,
    ...tag("default"),
    ...tag("example"),
    ...tag("causes"),
  };
}

/** An example stands in backticks, which keep editors and generators from reading its braces as something else. */
function unquoted(text: string): string {
  return /^`(.*)`$/.exec(text)?.[1] ?? text;
}
