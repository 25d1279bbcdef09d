import * as path from "node:path";
import * as ts from "typescript";
import { files, read } from "./pages";

/** Each text of a `texts.json`, and what is handed to it where it is used. */
const uses = new Map<string, { text: string; given: string[][] }>(
  files
    .filter((file) => /\/texts\.json$/.test(file))
    .flatMap((file) =>
      Object.entries(JSON.parse(read(file)) as Record<string, string>).map(([key, text]) => [
        `${file} ${key}`,
        { text, given: [] },
      ]),
    ),
);

for (const file of files.filter((one) => /^(?:components|cli)\/.*\.ts$/.test(one))) {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const [, name, table = ""] = /^import (\w+) from "(.*\/texts\.json)";$/m.exec(source.text) ?? [];
  const look = (node: ts.Node): void => {
    node.forEachChild(look);
    if (!ts.isPropertyAccessExpression(node) || node.expression.getText() !== name) return;
    const { text = "", given } =
      uses.get(`${path.posix.join(path.posix.dirname(file), table)} ${node.name.text}`) ?? {};
    const call =
      ts.isCallExpression(node.parent) && node.parent.expression.getText() === "faultOf" ? node.parent : undefined;
    const things = call?.arguments[1];
    const names = things && ts.isObjectLiteralExpression(things) ? [...things.properties] : [];
    // A rule tells the flaw that it finds.
    given?.push(call ? names.map((one) => one.name?.getText() ?? "...") : text.startsWith("{flaw}; ") ? ["flaw"] : []);
  };
  look(source);
}

test.each([...uses])("%s: has three parts, and gets what it names", (_, { text, given }) => {
  expect(text.split("; ").length).toBeGreaterThanOrEqual(3);
  const places = [...text.matchAll(/\{([a-z]\w*)[\w.]*\}/gi)].map(([, name]) => name!);
  expect(given.map((names) => [...names].sort())).not.toEqual([]);
  for (const names of given) expect([...names].sort()).toEqual([...new Set(places)].sort());
});
