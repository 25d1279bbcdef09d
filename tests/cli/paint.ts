import type { Verb } from "../../cli/verb";

/** A verb with an argument, and an option of each sort. */
export const paint: Verb = {
  summary: "paints it's picture",
  argument: { name: "FILE", completes: "file", required: true },
  options: {
    brush: { value: { name: "KIND", completes: "nothing" }, help: "a brush [of: any kind]" },
    onto: { value: { name: "FILE", completes: "file" }, help: "where to" },
    twice: { help: "once more" },
  },
  run: async () => 0,
};
