import { slugOf } from "../../../generate/site/slug";
import { piecesOf } from "../../../generate/site/sources";
import { pages, read } from "../../docs/pages";

// github.com makes these anchors of headings, and links on the site must lead to the same place.
test.each([
  ["Pulumi's state and secrets", "pulumis-state-and-secrets"],
  ["From Talos 1.14 to 1.15", "from-talos-114-to-115"],
  ["`next`: Talos 1.15, with the operator's toolkit", "next-talos-115-with-the-operators-toolkit"],
])("the heading %j has GitHub's anchor %s", (heading, anchor) =>
  expect(slugOf(heading)).toBe(anchor),
);

test("the site's configuration uses GitHub's anchors for headings", () => {
  expect(read("docs/.vitepress/config.ts")).toContain("anchor: { slugify: slugOf }");
});

test("an issue becomes a link if its repository is known or written with its owner", () => {
  expect(piecesOf("see talos#14373, NVIDIA/mig-parted#356 and C#9 of unknown#1")).toEqual([
    { text: "see " },
    { text: "talos#14373", href: "https://github.com/siderolabs/talos/issues/14373" },
    { text: ", " },
    { text: "NVIDIA/mig-parted#356", href: "https://github.com/NVIDIA/mig-parted/issues/356" },
    { text: " and C#9 of unknown#1" },
  ]);
});

test("every issue in the prose of the site's pages becomes a link", () => {
  const sitePages = pages.filter((page) => page.startsWith("docs/"));
  const unlinkedIssues = sitePages.flatMap((page) => {
    const text = read(page)
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, "")
      .replaceAll(/\[[^\]]*\]\([^)]*\)/g, "");
    return piecesOf(text).flatMap(({ text: piece, href }) =>
      href === undefined ? [...piece.matchAll(/[\w-]+#\d{2,}/g)].map(([issue]) => issue) : [],
    );
  });
  expect(unlinkedIssues).toEqual([]);
});

// VitePress shows such a block without a box or a scroll bar, so it widens the whole page.
test("no page has an indented code block without a fence", () => {
  const indented = pages.filter((page) =>
    /\n\n {4}(?! )\S/.test(read(page).replaceAll(/^ *```[\s\S]*?^ *```/gm, "")),
  );
  expect(indented).toEqual([]);
});
