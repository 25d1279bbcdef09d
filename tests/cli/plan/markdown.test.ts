import { asCell, asCode, asHtml, asLabel, asProse } from "../../../cli/plan/markdown";

test("asCode keeps any content as code", () => {
  expect(asCode("a.b")).toBe("`a.b`");
  expect(asCode("x\n\n## Plan of velaryon")).toBe("`x\\n\\n## Plan of velaryon`");
  expect(asCode("a``b`c")).toBe("```a``b`c```");
  expect(asCode("`")).toBe("`` ` ``");
});

test("asProse escapes all Markdown except pairs of backticks", () => {
  expect(asProse("write `--out` again")).toBe("write `--out` again");
  expect(asProse("x\n\n## Plan of a\n**No machine reboots.**")).toBe(
    "x ## Plan of a \\*\\*No machine reboots.\\*\\*",
  );
  expect(asProse("# a")).toBe("\\# a");
  expect(asProse("![x](https://example.com) <b>")).toBe(
    "!\\[x\\](https:\u200b//example.com) \\<b>",
  );
  expect(asProse("one ` alone")).toBe("one \\` alone");
  expect(asProse("NVIDIA_VISIBLE_DEVICES _x_")).toBe("NVIDIA_VISIBLE_DEVICES \\_x\\_");
});

test("asHtml and asLabel escape names in HTML and in a graph", () => {
  expect(asHtml("a</summary>\n&")).toBe("a&lt;/summary&gt; &amp;");
  expect(asHtml("[a](b) `c` *d*")).toBe("&#91;a&#93;(b) &#96;c&#96; &#42;d&#42;");
  expect(asLabel('a"]\n  x["b')).toBe("a#34;#93;#10;  x#91;#34;b");
});

test("asProse breaks mentions and links", () => {
  expect(asProse("@me, see a/b#12 and GH-3")).toBe("@\u200bme, see a/b#\u200b12 and GH-\u200b3");
  expect(asProse("www.example.com mailto:a@b.example")).toBe(
    "www\u200b.example.com mailto\u200b:a@\u200bb.example",
  );
  expect(asProse("&#64;me &lt;b> $x$")).toBe("\\&#\u200b64;me \\&lt;b> \\$x\\$");
  expect(asProse("`@me` says a::b")).toBe("`@me` says a::b");
  expect(asHtml("@me")).toBe("@\u200bme");
});

test("a backslash at the end of a text does not escape the page's next character", () => {
  expect(asProse("a\\`**x**`")).toBe("a\\\\`**x**`");
  expect(asCell(asCode("a|b\\|c"))).toBe("`a\\|b\\\u200b\\|c`");
});
