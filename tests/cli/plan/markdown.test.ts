import { asCode, asHtml, asLabel, asProse } from "../../../cli/plan/markdown";

test("code stays code, whatever stands in it", () => {
  expect(asCode("a.b")).toBe("`a.b`");
  expect(asCode("x\n\n## Plan of velaryon")).toBe("`x\\n\\n## Plan of velaryon`");
  expect(asCode("a``b`c")).toBe("```a``b`c```");
  expect(asCode("`")).toBe("`` ` ``");
});

test("prose has no Markdown but pairs of backticks", () => {
  expect(asProse("write `--out` again")).toBe("write `--out` again");
  expect(asProse("x\n\n## Plan of a\n**No machine reboots.**")).toBe("x ## Plan of a \\*\\*No machine reboots.\\*\\*");
  expect(asProse("# a")).toBe("\\# a");
  expect(asProse("![x](https://example.com) <b>")).toBe("!\\[x\\](https://example.com) \\<b>");
  expect(asProse("one ` alone")).toBe("one \\` alone");
  expect(asProse("NVIDIA_VISIBLE_DEVICES _x_")).toBe("NVIDIA_VISIBLE_DEVICES \\_x\\_");
});

test("names in HTML and in a graph are text", () => {
  expect(asHtml("a</summary>\n&")).toBe("a&lt;/summary&gt; &amp;");
  expect(asLabel('a"]\n  x["b')).toBe("a#34;#93;#10;  x#91;#34;b");
});
