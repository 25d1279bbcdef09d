import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { placesOf, stackFileOf } from "../../cli/stack";
import { stackFolderOf } from "../../cli/stack-folder";

const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "stack-folder-")));
const before = process.cwd();
afterAll(() => {
  process.chdir(before);
  fs.rmSync(home, { recursive: true });
});

/** A project with a file of that name and text, and a folder below it in which somebody works. */
function project(name: string, file: string, text: string): string {
  const below = path.join(home, name, "talos/machines");
  fs.mkdirSync(below, { recursive: true });
  fs.writeFileSync(path.join(home, name, file), text);
  return below;
}

test.each([
  ["beside the project's file", "beside", "Pulumi.yaml", "name: gpus\nruntime: nodejs\n", "../.."],
  ["where stackConfigDir says", "named", "Pulumi.yaml", "name: gpus\nstackConfigDir: clusters\n", "../../clusters"],
  ["where the older `config` says", "older", "Pulumi.yml", "name: gpus\nconfig: clusters\n", "../../clusters"],
  ["also for a project in JSON", "json", "Pulumi.json", '{ "name": "gpus" }', "../.."],
])("stack files are looked for %s", (_, name, file, text, expected) => {
  expect(stackFolderOf(project(name, file, text))).toBe(expected);
});

test("the project's `config` of today, a mapping, names no folder", () => {
  expect(stackFolderOf(project("mapping", "Pulumi.yaml", "name: gpus\nconfig:\n  a: b\n"))).toBe("../..");
});

test("a project's file that is no YAML is Pulumi's to refuse", () => {
  expect(stackFolderOf(project("broken", "Pulumi.yaml", "name: [gpus\n"))).toBeUndefined();
});

test("a stack is found by its name from a folder below the project, and its own folder comes first", () => {
  const below = project("found", "Pulumi.yaml", "name: gpus\nstackConfigDir: clusters\n");
  fs.mkdirSync(path.join(home, "found/clusters"));
  fs.writeFileSync(path.join(home, "found/clusters/Pulumi.dev.yaml"), "config: {}\n");
  process.chdir(below);
  expect(stackFileOf("dev")).toBe("../../clusters/Pulumi.dev.yaml");
  fs.writeFileSync("Pulumi.dev.yaml", "config: {}\n");
  expect(stackFileOf("dev")).toBe("Pulumi.dev.yaml");
  expect(placesOf("dev")).toHaveLength(3);
});
