import { printable } from "../components/recipe/rules/printable";
import type { Output } from "./verb";

/** An output on which nothing from a file, a machine or a cluster acts on the terminal or on a runner of workflows, whatever a verb writes. */
export const printed = (output: Output): Output => ({
  ...output,
  result: (text, isPrintable) => output.result(isPrintable ? text : printable(text)),
  remark: (text) => output.remark(printable(text)),
});
