import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as ts from "typescript";
import { repository } from "../../stacks/stack-file";
import { read } from "./pages";

const sources = execFileSync("git", ["ls-files", "components", "cli", "policy", "stacks", "lab"], {
  cwd: repository,
  encoding: "utf8",
})
  .split("\n")
  .filter(
    (file) =>
      file.endsWith(".ts") &&
      !file.startsWith("lab/tests/") &&
      existsSync(path.join(repository, file)),
  );

/** The exports of a file, each with its docstring. */
function exportsOf(file: string): { file: string; name: string; docstring: string }[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const exported = source.statements.filter(
    (statement): statement is ts.DeclarationStatement | ts.VariableStatement =>
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true,
  );
  return exported.map((statement) => {
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations
      : [statement];
    const comments = ts.getJSDocCommentsAndTags(statement).map((node) => node.getText());
    return {
      file,
      name: names.map(({ name }) => name?.getText(source)).join(),
      docstring: comments
        .join(" ")
        .replace(/[/*\s]+/g, " ")
        .trim(),
    };
  });
}

test("every export of the package, its command, its policies, its stacks and the lab has a docstring", () => {
  const exported = sources.flatMap(exportsOf);
  expect(exported.length).toBeGreaterThan(500);
  const withoutDocstring = exported.filter(({ docstring }) => docstring.split(" ").length < 3);
  expect(withoutDocstring.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
});

test("each tag of a docstring begins a line, since TypeScript reads a tag only there", () => {
  const misplacedTags = sources.flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) =>
        /^\s*(\/\*\*|\*) .*\S @(param|returns|throws)\b/.test(line) ? [`${file}:${index + 1}`] : [],
      ),
  );
  expect(misplacedTags).toEqual([]);
});
