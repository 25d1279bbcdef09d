import { printable } from "../components/recipe/rules/printable";
import type { Output } from "./verb";

/** A safe output for every verb: no text from a file, a machine or a cluster acts on the terminal or on a runner of workflows. */
export const printed = (output: Output): Output => ({
  ...output,
  result: (text, isPrintable) => output.result(isPrintable ? text : printable(text)),
  remark: (text) => output.remark(printable(text)),
});
