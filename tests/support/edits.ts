import { merged } from "../recipe/stacks";
import { readStackFile } from "../../stacks/stack-file";
import { fixture, table } from "./table";

/** Configuration of a stack, as data that an edit may change. */
export type Said = Record<string, any>;

/** An edit of a stack, as its owner makes it, and what comes of it. */
export interface Edit {
  /** Name in tests and of its golden file. */
  name: string;
  stack: string;
  /** A JSON merge patch. */
  change: object;
  /** Whether each machine reboots, by node name. */
  reboots: Record<string, "yes" | "no" | "only if">;
}

/** Edits of one line or so of the real stacks. */
export const edits = table<Edit>(fixture("edits.yaml"), ["name", "stack", "change", "reboots"]).map(([, edit]) => edit);

/** What a stack says after an edit. */
export const edited = ({ stack, change }: Pick<Edit, "stack" | "change">): Said =>
  merged(readStackFile(stack), change) as Said;
