import { officialName } from "../machine/losses";
import { shown } from "../rules";
import type { Check, Found } from "./check";

/** What a machine's image brings and what it shall lose, as lists of names. */
const lists = ["extensions", "kernelArgs"] as const;

/** A list of what an image brings has each name once, and brings nothing that it drops. */
export const imageLists: Check = {
  id: "image-lists",
  source: "what the stack says of one image; an argument of the kernel may stand twice, as `console` does",
  find: ({ machines }) =>
    machines.flatMap(({ field, spec }) =>
      lists.flatMap((list): Found => {
        const name = list === "extensions" ? officialName : (text: string): string => text;
        const brought = (spec[list] ?? []).map(name);
        const twice = brought.findIndex((each, index) => brought.indexOf(each) < index);
        const dropped = (spec.drop?.[list] ?? []).findIndex((each) => brought.includes(name(each)));
        return [
          list !== "kernelArgs" &&
            twice >= 0 && {
              field: `${field}.${list}[${twice}]`,
              problem: `${shown(spec[list]![twice]!)} is listed twice`,
              why: "an image has each extension once, so one of the two entries is a mistake, or should name another extension",
              remedy: "take one of the two out",
            },
          dropped >= 0 && {
            field: `${field}.drop.${list}[${dropped}]`,
            problem: `${shown(spec.drop![list]![dropped]!)} stands under ${field}.${list} too`,
            why: "the image cannot bring it and lose it",
            remedy: "take it out of one of the two lists",
          },
        ];
      }),
    ),
};
