import { asText } from "../../../components/recipe/mapping";
import { functions, isTrue, shown, type TemplateFunction } from "./go-functions";

/**
 * Go templates (pkg.go.dev/text/template) with the parts that patches use: fields, variables, `if`, `with`,
 * `range` and functions in pipelines. Everything unknown is an error, so that nothing is guessed.
 */

type Operand =
  | { is: "value"; value: unknown }
  | { is: "variable"; name: string; fields: string[] }
  | { is: "call"; name: string }
  | { is: "pipeline"; pipeline: Pipeline; fields: string[] };
/** Commands. Each gets the result of the previous one as its last argument. */
type Pipeline = Operand[][];
interface Action {
  /** `if`, `with` or `range`; undefined for a value that is written out or assigned to variables. */
  word?: string;
  variables: string[];
  pipeline: Pipeline;
}
type Part = string | (Action & { body: Part[]; otherwise: Part[] });

/** Largest number of steps of a run, and of characters of the result. */
const most = 100_000;

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
  const words = { ...functions, env: envOf(environment) };
  const parts = parse(text);
  let steps = 0;
  let length = 0;
  const write = (body: Part[], dot: unknown, scope: Scope): string =>
    body
      .map((part) => {
        if (++steps > most) throw new Error("it has too many steps");
        const said = typeof part === "string" ? part : act(part, dot, scope);
        length += typeof part === "string" || part.word === undefined ? said.length : 0;
        if (length > 10 * most) throw new Error("its result is too long");
        return said;
      })
      .join("");
  const act = (part: Exclude<Part, string>, dot: unknown, scope: Scope): string => {
    const { word, variables, pipeline, body, otherwise } = part;
    const value = pipeline.length === 0 ? undefined : evaluate(pipeline, dot, scope, words);
    if (word === undefined) {
      if (variables.length === 0) return shown(value);
      scope.set(variables[0]!, value);
      return "";
    }
    if (word !== "range") {
      const inner = scope.below();
      if (variables[0] !== undefined) inner.set(`:${variables[0]}`, value);
      return isTrue(value)
        ? write(body, word === "with" ? value : dot, inner)
        : write(otherwise, dot, inner);
    }
    const items = itemsOf(value);
    if (items.length === 0) return write(otherwise, dot, scope.below());
    return items
      .map(([key, item]) => {
        const inner = scope.below();
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
    private readonly own: Map<string, unknown>,
    private readonly above?: Scope,
  ) {}

  below = (): Scope => new Scope(new Map(), this);

  set(name: string, value: unknown): void {
    if (name.startsWith(":")) return void this.own.set(name.slice(1), value);
    const holder = this.holderOf(name);
    if (holder === undefined) throw new Error(`${name} is not there`);
    holder.own.set(name, value);
  }

  get(name: string): unknown {
    const holder = this.holderOf(name);
    if (holder === undefined) throw new Error(`${name} is not there`);
    return holder.own.get(name);
  }

  private holderOf(name: string): Scope | undefined {
    return this.own.has(name) ? this : this.above?.holderOf(name);
  }
}

function itemsOf(value: unknown): [unknown, unknown][] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  if (typeof value === "object" && value !== null)
    return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  if (value === null || value === undefined) return [];
  throw new Error("range has neither a list nor a mapping");
}

function evaluate(
  pipeline: Pipeline,
  dot: unknown,
  scope: Scope,
  words: Record<string, TemplateFunction>,
): unknown {
  const valueOf = (operand: Operand): unknown => {
    if (operand.is === "value") return operand.value;
    if (operand.is === "call") return call(operand.name, []);
    if (operand.is === "pipeline")
      return fieldOf(evaluate(operand.pipeline, dot, scope, words), operand.fields, "");
    const { name, fields } = operand;
    return fieldOf(name === "." ? dot : scope.get(name), fields, name === "." ? "" : name);
  };
  const call = (name: string, values: unknown[]): unknown => {
    const word = Object.hasOwn(words, name) ? words[name] : undefined;
    if (word === undefined) throw new Error(`the function ${name} is unknown`);
    return word(...values);
  };
  return pipeline.reduce<unknown>((last, [first, ...others], index) => {
    const handed = index === 0 ? [] : [last];
    if (first!.is === "call") return call(first!.name, [...others.map(valueOf), ...handed]);
    if (others.length > 0 || index > 0) throw new Error("a value is used as a function");
    return valueOf(first!);
  }, undefined);
}

/** For topf, a missing key is an error (postfinance/topf, pkg/config/patches.go, `missingkey=error`). */
function fieldOf(value: unknown, fields: string[], name: string): unknown {
  let there = value;
  for (const [index, field] of fields.entries()) {
    const isThere = typeof there === "object" && there !== null && Object.hasOwn(there, field);
    if (!isThere) throw new Error(`${name}.${fields.slice(0, index + 1).join(".")} is missing`);
    there = (there as Record<string, unknown>)[field];
  }
  return there;
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
  const open: { part: Exclude<Part, string>; into: Part[]; chained: number }[] = [];
  const into = (): Part[] => open.at(-1)?.into ?? root;
  let at = 0;
  let trims = false;
  while (at < text.length) {
    const begin = text.indexOf("{{", at);
    const end = begin < 0 ? text.length : begin;
    const trimsBefore = begin >= 0 && /^-\s/.test(text.slice(begin + 2, begin + 4));
    let between = text.slice(at, end);
    if (trims) between = between.trimStart();
    if (trimsBefore) between = between.trimEnd();
    if (between !== "") into().push(between);
    if (begin < 0) break;
    const inner = insideOf(text, begin + 2 + (trimsBefore ? 1 : 0));
    ({ at, trims } = inner);
    if (inner.tokens.length > 0) take(inner.tokens);
  }
  if (open.length > 0) throw new Error("an `end` is missing");
  return root;

  function take([word = "", ...rest]: string[]): void {
    const push = (action: Action, chained = 0): void => {
      const part = { ...action, body: [], otherwise: [] };
      into().push(part);
      if (action.word !== undefined) open.push({ part, into: part.body, chained });
    };
    if (["if", "with", "range"].includes(word)) return push(actionOf(word, rest));
    if (word === "else") {
      const last = open.at(-1);
      if (last === undefined) throw new Error("`else` has no block");
      last.into = last.part.otherwise;
      // `else if` is an `if` within `else`; one `end` closes both.
      if (rest.length > 0) push(actionOf(rest[0], rest.slice(1)), last.chained + 1);
    } else if (word === "end") {
      const closed = open.pop();
      if (closed === undefined) throw new Error("`end` has no block");
      open.length -= closed.chained;
    } else if (["define", "template", "block", "break", "continue"].includes(word))
      throw new Error(`\`${word}\` is unknown`);
    else push(actionOf(undefined, [word, ...rest]));
  }
}

/** The tokens of an action, and the place after it. */
function insideOf(text: string, from: number): { tokens: string[]; at: number; trims: boolean } {
  const comment = /\s*\/\*/y;
  comment.lastIndex = from;
  if (comment.test(text)) {
    const end = text.indexOf("*/", comment.lastIndex);
    const close = /\*\/(\s+-)?\s*\}\}/y;
    close.lastIndex = end;
    const closed = end < 0 ? null : close.exec(text);
    if (closed === null) throw new Error("a comment has no end");
    return { tokens: [], at: close.lastIndex, trims: closed[1] !== undefined };
  }
  const token =
    /\s+-(?=\}\})|\s+|\}\}|"(?:[^"\\\n]|\\.)*"|`[^`]*`|:=|[()|,=]|-?\d+(?:\.\d+)?|\$?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\$?(?:\.[A-Za-z_]\w*)+|\$|\./y;
  const tokens: string[] = [];
  token.lastIndex = from;
  for (let trims = false; ;) {
    const began = token.lastIndex;
    const [found] = token.exec(text) ?? [];
    if (found === undefined)
      throw new Error(
        `the text after ${JSON.stringify(text.slice(Math.max(0, began - 20), began))} cannot be read`,
      );
    if (found === "}}") return { tokens, at: token.lastIndex, trims };
    trims = /^\s+-$/.test(found);
    // A field right after a closing bracket belongs to the value in the brackets.
    if (tokens.at(-1) === ")" && found.startsWith(".")) tokens[tokens.length - 1] = `)${found}`;
    else if (found.trim() !== "" && !trims) tokens.push(found);
    else if (found.trim() === "" && tokens.at(-1) === ")") tokens.push(" ");
  }
}

function actionOf(word: string | undefined, all: string[]): Action {
  const tokens = all.filter((token) => token !== " ");
  const at = tokens.findIndex((token) => token === ":=" || token === "=");
  const named = at < 0 ? [] : tokens.slice(0, at).filter((token) => token !== ",");
  if (named.some((name) => !/^\$\w+$/.test(name)) || named.length > 2)
    throw new Error("variables cannot be read");
  const variables = named.map((name) =>
    tokens[at] === ":=" && word === undefined ? `:${name}` : name,
  );
  const reader: Reader = { tokens, at: at + 1 };
  const pipeline = pipelineOf(reader);
  if (reader.at < tokens.length) throw new Error(`\`${tokens[reader.at]!}\` is not expected here`);
  return { ...(word === undefined ? {} : { word }), variables, pipeline };
}

/** Tokens, and the index of the next one. */
interface Reader {
  tokens: readonly string[];
  at: number;
}

/** Reads a pipeline up to its end or to a bracket. */
function pipelineOf(reader: Reader): Pipeline {
  const pipeline: Pipeline = [[]];
  for (;;) {
    const token = reader.tokens[reader.at];
    if (token === undefined || token.startsWith(")")) break;
    reader.at++;
    if (token === "|") pipeline.push([]);
    else if (token === "(") {
      const inner = pipelineOf(reader);
      const close = reader.tokens[reader.at++];
      if (close === undefined) throw new Error("a bracket is not closed");
      pipeline.at(-1)!.push({ is: "pipeline", pipeline: inner, fields: close.split(".").slice(1) });
    } else pipeline.at(-1)!.push(operandOf(token));
  }
  if (pipeline.some((command) => command.length === 0)) throw new Error("a command is empty");
  return pipeline;
}

function operandOf(token: string): Operand {
  if (token.startsWith('"')) return { is: "value", value: JSON.parse(token) as unknown };
  if (token.startsWith("`")) return { is: "value", value: token.slice(1, -1) };
  if (/^-?\d/.test(token)) return { is: "value", value: Number(token) };
  if (token === "true" || token === "false") return { is: "value", value: token === "true" };
  if (token === "nil") return { is: "value", value: null };
  if (token.startsWith("."))
    return { is: "variable", name: ".", fields: token === "." ? [] : token.slice(1).split(".") };
  if (token.startsWith("$")) {
    const [name = "", ...fields] = token.split(".");
    return { is: "variable", name, fields };
  }
  return { is: "call", name: token };
}
