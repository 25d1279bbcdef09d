import { changedModule } from "../../../tools/ways/changed-module";
import { Sandbox } from "../fixture";

const sandbox = new Sandbox();
afterAll(() => sandbox.remove());

const changed = "example.test/module";

/** Changes a module whose one file says `a b b`. */
async function change(copy: string, from: string): Promise<string> {
  sandbox.write("cache/module/file.go", "a b b");
  const edits = [{ why: "a test", file: "file.go", from, to: "c" }];
  const made = { "made.go": "file.go" };
  const module = `${changed} v1.2.3`;
  return changedModule(
    `${sandbox.folder}/cache/module`,
    { module, edits, made, without: [] },
    `${sandbox.folder}/${copy}`,
  );
}

test("Go is led to a copy of the module, which has what is changed in it", async () => {
  const line = await change("copy", "a");
  expect(sandbox.read("copy/file.go")).toBe("c b b");
  expect(sandbox.read("copy/made.go")).toBe("a b b");
  expect(line).toBe(`${changed} => ${sandbox.folder}/copy`);
});

test.each(["b", "d"])("a change of %s, which is not there once, is refused", async (from) => {
  await expect(change(`copy-${from}`, from)).rejects.toThrow(/file\.go does not have once .*\(a test\)/);
});
