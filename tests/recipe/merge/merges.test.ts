import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { wantedOf } from "../../../components/recipe/merge/wanted";
import { fixture, table } from "../../support/table";
import { said } from "./said";

type Documents = string | object[];

/** A row of tests/fixtures/merges.yaml, which says what each part is. */
interface Merge {
  name: string;
  live: Documents;
  patch: Documents;
  gives?: Documents;
  patched?: boolean;
  conflicts?: Record<string, string>;
}

const textOf = (documents: Documents): string =>
  typeof documents === "string" ? documents : documents.map((one) => stringify(one)).join("---\n");

const parts = ["name", "live", "patch", "gives", "patched", "conflicts"] as const;
test.each(table<Merge>(fixture("merges.yaml"), parts))("%s", (_, row) => {
  const [live, patch] = [textOf(row.live), textOf(row.patch)];
  const { configuration, added, changed, conflicts } = mergeConfiguration(live, [patch]);
  const told = conflicts.map(({ check, field, problem, remedy }) => [field, `${check}: ${problem}; ${remedy}`]);
  const patterns = Object.entries(row.conflicts ?? {}).map(([field, pattern]) => [
    field,
    expect.stringMatching(new RegExp(pattern)),
  ]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(patterns));
  if (row.gives === undefined) return expect({ configuration, changed, added }).toEqual(nothing(live));
  const gives = textOf(row.gives);
  if (typeof row.gives === "string") expect(configuration).toBe(gives);
  expect(said(configuration)).toEqual(said(gives));
  const again = mergeConfiguration(configuration, [patch], added);
  expect(again).toMatchObject({ configuration, changed: false, added });
  const taken = unmergeConfiguration(configuration, added);
  if (typeof row.gives === "string") expect(taken).toBe(live);
  expect(said(taken)).toEqual(said(live));
  if (row.patched) expect([...wantedOf([live, patch]).values()][0]).toEqual(said(gives)[0]);
});

const nothing = (configuration: string): object => ({ configuration, changed: false, added: { additions: [] } });
