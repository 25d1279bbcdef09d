import { isIP } from "node:net";
import type { TypeText } from "../../facts/talos-schema";
import { asText, isMapping } from "../../mapping";
import { wordsOf } from "../../shape";

/**
 * Mistake in a single value that does not fit its type; undefined if the value fits. The text never repeats the value,
 * which may be secret.
 */
export function misfit(value: unknown, type: TypeText): string | undefined {
  if (isMapping(value)) return "is a mapping";
  if (Array.isArray(value)) return "is a list";
  const text = asText(value);
  const isNumber = typeof value === "number";
  switch (type) {
    case "string":
      return undefined;
    case "boolean":
      // go-yaml reads the words of YAML 1.1 as a boolean, but not the text "true".
      return typeof value === "boolean" || /^(y|yes|on|n|no|off)$/i.test(text)
        ? undefined
        : "is not true or false";
    case "integer":
    case "unsigned":
      if (!isNumber) return /^[-+]?\d/.test(text) ? "is a string" : "is not a number";
      if (!Number.isInteger(value)) return "is not a whole number";
      return type === "unsigned" && value < 0 ? "is negative" : undefined;
    case "number":
      return isNumber ? undefined : "is not a number";
    case "duration":
      if (isNumber) return "is a number without a unit";
      return durationPattern.test(text) ? undefined : "is not a duration";
    case "base64":
      return text === "" || isBase64(text) ? undefined : "is not base64";
    default:
      if (type.startsWith("=")) return isOneOf(text, type) ? undefined : "has an unknown value";
      if (type.startsWith("/")) return patternProblem(text, type.slice(1));
      return "is a single value";
  }
}

const durationPattern = /^[-+]?(((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+|0)$/;

/**
 * Whether a text is a word of an enumeration. Talos' newer documents accept the words in upper and lower case (enumer).
 * The v1alpha1 document accepts them only as the schema writes them.
 */
function isOneOf(text: string, type: TypeText): boolean {
  const words = wordsOf(type);
  return (
    words.includes(text) ||
    (text !== "" &&
      words.map((word) => word.toLowerCase()).includes(text.toLowerCase()) &&
      !v1alpha1Words.has(type))
  );
}

/** Enumerations of v1alpha1, which are case-sensitive. */
const v1alpha1Words = new Set([
  "=controlplane|worker",
  "=flannel|custom|none",
  "=create|append|overwrite",
]);

const isBase64 = (text: string): boolean =>
  /^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/.test(text) && text.replace(/\s/g, "").length % 4 === 0;

const prefixPattern = "^[0-9a-f.:]+/\\d{1,3}$";
const addressPattern = "^[0-9a-f.:]+$";
const hardwarePattern = "^[0-9a-f:]+$";

/**
 * Mistake in a text that does not match a pattern of the schema. Three patterns accept more than Talos' own parser, so
 * the function parses these texts itself.
 */
function patternProblem(text: string, pattern: string): string | undefined {
  if (text === "") return undefined; // An empty text counts as not set.
  if (pattern === prefixPattern)
    return isPrefix(text) ? undefined : "is not a network with a prefix length";
  if (pattern === addressPattern) return isAddress(text) ? undefined : "is not an IP address";
  if (pattern === hardwarePattern)
    return isHardwareAddress(text) ? undefined : "is not a hardware address";
  return new RegExp(pattern, "u").test(text) ? undefined : `does not match ${pattern}`;
}

/** Whether a text is an IP address, with or without a zone. */
export const isAddress = (text: string): boolean => isIP(text) !== 0;

/** Whether a text is an IP address with a prefix length, e.g. `10.0.0.0/8`. */
export function isPrefix(text: string): boolean {
  const [address = "", bits = "", ...otherParts] = text.split("/");
  const family = isIP(address);
  return (
    family !== 0 &&
    otherParts.length === 0 &&
    /^(0|[1-9]\d{0,2})$/.test(bits) &&
    Number(bits) <= (family === 4 ? 32 : 128)
  );
}

const isHardwareAddress = (text: string): boolean =>
  /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}(([:-][0-9a-f]{2}){2}|([:-][0-9a-f]{2}){14})?$/i.test(text);

/** Whether a text is a number of bytes, with or without a unit. */
export const isSize = (text: string): boolean =>
  /^\d+(\.\d+)?\s*([kmgtpe]i?b?|b)?$/i.test(text.replaceAll(",", ""));

/** Bytes of a size, for comparisons; undefined for a percentage, or if the text is not a size. */
export function bytesOf(value: unknown): number | undefined {
  const [, amount, letter = "", binary = ""] =
    /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?)b?|b)?$/i.exec(asText(value)) ?? [];
  if (amount === undefined) return undefined;
  return (
    Number(amount) *
    (binary === "" ? 1000 : 1024) ** ("kmgtpe".indexOf(letter.toLowerCase() || " ") + 1)
  );
}

/** Whether a text is certainly not a CEL expression: it has open quotes or brackets, or an operator at its end. */
export function isWrongExpression(text: string): boolean {
  const bare = text.replace(
    /"(?:\\[^]|[^"\\])*("?)|'(?:\\[^]|[^'\\])*('?)/g,
    (quoted, ...ends: string[]) => (ends[0] || ends[1] ? "x" : quoted),
  );
  const isOpen =
    /["']/.test(bare) ||
    !isBalanced(bare) ||
    /(&&|\|\||[=<>!+*/%-])\s*$/.test(bare) ||
    bare.trim() === "";
  return (
    isOpen ||
    /(^|[^=!<>])=([^=]|$)|\b(and|or|not)\b|(^|[^&])&([^&]|$)|(^|[^|])\|([^|]|$)/.test(bare)
  );
}

function isBalanced(expression: string): boolean {
  let brackets = expression.replace(/[^()[\]{}]/g, "");
  for (let previous = ""; previous !== brackets;) {
    previous = brackets;
    brackets = brackets.replace(/\(\)|\[\]|\{\}/g, "");
  }
  return brackets === "";
}
