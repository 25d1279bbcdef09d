import { judge, renderFinding } from "../../components/recipe";

/** Warnings and notes of a stack, as users read them. */
export const warningsAndNotes = (stack: unknown): string[] =>
  judge(stack).remarks.map(renderFinding);
