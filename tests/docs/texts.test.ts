import * as path from "node:path";
import * as ts from "typescript";
import { files, read } from "./pages";

type Texts = { [key: string]: string | Texts };
const flat = (texts: Texts, before = ""): [string, string][] =>
  Object.entries(texts).flatMap(([key, text]) =>
    typeof text === "string" ? [[before + key, text]] : flat(text, `${before}${key}.`),
  );

/** Each text of a `texts.json`, and what is handed to it where it is used. */
const uses = new Map<string, { text: string; given: string[][] }>(
  files
    .filter((file) => /\/texts\.json$/.test(file))
    .flatMap((file) =>
      flat(JSON.parse(read(file)) as Texts).map(([key, text]) => [`${file} ${key}`, { text, given: [] }]),
    ),
);

const naming =
  (one: string) =>
  (text: string): boolean =>
    new RegExp(`\\{${one}\\b`).test(text);

for (const file of files.filter((one) => /^(?:components|cli)\/.*\.ts$/.test(one))) {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const [, name, table = ""] = /^import (\w+) from "(.*\/texts\.json)";$/m.exec(source.text) ?? [];
  const look = (node: ts.Node): void => {
    node.forEachChild(look);
    if (!ts.isPropertyAccessExpression(node) || node.expression.getText() !== name) return;
    // One text, one of a group (`texts.group.one`), or whichever of a group (`texts.group[one]`).
    const used =
      ts.isPropertyAccessExpression(node.parent) || ts.isElementAccessExpression(node.parent) ? node.parent : node;
    const key = `${path.posix.join(path.posix.dirname(file), table)} ${node.name.text}`;
    const any = ts.isElementAccessExpression(used);
    const wanted = any ? `${key}.` : used === node ? key : `${key}.${used.name.text}`;
    const meant = [...uses].filter(([one]) => (any ? one.startsWith(wanted) : one === wanted));
    const call =
      ts.isCallExpression(used.parent) &&
      /^(faultOf|problemAt|finding|findingOf\(.*\))$/.test(used.parent.expression.getText())
        ? used.parent
        : undefined;
    const things = call?.arguments.at(-1);
    const parts = things && ts.isObjectLiteralExpression(things) ? [...things.properties] : [];
    const handed = parts.map((one) => one.name?.getText() ?? "...");
    for (const [, { text, given }] of meant) {
      // What another of the group names is handed to this one for nothing.
      const own = handed.filter((one) => naming(one)(text) || !meant.some(([, { text }]) => naming(one)(text)));
      // A rule tells the flaw that it finds.
      given.push(call ? own : text.startsWith("{flaw}; ") ? ["flaw"] : []);
    }
  };
  look(source);
}

test.each([...uses])("%s: has three parts, and gets what it names", (_, { text, given }) => {
  expect(text.split("; ").length).toBeGreaterThanOrEqual(3);
  const places = [...text.matchAll(/\{([a-z]\w*)[\w.]*\}/gi)].map(([, name]) => name!);
  expect(given.map((names) => [...names].sort())).not.toEqual([]);
  for (const names of given) expect([...names].sort()).toEqual([...new Set(places)].sort());
});
