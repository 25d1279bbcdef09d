import type { Verb } from "../../cli/verb";

/** A verb with an argument, and with an option of each kind. */
export const paint: Verb = {
  summary: "paints it's picture",
  argument: { name: "FILE" },
  options: {
    brush: { value: "KIND", help: "a brush [of: any kind]" },
    onto: { value: "FILE", help: "where to" },
    twice: { help: "once more" },
  },
  run: async () => 0,
};
