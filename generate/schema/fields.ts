import * as path from "node:path";
import * as ts from "typescript";
import { repository } from "../../stacks/stack-file";

/** A field of the stack in the source: its docstring and the docstring's tags. */
export interface Field {
  /** Path in the JSON schema's notation: keys, `*` for any key of a mapping, `[]` for any item of a list. */
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
 * Every field of a stack, in the order of its types, each followed by its subfields. The TypeScript compiler reads
 * them, since it sees docstrings. The schema defines shapes and limits.
 *
 * @throws Error if the file cannot be read; the message names it.
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
    throw new Error(`${file}: has no interface StackSpec, so a stack's fields are unknown`);
  return fieldsOf(declaration, checker, []);
}

/** The members of an interface: first the inherited members that it does not redeclare, then its own. */
function membersOf(
  declaration: ts.InterfaceDeclaration,
  checker: ts.TypeChecker,
): ts.TypeElement[] {
  const inherited = (declaration.heritageClauses ?? [])
    .flatMap(({ types }) => types)
    .flatMap(({ expression }) => declarationOf(expression, checker) ?? [])
    .flatMap((base) => membersOf(base, checker));
  const ownNames = new Set(declaration.members.map((member) => member.name?.getText()));
  return [
    ...inherited.filter((member) => !ownNames.has(member.name?.getText())),
    ...declaration.members,
  ];
}

function fieldsOf(
  declaration: ts.InterfaceDeclaration,
  checker: ts.TypeChecker,
  parentPath: string[],
): Field[] {
  const members = membersOf(declaration, checker);
  return members.filter(ts.isPropertySignature).flatMap((member) => {
    const fieldPath = [...parentPath, member.name.getText()];
    const { type, below: innerPath } = innermost(member.type);
    const inner = type && declarationOf(type, checker);
    return [
      fieldOf(member, fieldPath),
      ...(inner ? fieldsOf(inner, checker, [...fieldPath, ...innerPath]) : []),
    ];
  });
}

/** The type of the items of nested lists and mappings, and the path to it. */
function innermost(
  type: ts.TypeNode | undefined,
  innerPath: string[] = [],
): { type?: ts.TypeNode; below: string[] } {
  if (type && ts.isArrayTypeNode(type)) return innermost(type.elementType, [...innerPath, "[]"]);
  if (type && ts.isTypeReferenceNode(type) && type.typeName.getText() === "Record")
    return innermost(type.typeArguments?.[1], [...innerPath, "*"]);
  return type ? { type, below: innerPath } : { below: innerPath };
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

function fieldOf(member: ts.PropertySignature, fieldPath: string[]): Field {
  const text = (comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string =>
    (ts.getTextOfJSDocComment(comment) ?? "").replace(/\s*\n\s*/g, " ").trim();
  const comments = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
  const tags = new Map(ts.getJSDocTags(member).map((tag) => [tag.tagName.text, text(tag.comment)]));
  const tag = (name: "default" | "example" | "causes"): Partial<Field> =>
    tags.has(name)
      ? { [name]: name === "example" ? unquoted(tags.get(name)!) : tags.get(name)! }
      : {};
  return {
    path: fieldPath,
    meaning: comments.map(({ comment }) => text(comment)).join(" "),
    required: member.questionToken === undefined,
    ...tag("default"),
    ...tag("example"),
    ...tag("causes"),
  };
}

/** Removes an example's backticks, which keep editors and generators from interpreting its braces. */
function unquoted(text: string): string {
  return /^`(.*)`$/.exec(text)?.[1] ?? text;
}
