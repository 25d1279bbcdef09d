import { printable } from "../components/recipe/rules/printable";
import type { Output } from "./verb";

/**
 * The output of every verb. It escapes texts from files, machines and clusters, because these could otherwise control
 * the terminal or a CI runner.
 */
export const printingTo = (output: Output): Output => ({
  ...output,
  result: (text, isPrintable) => output.result(isPrintable ? text : printable(text)),
  remark: (text) => output.remark(printable(text)),
});
