import { printable } from "../components/recipe/rules/printable";
import type { Output } from "./verb";

/**
 * The output of every verb. It escapes texts from files, machines and clusters, so that they cannot control the
 * terminal or a runner of workflows.
 */
export const printingTo = (output: Output): Output => ({
  ...output,
  result: (text, isPrintable) => output.result(isPrintable ? text : printable(text)),
  remark: (text) => output.remark(printable(text)),
});
