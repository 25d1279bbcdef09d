import type { Case } from "../case";
import { claimCases } from "./claims";
import { doctorCases } from "./doctor";
import { nriCases } from "./nri";
import { plainCases } from "./plain";
import { powerCases } from "./power";
import { sliceCases } from "./slices";
import { handOverCases } from "./hand-over";

/** Every case, in the order of a run: cases with the same stack are next to each other. */
const allCases: readonly Case[] = [
  ...plainCases,
  ...doctorCases,
  ...handOverCases,
  ...powerCases,
  ...sliceCases,
  ...claimCases,
  ...nriCases,
];

/** Cases by their names; `all` is every one. */
export function selectCases(names: readonly string[]): readonly Case[] {
  if (names.includes("all")) return allCases;
  const unknown = names.filter((name) => !allCases.some(({ id }) => id === name));
  if (unknown.length > 0)
    throw new Error(
      `--cases: there is no case ${unknown.join(", ")}; give all, or some of ${allCases.map(({ id }) => id).join(", ")}`,
    );
  return allCases.filter(({ id }) => names.includes(id));
}
