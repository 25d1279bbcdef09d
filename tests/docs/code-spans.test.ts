import { pages, read } from "./pages";

/** Paragraphs, items of lists, rows of tables and headings of a page, without its blocks of code. */
const blocksOf = (page: string): string[] =>
  page
    .replaceAll(/^---\n[\s\S]*?\n---$/gm, "")
    .replaceAll(/^ *(```|~~~)[\s\S]*?^ *\1/gm, "")
    .split(/\n\s*\n|\n(?=\s*(?:[-*#>|]|\d+\.) ?)/);

/** A code span begins and ends with equally many backticks (CommonMark 0.31, section 6.1). */
const codeSpan = /(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g;

/** Tags that pages use. A browser drops every other tag, such as the placeholder `<address>` outside of a code span. */
const tag =
  /<\/?(?:a|b|br|circle|code|defs|details|div|em|figure|g|img|kbd|p|path|picture|pre|rect|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr)\b[^>]*>/g;

function faultsOf(page: string): string[] {
  return blocksOf(page).flatMap((block) => {
    const prose = block
      .replaceAll(codeSpan, "")
      .replaceAll(/<code>[^<]*<\/code>|<!--[\s\S]*?-->/g, "");
    const faults = prose.includes("`") ? [`a backtick without its partner: ${block.trim()}`] : [];
    const [droppedTag] =
      /<[a-z][^>\n]*>/i.exec(prose.replaceAll(tag, "").replaceAll(/<https?:[^>]*>/g, "")) ?? [];
    return droppedTag === undefined
      ? faults
      : [...faults, `a tag that a browser drops: ${droppedTag}`];
  });
}

test.each(pages)("%s closes each code span, and has placeholders only in code", (page) => {
  expect(faultsOf(read(page))).toEqual([]);
});

test.each([
  ["a missing first backtick", "Run talosctl -n A\nupgrade-k8s`: it ends."],
  ["a missing last backtick", "- one `item\n- two `items`"],
  ["a placeholder outside of code", "Run it with <the address>."],
])("faultsOf reports %s", (_, page) => {
  expect(faultsOf(page)).toHaveLength(1);
});

test.each([
  ["a code span over two lines", "Run `talosctl\nupgrade-k8s`."],
  ["a code span with a backtick in it", "Write `` a`b `` there."],
  ["a block of code", "```sh\necho `date`\necho `\n```"],
  ["a placeholder in code", "Write `<name>`, with <br> after it."],
])("faultsOf accepts %s", (_, page) => {
  expect(faultsOf(page)).toEqual([]);
});
