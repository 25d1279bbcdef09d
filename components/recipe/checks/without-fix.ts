import type { Check } from "./check";
import { fixIds } from "../fix-ids";
import { didYouMean } from "../stack/suggest";

export const withoutFix: Check = {
  id: "without-fix",
  source: "recipe/fix-ids.ts",
  find: ({ spec }) =>
    (spec.without ?? []).flatMap((name, index) =>
      (fixIds as readonly string[]).includes(name)
        ? []
        : [
            {
              field: `without[${index}]`,
              problem: `"${name}" is no fix`,
              why: "nothing would be left out, and the stack would not show what it was meant to show",
              remedy: `${didYouMean(name, fixIds)}one of ${fixIds.join(", ")}`,
            },
          ],
    ),
};
