import { asText } from "../../../components/recipe/mapping";
import { functions, isTrue, printedValue, type TemplateFunction } from "./go-functions";

/**
 * Go templates (pkg.go.dev/text/template) with the parts that patches use: fields, variables, `if`, `with`,
 * `range` and functions in pipelines. Everything unknown is an error, so that nothing is guessed.
 */

type Operand =
  | { kind: "value"; value: unknown }
  | { kind: "variable"; name: string; fields: string[] }
  | { kind: "call"; name: string }
  | { kind: "pipeline"; pipeline: Pipeline; fields: string[] };
/** Commands. Each gets the result of the previous one as its last argument. */
type Pipeline = Operand[][];
interface Action {
  /** `if`, `with` or `range`; undefined for a value that is written out or assigned to variables. */
  word?: string;
  variables: string[];
  pipeline: Pipeline;
}
type Part = string | (Action & { body: Part[]; otherwise: Part[] });

/** Largest number of steps of a run. The result may have ten times as many characters. */
const mostSteps = 100_000;

/**
 * Renders a template.
 *
 * @param data value of `.` at the beginning
 * @param environment values for `env`, which refuses other names
 * @throws Error whose message is only the reason, e.g. `.Data.vip is missing`.
 */
export function renderTemplate(
  text: string,
  data: unknown,
  environment: Record<string, string | undefined> = {},
): string {
  const functionsByName = { ...functions, env: envOf(environment) };
  const parts = parse(text);
  let steps = 0;
  let length = 0;
  const write = (body: Part[], dot: unknown, scope: Scope): string =>
    body
      .map((part) => {
        if (++steps > mostSteps) throw new Error("it has too many steps");
        const output = typeof part === "string" ? part : runAction(part, dot, scope);
        length += typeof part === "string" || part.word === undefined ? output.length : 0;
        if (length > 10 * mostSteps) throw new Error("its result is too long");
        return output;
      })
      .join("");
  const runAction = (part: Exclude<Part, string>, dot: unknown, scope: Scope): string => {
    const { word, variables, pipeline, body, otherwise } = part;
    const value =
      pipeline.length === 0 ? undefined : evaluate(pipeline, dot, scope, functionsByName);
    if (word === undefined) {
      if (variables.length === 0) return printedValue(value);
      scope.set(variables[0]!, value);
      return "";
    }
    if (word !== "range") {
      const inner = scope.child();
      if (variables[0] !== undefined) inner.set(`:${variables[0]}`, value);
      return isTrue(value)
        ? write(body, word === "with" ? value : dot, inner)
        : write(otherwise, dot, inner);
    }
    const items = itemsOf(value);
    if (items.length === 0) return write(otherwise, dot, scope.child());
    return items
      .map(([key, item]) => {
        const inner = scope.child();
        const [first, second] = variables;
        if (second !== undefined) inner.set(`:${second}`, item);
        if (first !== undefined) inner.set(`:${first}`, second === undefined ? item : key);
        return write(body, item, inner);
      })
      .join("");
  };
  return write(parts, data, new Scope(new Map([["$", data]])));
}

/**
 * Variables of a block. A name that begins with a colon declares a variable; other names belong to the nearest block
 * that declares them.
 */
class Scope {
  constructor(
    private readonly variables: Map<string, unknown>,
    private readonly parent?: Scope,
  ) {}

  child = (): Scope => new Scope(new Map(), this);

  set(name: string, value: unknown): void {
    if (name.startsWith(":")) return void this.variables.set(name.slice(1), value);
    const scope = this.holderOf(name);
    if (scope === undefined) throw new Error(`${name} is not there`);
    scope.variables.set(name, value);
  }

  get(name: string): unknown {
    const scope = this.holderOf(name);
    if (scope === undefined) throw new Error(`${name} is not there`);
    return scope.variables.get(name);
  }

  private holderOf(name: string): Scope | undefined {
    return this.variables.has(name) ? this : this.parent?.holderOf(name);
  }
}

function itemsOf(value: unknown): [unknown, unknown][] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  if (typeof value === "object" && value !== null)
    return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  if (value === null || value === undefined) return [];
  throw new Error("the argument of range is not a list or a mapping");
}

function evaluate(
  pipeline: Pipeline,
  dot: unknown,
  scope: Scope,
  functionsByName: Record<string, TemplateFunction>,
): unknown {
  const valueOf = (operand: Operand): unknown => {
    if (operand.kind === "value") return operand.value;
    if (operand.kind === "call") return call(operand.name, []);
    if (operand.kind === "pipeline")
      return fieldOf(evaluate(operand.pipeline, dot, scope, functionsByName), operand.fields, "");
    const { name, fields } = operand;
    return fieldOf(name === "." ? dot : scope.get(name), fields, name === "." ? "" : name);
  };
  const call = (name: string, values: unknown[]): unknown => {
    const templateFunction = Object.hasOwn(functionsByName, name)
      ? functionsByName[name]
      : undefined;
    if (templateFunction === undefined) throw new Error(`the function ${name} is unknown`);
    return templateFunction(...values);
  };
  return pipeline.reduce<unknown>((last, [first, ...argumentOperands], index) => {
    const pipedValues = index === 0 ? [] : [last];
    if (first!.kind === "call")
      return call(first!.name, [...argumentOperands.map(valueOf), ...pipedValues]);
    if (argumentOperands.length > 0 || index > 0)
      throw new Error("a value is called like a function");
    return valueOf(first!);
  }, undefined);
}

/**
 * The value at a path of fields. As in topf, a missing key is an error (postfinance/topf, pkg/config/patches.go,
 * `missingkey=error`).
 */
function fieldOf(value: unknown, fields: string[], name: string): unknown {
  let current = value;
  for (const [index, field] of fields.entries()) {
    const hasField =
      typeof current === "object" && current !== null && Object.hasOwn(current, field);
    if (!hasField) throw new Error(`${name}.${fields.slice(0, index + 1).join(".")} is missing`);
    current = (current as Record<string, unknown>)[field];
  }
  return current;
}

const envOf =
  (environment: Record<string, string | undefined>): TemplateFunction =>
  (name) => {
    const value = Object.hasOwn(environment, asText(name)) ? environment[asText(name)] : undefined;
    if (value === undefined)
      throw new Error(`the environment variable ${asText(name)} is not given (--env)`);
    return value;
  };

/** A template's parts: texts and actions. */
function parse(text: string): Part[] {
  const root: Part[] = [];
  const open: { part: Exclude<Part, string>; target: Part[]; openElses: number }[] = [];
  const currentTarget = (): Part[] => open.at(-1)?.target ?? root;
  let position = 0;
  let trimsNext = false;
  while (position < text.length) {
    const begin = text.indexOf("{{", position);
    const end = begin < 0 ? text.length : begin;
    const trimsBefore = begin >= 0 && /^-\s/.test(text.slice(begin + 2, begin + 4));
    let literal = text.slice(position, end);
    if (trimsNext) literal = literal.trimStart();
    if (trimsBefore) literal = literal.trimEnd();
    if (literal !== "") currentTarget().push(literal);
    if (begin < 0) break;
    const inner = insideOf(text, begin + 2 + (trimsBefore ? 1 : 0));
    ({ position, trimsNext } = inner);
    if (inner.tokens.length > 0) handleTag(inner.tokens);
  }
  if (open.length > 0) throw new Error("an `end` is missing");
  return root;

  function handleTag([word = "", ...rest]: string[]): void {
    const push = (action: Action, openElses = 0): void => {
      const part = { ...action, body: [], otherwise: [] };
      currentTarget().push(part);
      if (action.word !== undefined) open.push({ part, target: part.body, openElses });
    };
    if (["if", "with", "range"].includes(word)) return push(actionOf(word, rest));
    if (word === "else") {
      const last = open.at(-1);
      if (last === undefined) throw new Error("`else` has no block");
      last.target = last.part.otherwise;
      // `else if` is an `if` within `else`; one `end` closes both.
      if (rest.length > 0) push(actionOf(rest[0], rest.slice(1)), last.openElses + 1);
    } else if (word === "end") {
      const closed = open.pop();
      if (closed === undefined) throw new Error("`end` has no block");
      open.length -= closed.openElses;
    } else if (["define", "template", "block", "break", "continue"].includes(word))
      throw new Error(`\`${word}\` is unknown`);
    else push(actionOf(undefined, [word, ...rest]));
  }
}

/** The tokens of an action, and the position in the text after the action. */
function insideOf(
  text: string,
  start: number,
): { tokens: string[]; position: number; trimsNext: boolean } {
  const comment = /\s*\/\*/y;
  comment.lastIndex = start;
  if (comment.test(text)) {
    const end = text.indexOf("*/", comment.lastIndex);
    const close = /\*\/(\s+-)?\s*\}\}/y;
    close.lastIndex = end;
    const closed = end < 0 ? null : close.exec(text);
    if (closed === null) throw new Error("a comment has no end");
    return { tokens: [], position: close.lastIndex, trimsNext: closed[1] !== undefined };
  }
  const token =
    /\s+-(?=\}\})|\s+|\}\}|"(?:[^"\\\n]|\\.)*"|`[^`]*`|:=|[()|,=]|-?\d+(?:\.\d+)?|\$?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\$?(?:\.[A-Za-z_]\w*)+|\$|\./y;
  const tokens: string[] = [];
  token.lastIndex = start;
  for (let trims = false; ;) {
    const tokenStart = token.lastIndex;
    const [nextToken] = token.exec(text) ?? [];
    if (nextToken === undefined)
      throw new Error(
        `the text after ${JSON.stringify(text.slice(Math.max(0, tokenStart - 20), tokenStart))} cannot be read`,
      );
    if (nextToken === "}}") return { tokens, position: token.lastIndex, trimsNext: trims };
    trims = /^\s+-$/.test(nextToken);
    // A field right after a closing bracket belongs to the value in the brackets.
    if (tokens.at(-1) === ")" && nextToken.startsWith("."))
      tokens[tokens.length - 1] = `)${nextToken}`;
    else if (nextToken.trim() !== "" && !trims) tokens.push(nextToken);
    else if (nextToken.trim() === "" && tokens.at(-1) === ")") tokens.push(" ");
  }
}

function actionOf(word: string | undefined, allTokens: string[]): Action {
  const tokens = allTokens.filter((token) => token !== " ");
  const assignIndex = tokens.findIndex((token) => token === ":=" || token === "=");
  const variableNames =
    assignIndex < 0 ? [] : tokens.slice(0, assignIndex).filter((token) => token !== ",");
  if (variableNames.some((name) => !/^\$\w+$/.test(name)) || variableNames.length > 2)
    throw new Error("variables cannot be read");
  const variables = variableNames.map((name) =>
    tokens[assignIndex] === ":=" && word === undefined ? `:${name}` : name,
  );
  const reader: Reader = { tokens, position: assignIndex + 1 };
  const pipeline = pipelineOf(reader);
  if (reader.position < tokens.length)
    throw new Error(`\`${tokens[reader.position]!}\` is not expected here`);
  return { ...(word === undefined ? {} : { word }), variables, pipeline };
}

/** Tokens, and the index of the next one. */
interface Reader {
  tokens: readonly string[];
  position: number;
}

/** Reads a pipeline up to its end or to a bracket. */
function pipelineOf(reader: Reader): Pipeline {
  const pipeline: Pipeline = [[]];
  for (;;) {
    const token = reader.tokens[reader.position];
    if (token === undefined || token.startsWith(")")) break;
    reader.position++;
    if (token === "|") pipeline.push([]);
    else if (token === "(") {
      const inner = pipelineOf(reader);
      const close = reader.tokens[reader.position++];
      if (close === undefined) throw new Error("a bracket is not closed");
      pipeline
        .at(-1)!
        .push({ kind: "pipeline", pipeline: inner, fields: close.split(".").slice(1) });
    } else pipeline.at(-1)!.push(operandOf(token));
  }
  if (pipeline.some((command) => command.length === 0)) throw new Error("a command is empty");
  return pipeline;
}

function operandOf(token: string): Operand {
  if (token.startsWith('"')) return { kind: "value", value: JSON.parse(token) as unknown };
  if (token.startsWith("`")) return { kind: "value", value: token.slice(1, -1) };
  if (/^-?\d/.test(token)) return { kind: "value", value: Number(token) };
  if (token === "true" || token === "false") return { kind: "value", value: token === "true" };
  if (token === "nil") return { kind: "value", value: null };
  if (token.startsWith("."))
    return { kind: "variable", name: ".", fields: token === "." ? [] : token.slice(1).split(".") };
  if (token.startsWith("$")) {
    const [name = "", ...fields] = token.split(".");
    return { kind: "variable", name, fields };
  }
  return { kind: "call", name: token };
}
