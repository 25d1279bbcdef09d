import { compare } from "../../../cli/plan/comparison";
import { pageOf, refusalOf } from "../../../cli/plan/page";
import { findingsOf, judge, parseSpec, planCluster } from "../../../components/recipe";

/** A name with all characters that Markdown or GitHub would interpret. */
const hostile =
  "a`\n\n## forged\n\n```\n</details><b>forged</b> <!-- x -->\n| forged | `x` |\n[forged](https://forged.example) ![forged](//forged.example/x) @forged &#64;forged #1 **forged** www.forged.example\\";

const side = (said: Record<string, unknown>) => ({
  plan: planCluster(parsed(said)),
  findings: findingsOf(said),
  remarks: judge(said).remarks,
});

function parsed(said: Record<string, unknown>) {
  const { spec, findings } = parseSpec(said);
  if (spec === undefined) throw new Error(JSON.stringify(findings));
  return spec;
}

const stack = (text: string) => ({
  talosVersion: "v1.12.6",
  machines: {
    [`gpu-1${text}`]: {
      address: "10.0.0.1",
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "H100 NVL" }],
      patches: [`machine:\n  nodeLabels:\n    ${JSON.stringify(text)}: ${JSON.stringify(text)}\n`],
      extensions: [`siderolabs/${text}`],
    },
  },
  devicePlugin: { version: "0.17.4", values: { [text]: { [text]: text } } },
});

/** A page without its code blocks and inline code. */
function outsideOfCode(page: string): string {
  const kept: string[] = [];
  let fence: string | undefined;
  for (const line of page.split("\n")) {
    const mark = /^(`{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence === undefined) kept.push(line);
    else if (line === fence) fence = undefined;
  }
  expect(fence).toBeUndefined();
  return kept.join("\n").replaceAll(/(?<![`\\])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "(code)");
}

/** Markdown, HTML and mentions on a page that a hostile name forged. */
function forged(page: string): string[] {
  const text = outsideOfCode(page);
  return [
    ...text.split("\n").filter((line) => /^\s*(?:#+ forged|\|? *forged|<\/details><b>)/.test(line)),
    ...(text.match(
      /(?<!\\)\[forged|(?<!\\)<(?:b>|!--)|@forged|&#64;|https?:\/\/|www\.|#1\b|(?<!\\)\*\*forged/g,
    ) ?? []),
  ];
}

test("this file recognises forged Markdown", () => {
  expect(forged(hostile.replace("```", "")).length).toBeGreaterThan(5);
});

test.each([
  ["alone", undefined],
  ["compared with another stack", stack("x")],
])("no text of a stack becomes Markdown in its plan's page: %s", (_, before) => {
  const base = before === undefined ? undefined : "main`**forged**";
  const page = pageOf(
    compare(
      `home ${hostile}`,
      base,
      before === undefined ? undefined : side(before),
      side(stack(hostile)),
    ),
  );
  expect(page).toContain("forged");
  expect(forged(page)).toEqual([]);
  const headings = page.split("\n").filter((line) => line.startsWith("#"));
  expect(
    headings.filter((line) => !/^## Plan of home |^### [A-Z][A-Za-z :,]+$/.test(line)),
  ).toEqual([]);
});

test("no text of a refused stack becomes Markdown in the refusal's page", () => {
  const page = refusalOf([
    { check: "x", field: hostile, problem: hostile, why: hostile, remedy: hostile },
  ]);
  expect(page.trimEnd().split("\n")).toHaveLength(3);
  expect(forged(page)).toEqual([]);
});
