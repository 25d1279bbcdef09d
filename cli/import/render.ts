import { Document, isScalar, visit } from "yaml";
import { type Imported, unnamed } from "./convert";

/**
 * The stack file of an import, as `Pulumi.<stack>.yaml` has it.
 *
 * @param source name of the file that it was made of
 */
export function renderStack({ spec, notes }: Imported, source: string): string {
  const config = Object.entries(spec).map(([key, value]) => [`talos-gpu:${key}`, value]);
  const document = new Document({ config: Object.fromEntries(config) as Record<string, unknown> });
  document.commentBefore =
    ` The GPU nodes of ${source}. Their configuration stays the other tool's: this stack only adds NVIDIA's part to it.\n` +
    " NVIDIA's modules, extensions and installer images follow from the cards, and are not repeated here." +
    (notes.length === 0 ? "" : "\n\n Left to you:") +
    notes
      .map(({ field, problem, remedy }) => `\n - ${field}: ${problem}; ${remedy}`.replaceAll(/[\r\t]/g, " "))
      .join("");
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && node.value === unnamed) node.comment = " the card's model, e.g. RTX 3090";
    },
  });
  return document.toString({ lineWidth: 0 });
}
