import { parse } from "yaml";
import { inLine, printable } from "../../components/recipe/rules/printable";

test("only characters that control a terminal are escaped", () => {
  expect(printable("\u001b]0;x\u0007\r\u009b31m\u202e\u2066\u200f\u2028\u007f")).toBe(
    String.raw`\u001b]0;x\u0007\u000d\u009b31m\u202e\u2066\u200f\u2028\u007f`,
  );
  expect(printable("a\tb\n  ü 漢字 👩‍💻 → `x`")).toBe("a\tb\n  ü 漢字 👩‍💻 → `x`");
});

test.each([
  ["::error::x", String.raw`\u003a:error::x`],
  ["a\n \u00a0\t::stop-commands::x", `a\n \u00a0\t${String.raw`\u003a:stop-commands::x`}`],
  ["a::b ::c", "a::b ::c"],
  ["fd00::1", "fd00::1"],
  [
    "a ##[group]b ##vso[task.setvariable]c",
    String.raw`a #\u0023[group]b #\u0023vso[task.setvariable]c`,
  ],
  ["###[x] ##TeamCity[x] ## [x]", String.raw`##\u0023[x] #\u0023TeamCity[x] ## [x]`],
])("only workflow commands are escaped in %j", (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test("line breaks in a name are escaped", () => {
  expect(inLine("a\n::error::b\r\nc")).toBe(String.raw`a\n::error::b\u000d\nc`);
});

test("escaping a second time changes nothing", () => {
  const text = "\u001b[1m\n::x ##[y]\u202e";
  expect(printable(printable(text))).toBe(printable(text));
});

test("an escaped string in quotes has the same value in JSON and YAML", () => {
  const text = "\u009b::x\u202e ##[y] ##vso[z]\u2028";
  expect(JSON.parse(printable(JSON.stringify([text, text])))).toEqual([text, text]);
  expect(parse(printable(`${JSON.stringify(text)}: 1`))).toEqual({ [text]: 1 });
});

test("a text of a million special characters is escaped without hanging", () => {
  for (const part of [" ", "#", "##a", ":", "\n", "\u001b"])
    expect(printable(part.repeat(1_000_000))).not.toBe("");
});
