import { stackText } from "../stack-text";
import type { Imported } from "./convert";

/**
 * The stack file of an import.
 *
 * @param source name of the file that it was made of
 */
export function renderStack({ spec, notes }: Imported, source: string): string {
  const head = [
    `The GPU nodes of ${source}. Their configuration stays the other tool's: this stack only adds NVIDIA's part to it.`,
    "NVIDIA's modules, extensions and installer images follow from the cards, and are not repeated here.",
  ];
  return stackText(spec, { head, left: notes.map(({ field, problem, remedy }) => `${field}: ${problem}; ${remedy}`) });
}
