import { changedModule } from "../../../tools/ways/changed-module";
import { Sandbox } from "../fixture";

const sandbox = new Sandbox();
afterAll(() => sandbox.remove());

const changed = "example.test/module";

/** Changes a module whose one file says `a b b`. */
async function change(copy: string, from: string): Promise<string[]> {
  const { folder } = sandbox.tool();
  sandbox.write("module/go.sum", "");
  sandbox.write("cache/module/file.go", "a b b");
  sandbox.script("bin/go", `echo '{"Dir": "${sandbox.folder}/cache/module"}'`);
  const edits = [{ why: "a test", file: "file.go", from, to: "c" }];
  const made = { "made.go": "file.go" };
  return changedModule(
    folder,
    { module: changed, edits, made, without: [] },
    `${sandbox.folder}/${copy}`,
    sandbox.env("bin"),
  );
}

test("Go is led to a copy of the module, which has what is changed in it", async () => {
  const [flag] = await change("copy", "a");
  expect(sandbox.read("copy/file.go")).toBe("c b b");
  expect(sandbox.read("copy/made.go")).toBe("a b b");
  expect(flag).toBe(`-modfile=${sandbox.folder}/copy/tool.mod`);
  expect(sandbox.read("copy/tool.mod")).toContain(`replace ${changed} => ${sandbox.folder}/copy`);
});

test.each(["b", "d"])("a change of %s, which is not there once, is refused", async (from) => {
  await expect(change(`copy-${from}`, from)).rejects.toThrow(/file\.go does not have once .*\(a test\)/);
});
