import * as fs from "node:fs";
import * as path from "node:path";
import {
  checkCluster,
  describeEffect,
  effectsOf,
  findingsOf,
  parseSpec,
  planCluster,
} from "../../components/recipe";
import { client } from "../../components/recipe/facts/data/since.json";
import { knownMinors } from "../../components/recipe/facts/talos-release";
import * as ts from "typescript";
import {
  readStackFile,
  configurationOf,
  repository as root,
  stacksDir,
} from "../../stacks/stack-file";
import { editedStack, edits } from "../support/edits";
import { planOf } from "../support/plans";
import { anchorsOf, blocksOf, files, pages, read } from "./pages";
import { stacks } from "../support/stacks";

test("the checks accept the stack that README shows", () => {
  const [, text] = /```yaml\n(config:[\s\S]*?)```/.exec(read("README.md"))!;
  const { spec, findings } = parseSpec(configurationOf(text!, "README.md"));
  expect(findings).toEqual([]);
  expect(checkCluster(spec!)).toEqual([]);
});

test("the table in docs/stacks/README.md has exactly the stacks", () => {
  const listedStacks = [
    ...read("docs/stacks/README.md").matchAll(/^\| \[`([^`]+)`\]\(\.\.\/\.\.\/stacks\//gm),
  ].map(([, name]) => name);
  expect(listedStacks.sort()).toEqual(stacks);
});

test("every page in docs/stacks has a stack file", () => {
  const stacksWithoutFile = stacks.filter(
    (name) => !fs.existsSync(path.join(stacksDir, `Pulumi.${name}.yaml`)),
  );
  expect(stacksWithoutFile).toEqual([]);
});

test("no cell of a table in README, docs/use.md, docs/evidence.md and docs/stacks/README.md has more than 160 characters", () => {
  const cells = ["README.md", "docs/use.md", "docs/evidence.md", "docs/stacks/README.md"]
    .flatMap((page) => read(page).split("\n"))
    .filter((line) => line.startsWith("|"))
    .flatMap((line) => line.split("|").map((cell) => cell.trim()));
  expect(cells.filter((cell) => cell.length > 160)).toEqual([]);
});

test.each(pages)("every file that %s links to exists", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(
    ([, link]) => link!,
  );
  const missing = links.filter((link) => !fs.existsSync(path.join(root, path.dirname(page), link)));
  expect(missing).toEqual([]);
});

test.each(pages)("every heading that %s links to exists", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)];
  const missing = links.filter(([, file, anchor]) => {
    const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file!);
    return target.endsWith(".md") && !anchorsOf(target).has(anchor!);
  });
  expect(missing.map(([link]) => link)).toEqual([]);
});

/** Whether a link's page exists and has the heading of the link's anchor. */
const linkExists = (link: string): boolean => {
  const [file = "", anchor] = link.split("#", 2);
  if (!fs.existsSync(path.join(root, file))) return false;
  return anchor === undefined || !file.endsWith(".md") || anchorsOf(file).has(anchor);
};

test("every file and heading of this repository that a text links to by URL exists", () => {
  const repositoryUrl = /github\.com\/[\w-]+\/talos-gpu\/(?:blob|tree)\/main\/([\w./#-]*\w)/g;
  const texts = files.filter((file) => /\.(?:md|ya?ml|ts|json)$/.test(file));
  const links = texts.flatMap((file) =>
    [...read(file).matchAll(repositoryUrl)].map(([, link]) => link!),
  );
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((link) => !linkExists(link))).toEqual([]);
});

/** Pages of other projects: image-factory, containerd, ollama, k8s-device-plugin, Argo CD, litellm. */
const otherProjectsPages =
  /^docs\/(?:(?:api|hosts|faq|cdi)\.md|(?:user-guide|my-website|providers|proxy)\/)/;

test("every page that a message, a docstring or a comment names exists", () => {
  const pagePath = /(?<![\w/])((?:lab\/)?docs\/[\w./-]+\.md(?:#[\w-]*\w)?|lab\/README\.md)/g;
  const folders = /^(?:components|cli|stacks|policy|lab|bench|tests|generate|\.github)\//;
  const sources = files.filter(
    (file) =>
      folders.test(file) &&
      !file.startsWith("tests/fixtures/") &&
      /\.(?:ts|go|yml|yaml)$/.test(file),
  );
  const links = sources
    .flatMap((file) =>
      [...read(file).matchAll(pagePath)].map(([, link]) => ({ file, link: link! })),
    )
    .filter(({ link }) => !otherProjectsPages.test(link));
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter(({ link }) => !linkExists(link))).toEqual([]);
});

test.each(pages)("the TypeScript and JSON blocks of %s can be parsed", (page) => {
  const errors = blocksOf(page, /^(ts|typescript)$/).flatMap((text) => {
    const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
    return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  });
  expect(errors).toEqual([]);
  for (const text of blocksOf(page, /^json$/))
    expect(() => JSON.parse(text) as unknown).not.toThrow();
});

test.each(["README.md", "docs/get-started.md", "docs/use.md"])(
  "%s shows `pulumi stack init` before `pulumi up`",
  (page) => {
    const [init, update] = [/^pulumi stack init/m, /^pulumi up/m].map((command) =>
      read(page).search(command),
    );
    expect(init).toBeGreaterThanOrEqual(0);
    expect(update).toBeGreaterThan(init!);
  },
);

test("every package.json and page has the same oldest Node release", () => {
  const engines = ["package.json", "components/package.json", "policy/package.json"].map(
    (file) => (JSON.parse(read(file)) as { engines: { node: string } }).engines.node,
  );
  const oldest = engines[0]!.replace(">=", "");
  expect(new Set(engines)).toEqual(new Set([`>=${oldest}`]));
  for (const page of ["README.md", "CONTRIBUTING.md"])
    expect(read(page)).toContain(`Node ≥ ${oldest}`);
});

test("README and docs/reference.md have the range of Talos minors that the tables have", () => {
  const [oldest, newest] = [knownMinors()[0], knownMinors().at(-1)];
  expect(read("README.md")).toContain(`| Talos | ${oldest} to ${newest};`);
  expect(read("docs/reference.md")).toContain(`from Talos ${oldest} to ${newest}.`);
});

test("docs/operations.md has the range of talosctl releases that the upgrade accepts", () => {
  const count = ["no", "one", "two", "three", "four", "five", "six"];
  const { ahead, behind } = client;
  const text = read("docs/operations.md").replaceAll(/\s+/g, " ");
  expect(text).toContain(`at most ${count[ahead]!} minors newer than the machine's running Talos`);
  expect(text).toContain(`at most ${count[behind]!} minors older than the wanted Talos`);
  expect(text).toContain(`an upgrade over more than ${count[ahead + behind]!} minors`);
});

test("README's quotes of a preview equal the program's text", () => {
  const [quotedText] = blocksOf("README.md", /^text$/);
  const edit = edits.find(({ name }) => name === "talos-patch")!;
  const editedPlan = planCluster(parseSpec(editedStack(edit)).spec!);
  const [effect] = Object.values(effectsOf(planOf(edit.stack), editedPlan));
  const refusals = findingsOf({
    ...readStackFile("rtx5070ti"),
    driver: { flavour: "proprietary" },
  });
  expect(quotedText!.trim().split("\n")).toEqual([
    describeEffect(effect!),
    ...refusals.map(({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`),
  ]);
});

test("README and CONTRIBUTING have the oldest Go release that the lab's module requires", () => {
  const [, oldest] = /^go (\S+)$/m.exec(read("lab/machines/go.mod"))!;
  for (const page of ["README.md", "CONTRIBUTING.md"])
    expect(read(page)).toContain(`Go ≥ ${oldest}`);
});

describe("CONTRIBUTING", () => {
  const text = read("CONTRIBUTING.md").replaceAll(/^```[\s\S]*?^```/gm, "");

  /** Whether a path names a file or folder of the repository. The page also gives paths relative to a folder. */
  const isPath = (name: string): boolean =>
    files.some((file) => `/${file}/`.includes(`/${name.replace(/\/$/, "")}/`));

  test("names only files and folders that exist", () => {
    const paths = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)]
      .map(([, name]) => name!)
      .filter((name) => name.includes("/") || /\.(?:ts|js|go|json|ya?ml|md)$/.test(name))
      .filter((name) => name !== "values.yaml"); // a chart's
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((name) => !isPath(name))).toEqual([]);
  });

  test("places each name in a file that contains it", () => {
    const places = [...text.matchAll(/`(\w+)`\s+(?:in|of)\s+`([\w./-]+\.(?:ts|go|json))`/g)];
    expect(places.length).toBeGreaterThan(10);
    const missing = places.filter(([, name, place]) => {
      const candidates = files.filter((file) => `/${file}`.endsWith(`/${place!}`));
      return !candidates.some((file) => read(file).includes(name!));
    });
    expect(missing.map(([words]) => words)).toEqual([]);
  });
});

test("the site's navigation has every page", () => {
  const site = read("docs/.vitepress/config.ts");
  const files = fs.readdirSync(path.join(root, "docs")).map((file) => path.join("docs", file));
  const links = files
    .filter((file) => file.endsWith(".md"))
    .map((file) => file.slice("docs".length, -".md".length));
  expect(
    links.filter((link) => !/\/(?:README|index)$/.test(link) && !site.includes(`link: "${link}"`)),
  ).toEqual([]);
});
