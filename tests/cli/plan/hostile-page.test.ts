import { compare } from "../../../cli/plan/comparison";
import { pageOf, refusalOf } from "../../../cli/plan/page";
import { findingsOf, judge, parseSpec, planCluster } from "../../../components/recipe";

/** A name with all characters that Markdown or GitHub would interpret. */
const hostile =
  "a`\n\n## forged\n\n```\n</details><b>forged</b> <!-- x -->\n| forged | `x` |\n[forged](https://forged.example) ![forged](//forged.example/x) @forged &#64;forged #1 **forged** www.forged.example\\";

const plannedStack = (fields: Record<string, unknown>) => ({
  plan: planCluster(specOf(fields)),
  findings: findingsOf(fields),
  remarks: judge(fields).remarks,
});

function specOf(fields: Record<string, unknown>) {
  const { spec, findings } = parseSpec(fields);
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
  const textLines: string[] = [];
  let fence: string | undefined;
  for (const line of page.split("\n")) {
    const mark = /^(`{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence === undefined) textLines.push(line);
    else if (line === fence) fence = undefined;
  }
  expect(fence).toBeUndefined();
  return textLines.join("\n").replaceAll(/(?<![`\\])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "(code)");
}

/** Markdown, HTML and mentions on a page that a hostile name forged. */
function forgedParts(page: string): string[] {
  const text = outsideOfCode(page);
  return [
    ...text.split("\n").filter((line) => /^\s*(?:#+ forged|\|? *forged|<\/details><b>)/.test(line)),
    ...(text.match(
      /(?<!\\)\[forged|(?<!\\)<(?:b>|!--)|@forged|&#64;|https?:\/\/|www\.|#1\b|(?<!\\)\*\*forged/g,
    ) ?? []),
  ];
}

test("this file recognises forged Markdown", () => {
  expect(forgedParts(hostile.replace("```", "")).length).toBeGreaterThan(5);
});

const withoutBase = { commit: undefined, stack: undefined };
const hostileBase = { commit: "main`**forged**", stack: plannedStack(stack("x")) };

test.each([
  { name: "alone", base: withoutBase },
  { name: "compared with another stack", base: hostileBase },
])("no text of a stack becomes Markdown in its plan's page: $name", ({ base }) => {
  const hostileStack = plannedStack(stack(hostile));
  const page = pageOf(compare(`home ${hostile}`, base.commit, base.stack, hostileStack));
  expect(page).toContain("forged");
  expect(forgedParts(page)).toEqual([]);
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
  expect(forgedParts(page)).toEqual([]);
});
