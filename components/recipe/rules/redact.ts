import { isRandom } from "./random-text";
import {
  isBasicAuth,
  looksSecret,
  mayNameSecret,
  namesSecret,
  passwordOfUrl,
  withoutMarked,
} from "./secret-text";

/** Text that replaces a secret in a text. */
const REDACTED = "[redacted]";

/**
 * Replaces the credentials in a text for a log, an error or a file. The function's time grows only linearly with the
 * text's length, because the text may come from an attacker's pod or machine.
 *
 * @param secrets values that are certainly secret; every occurrence is replaced.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  const cleaned = secrets
    .filter((value) => value.length >= 8)
    .reduce((partlyCleaned, value) => partlyCleaned.split(value).join(REDACTED), text);
  return withoutNamedSecrets(
    withoutBlocks(withoutMarked(withoutUrlPasswords(withoutPem(cleaned)), REDACTED)),
  );
}

/** Pattern of a line that continues a PEM block whose end is missing: base64, or a header of an encrypted key. */
const goesOnWithPem =
  /^\s{0,40}(?:[A-Za-z0-9+/=]{1,200}|(?:Proc-Type|DEK-Info): [^\n]{1,200})\s{0,8}$/;

/** Replaces every PEM block, even if the block's end is missing. */
function withoutPem(text: string): string {
  const parts: string[] = [];
  let position = 0;
  let end = -1;
  for (
    let begin = text.indexOf("-----BEGIN ");
    begin >= 0;
    begin = text.indexOf("-----BEGIN ", position)
  ) {
    parts.push(text.slice(position, begin), REDACTED);
    if (end < begin) end = positionOf("-----END ", text, begin);
    const isWhole = end < positionOf("-----BEGIN ", text, begin + 1);
    position = isWhole ? endOfMark(text, end) : endOfCutPem(text, begin);
  }
  parts.push(text.slice(position));
  return parts.join("");
}

/** Position of `mark` at or after `start`; Infinity if there is none, so that the caller does not search again. */
function positionOf(mark: string, text: string, start: number): number {
  const position = text.indexOf(mark, start);
  return position < 0 ? Infinity : position;
}

/** Position after an end line such as `-----END PRIVATE KEY-----`, which begins at `end`. */
function endOfMark(text: string, end: number): number {
  const mark = /^-----END [A-Z0-9 ]{1,64}-----/.exec(text.slice(end, end + 90));
  return end + (mark?.[0].length ?? "-----END ".length);
}

function endOfCutPem(text: string, begin: number): number {
  let end = lineEnd(text, begin);
  while (end < text.length) {
    const next = lineEnd(text, end + 1);
    if (next - end > 300 || !goesOnWithPem.test(text.slice(end + 1, next))) break;
    end = next;
  }
  return end;
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.length : end;
}

function withoutUrlPasswords(text: string): string {
  const parts: string[] = [];
  let position = 0;
  for (
    let url = text.indexOf("://");
    url >= 0;
    url = text.indexOf("://", Math.max(position, url + 3))
  ) {
    const password = passwordOfUrl(text, url);
    if (password === undefined || password.start < position) continue;
    parts.push(text.slice(position, password.start), REDACTED);
    position = password.end;
  }
  parts.push(text.slice(position));
  return parts.join("");
}

/** Replaces long base64, and the values of `Bearer` and `Basic`. */
function withoutBlocks(text: string): string {
  return text
    .replace(/[A-Za-z0-9+/_-]{40,}={0,2}/g, (run) => {
      if (/^\/{0,8}(?:LS0tLS|eyJ)/.test(run)) return REDACTED;
      if (/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(run.slice(-36))) return run;
      return isRandom(run, 20) ? REDACTED : run;
    })
    .replace(
      /(?<![A-Za-z0-9])(bearer|basic)(\s{1,4})([^\s"',;\\]{6,4000})/gi,
      (all, scheme: string, space: string, value: string) =>
        isOfScheme(scheme, value) ? `${scheme}${space}${REDACTED}` : all,
    );
}

/**
 * Whether the word after `Bearer` or `Basic` is a credential. In `Bearer token` and `Basic authentication`, the word is
 * not a credential.
 */
function isOfScheme(scheme: string, value: string): boolean {
  if (scheme.toLowerCase() === "basic") return isBasicAuth(value);
  return (
    value.length >= 8 &&
    (/[\d._~+/=-]/.test(value.replace(/[.:]$/, "")) ||
      /[a-z][A-Z]/.test(value) ||
      value.length >= 20)
  );
}

/** Pattern of a word that may be the name of a value. */
const NAME = /[\w.-]+/g;

/**
 * Pattern of the characters between a name and its value: in YAML, JSON, JSON within JSON, environments, flags, TOML,
 * Go.
 */
const BETWEEN = /\\{0,6}["'`]?\]?\s{0,8}(?:=>|:=|[:=])[ \t]{0,8}/y;

/** Pattern of the characters between a flag and its value if no `=` is between them: in a command, or in a list. */
const AFTER_FLAG = /(?:\\{0,6}["'],?\s{0,8}|[ \t]{1,8})(?=[^\s-])/y;

/** The quote before a value. */
const QUOTE = /\\{0,6}["'`]/y;

/**
 * Patterns of a value without quotes: its beginning, by which the code decides whether the value is a secret, and the
 * whole value.
 */
const BARE = /(?:[^\s"'`&;\\]|\\(?!["'nrt\\])){1,400}/y;
const ALL_BARE = /(?:[^\s"'`&;\\]|\\(?!["'nrt\\]))+/y;

/** Longest value in quotes that may have several lines. */
const longestQuoted = 4_000;

/** Words that may follow `token:` in a message, and that are not tokens. */
const prose = new Set([
  "a",
  "an",
  "and",
  "are",
  "authentication",
  "authorization",
  "bad",
  "be",
  "been",
  "but",
  "by",
  "can",
  "cannot",
  "could",
  "created",
  "data",
  "denied",
  "deprecated",
  "disabled",
  "does",
  "empty",
  "enabled",
  "end",
  "error",
  "expected",
  "expires",
  "expired",
  "fail",
  "failed",
  "false",
  "for",
  "found",
  "from",
  "get",
  "got",
  "has",
  "have",
  "in",
  "invalid",
  "is",
  "it",
  "length",
  "lost",
  "malformed",
  "missing",
  "must",
  "need",
  "needs",
  "nil",
  "no",
  "none",
  "not",
  "null",
  "of",
  "on",
  "or",
  "projected",
  "rejected",
  "renewed",
  "required",
  "rotated",
  "secret",
  "secrets",
  "serviceaccounts",
  "set",
  "should",
  "the",
  "this",
  "to",
  "token",
  "true",
  "type",
  "unauthorized",
  "undefined",
  "unexpected",
  "unknown",
  "unset",
  "update",
  "updated",
  "use",
  "used",
  "was",
  "will",
  "with",
  "wrong",
  "yes",
]);

/**
 * Pattern of values that contain no secret: an empty value, a variable, a template, a mapping, a block, or a redacted
 * value.
 */
const elsewhere =
  /^(?:|\$\{\w{1,80}\}|\$\(\w{1,80}\)?|\$[A-Z_]{2,80}|\{\{.*|<[^<>]{0,100}>|file:.*|\[redacted\]?|\(hidden\)?|\*{3,400}|[|>][-+\d]{0,3}|[[{](?:[\s"'\\{[].*)?)$/s;

/** Whether a value names a file. */
const isPath = (value: string): boolean =>
  /^\.{0,2}\/[\w./-]*$/.test(value) && !isRandom(value, 16);

/** Replaces the values after names of secrets. */
function withoutNamedSecrets(text: string): string {
  const parts: string[] = [];
  let position = 0;
  let isOfSecretVariable = false;
  NAME.lastIndex = 0;
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const word = match[0].slice(-128);
    const end = NAME.lastIndex;
    const isNamed = namesSecret(word) || (isOfSecretVariable && /^value$/i.test(word));
    const isVariable = /^(?:name|key)$/i.test(word);
    if (!isNamed && !isVariable && !mayNameSecret(word)) continue;
    const value = valueAt(text, match.index, end, isNamed && word.startsWith("-"));
    if (value === undefined) continue;
    const valueText = text.slice(value.start, value.end);
    isOfSecretVariable = isVariable && valueText.length < 128 && namesSecret(valueText);
    if (isNamed ? value.isHeader || isSecretValue(word, valueText) : looksSecret(valueText)) {
      parts.push(text.slice(position, value.start), REDACTED);
      position = value.isQuoted || value.isHeader ? value.end : endOfBare(text, value);
      NAME.lastIndex = position;
    } else if (isNamed && /^[|>][-+\d]{0,3}\s*$/.test(valueText)) {
      parts.push(text.slice(position, value.end));
      position = blockEnd(text, match.index, value.end);
      if (position > value.end) parts.push(`\n${REDACTED}`);
      NAME.lastIndex = position;
    }
  }
  parts.push(text.slice(position));
  return parts.join("");
}

interface Value {
  start: number;
  end: number;
  isQuoted: boolean;
  /** Whether the name is an HTTP header, whose whole line is secret. */
  isHeader: boolean;
}

const matchAt = (pattern: RegExp, text: string, start: number): string | undefined => {
  pattern.lastIndex = start;
  return pattern.exec(text)?.[0];
};

/**
 * Place of the value after a name; undefined if no value follows. For a long value without quotes, `end` is only the
 * end of the part that `BARE` matches.
 */
function valueAt(
  text: string,
  nameStart: number,
  nameEnd: number,
  isFlag: boolean,
): Value | undefined {
  const assigned = matchAt(BETWEEN, text, nameEnd);
  const separator = assigned ?? (isFlag ? matchAt(AFTER_FLAG, text, nameEnd) : undefined);
  if (separator === undefined) return undefined;
  const start = nameEnd + separator.length;
  const quote = matchAt(QUOTE, text, start);
  if (quote !== undefined) {
    const inside = start + quote.length;
    return {
      start: inside,
      end: inside + quotedLength(text.slice(inside, inside + longestQuoted), quote),
      isQuoted: true,
      isHeader: false,
    };
  }
  const name = text.slice(Math.max(nameStart, nameEnd - 40), nameEnd);
  if (/^(?:proxy-)?authorization$|^(?:set-)?cookie$/i.test(name))
    return { start, end: lineEnd(text, start), isQuoted: false, isHeader: true };
  if (assigned?.includes(":") && /pass|pwd/i.test(name) && isFirstOfLine(text, nameStart)) {
    const line = text.slice(start, lineEnd(text, start));
    return { start, end: start + line.trimEnd().length, isQuoted: true, isHeader: false };
  }
  const bareValue = matchAt(BARE, text, start) ?? "";
  return {
    start,
    end: start + bareValue.replace(/[,.)\]}]{1,8}$/, "").length,
    isQuoted: false,
    isHeader: false,
  };
}

/** Length of a value up to its closing quote, or if this quote is missing, up to the end of the line. */
function quotedLength(text: string, quote: string): number {
  const close = text.indexOf(quote);
  return close >= 0 ? close : lineEnd(text, 0);
}

function endOfBare(text: string, { start, end }: Value): number {
  return end - start < 390 ? end : start + (matchAt(ALL_BARE, text, start)?.length ?? 0);
}

/** Whether the line contains only indentation, the dash of a list and a quote before a position. */
function isFirstOfLine(text: string, position: number): boolean {
  const textBefore = text.slice(Math.max(0, position - 80), position);
  const line = textBefore.slice(textBefore.lastIndexOf("\n") + 1);
  return line.length < 80 && /^[ \t]{0,80}(?:- )?["']?$/.test(line);
}

/** Whether the value after a secret's name is really a secret. */
function isSecretValue(name: string, text: string): boolean {
  const value = text.trim();
  if (elsewhere.test(value) || isPath(value)) return false;
  const [first = ""] = value.slice(0, 40).split(/[\s,.;:!]/, 1);
  if (prose.has(first.toLowerCase())) return false;
  if (/(?:token|^pass)$/i.test(name) && /^\d{1,6}$/.test(value)) return false; // A number after `tokens` or `tests` is a count.
  return name !== "PASS" || !value.startsWith("Test");
}

/** The end of the block below a name: of the following lines with more indentation than the name's line. */
function blockEnd(text: string, name: number, start: number): number {
  const textBefore = text.slice(Math.max(0, name - 200), name);
  const line = textBefore.slice(textBefore.lastIndexOf("\n") + 1);
  if (line.length >= 200) return start;
  const indent = line.search(/[^ ]|$/);
  let end = lineEnd(text, start);
  let last = start;
  while (end < text.length) {
    const next = lineEnd(text, end + 1);
    const nextText = text.slice(end + 1, next);
    if (nextText.trim() !== "" && nextText.search(/[^ ]/) <= indent) break;
    end = next;
    last = next;
  }
  return last;
}

/** Pattern of pods' environment variables with NVIDIA's settings. A reader of a report needs their values. */
const settings = /^(?:NVIDIA|DCGM|CUDA)_[A-Z0-9_]{1,100}$/;

/**
 * Copies data and hides values whose name or form is that of a secret. It also hides the values of a pod's environment
 * variables, because only the pod's author knows which values are secret. The function shows only the variables that
 * match `settings`.
 */
export function withoutSecrets(data: unknown, name = ""): unknown {
  if (typeof data === "string")
    return name !== "" && holdsSecret(name, data) ? HIDDEN : redact(data);
  if (Array.isArray(data))
    return data.map((item, index) => withoutSecretsOfList(item, data[index - 1], name));
  if (data === null || typeof data !== "object") return data;
  const { name: variable, value } = data as { name?: unknown; value?: unknown };
  const isSecretVariable =
    typeof value === "string" && typeof variable === "string" && namesSecret(variable);
  return Object.fromEntries(
    Object.entries(data).map(([key, child]) => [
      redact(key),
      isSecretVariable && key === "value" ? HIDDEN : withoutSecrets(child, key),
    ]),
  );
}

/** Text that replaces a secret in data. */
const HIDDEN = "(hidden)";

/**
 * Redacts an item of a list: a pod's environment variable, or an argument, which may be the value of the flag before
 * it.
 */
function withoutSecretsOfList(item: unknown, previousItem: unknown, list: string): unknown {
  if (typeof item === "string") {
    const isOfFlag =
      typeof previousItem === "string" &&
      /^--?[\w.-]{1,128}$/.test(previousItem) &&
      namesSecret(previousItem);
    return isOfFlag && !item.startsWith("--") ? HIDDEN : withoutSecrets(item, list);
  }
  const { name, value } = (item ?? {}) as { name?: unknown; value?: unknown };
  const isHidden =
    list === "env" &&
    typeof value === "string" &&
    !(settings.test(String(name)) && !namesSecret(String(name)));
  return withoutSecrets(isHidden ? { ...(item as object), value: HIDDEN } : item);
}

/** Whether a text is a secret because of its field's name. */
function holdsSecret(name: string, text: string): boolean {
  if (namesSecret(name)) return isSecretValue(name, text);
  return mayNameSecret(name) && looksSecret(text);
}
