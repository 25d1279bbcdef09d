import { parse } from "yaml";
import { stackText } from "../../cli/stack-text";
import { unsafeParts, hostileName } from "./hostile";

test("a stack file keeps names and texts, with control characters escaped", () => {
  const spec = {
    name: hostileName,
    [hostileName]: { "::x": ["::y", "##[z]", "\u202ea"] },
    long: `first line of a text that is long enough to be folded\n::error::x\n  ##[group]y\n\n[plugins]\n${"\u200fa ".repeat(40)}\n`,
  };
  const text = stackText(spec, {
    head: ["x"],
    tasksAndNotes: [hostileName],
    fields: { name: [hostileName] },
  });
  expect(unsafeParts(text)).toEqual([]);
  expect(text).not.toMatch(/^\s*::/m);
  const { config } = parse(text) as { config: object };
  expect(config).toEqual(
    Object.fromEntries(Object.entries(spec).map(([key, value]) => [`talos-gpu:${key}`, value])),
  );
});

test("a harmless text of several lines stays a block", () => {
  expect(
    stackText({ extra: "# a\n[plugins]\n  b = 1\n" }, { head: [], tasksAndNotes: [] }),
  ).toContain("|\n");
});
