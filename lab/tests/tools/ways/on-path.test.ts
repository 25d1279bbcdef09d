import { catalogue } from "../../../tools/catalogue";
import type { ToolName } from "../../../tools/definition";
import { findOnPath } from "../../../tools/ways/on-path";
import { provide } from "../../../tools/provide";
import { talosctlRange } from "../../../tools/talosctl-range";
import { Sandbox } from "../fixture";

const definition = (name: ToolName) => catalogue.find((tool) => tool.name === name)!;

describe("a tool on PATH", () => {
  let sandbox: Sandbox;
  beforeEach(() => (sandbox = new Sandbox()));
  afterEach(() => sandbox.remove());

  test.each<[ToolName, string, boolean]>([
    ["pulumi", "echo v3.259.0", true],
    ["pulumi", "echo v3.301.2", true],
    ["pulumi", "echo v3.258.9", false],
    ["pulumi", "echo v4.0.0", false],
    ["pulumi", "echo v3.259.0-alpha.1", false],
    ["talosctl", "printf 'Client:\\n\\tTag:         v1.13.4\\n\\tGo version:  go1.26.1\\n'", true],
    ["talosctl", "printf 'Client:\\n\\tTag:         v1.12.6\\n'", false],
    ["talosctl", "printf 'Client:\\n\\tTag:         v1.14.0\\n'", false],
    ["helm", "echo v3.18.4+gd80839c", true],
    ["helm", "echo v4.0.1+g1234567", false],
    ["helm", "echo version unknown", false],
    ["helm", "echo v3.18.4; exit 1", false],
  ])("%s that says `%s`: taken is %s", async (name, body, fits) => {
    const file = sandbox.script(`bin/${name}`, body);
    expect(await findOnPath(definition(name), { PATH: `${sandbox.folder}/bin:/bin:/usr/bin` })).toMatchObject({
      path: file,
      fits,
    });
  });

  test.each<[string[], string, boolean]>([
    [["v1.12.6"], "1.11.9", false],
    [["v1.12.6"], "1.12.0", true],
    [["v1.12.6"], "1.15.3", true],
    [["v1.12.6"], "1.16.0-alpha.1", false],
    [["v1.10.9", "v1.13.0"], "1.12.6", false],
    [["v1.10.9", "v1.13.0"], "1.13.4", true],
    [["v1.10.9", "v1.13.0"], "1.14.0", false],
  ])("for stacks of %j, talosctl %s: taken is %s", async (releases, version, fits) => {
    const file = sandbox.script("bin/talosctl", `echo v${version}`);
    const options = {
      env: { PATH: `${sandbox.folder}/bin:/bin:/usr/bin` },
      ranges: { talosctl: talosctlRange(releases) },
    };
    // There is no Go on this PATH: what is not taken cannot be built.
    const found = await provide([definition("talosctl")], options).catch(() => undefined);
    expect(found).toEqual(fits ? { talosctl: file } : undefined);
  });

  test("is asked for its version alone", async () => {
    sandbox.script("bin/talosctl", 'echo "v1.13.0 $*" > "$(dirname "$0")/asked"; echo v1.13.0');
    await findOnPath(definition("talosctl"), { PATH: `${sandbox.folder}/bin:/bin:/usr/bin` });
    expect(sandbox.read("bin/asked")).toBe("v1.13.0 version --client\n");
  });

  test("is the first that can be run", async () => {
    sandbox.write("first/helm", "not executable");
    sandbox.write("second/helm/folder", "");
    const file = sandbox.script("third/helm", "echo v3.22.0");
    const PATH = ["first", "second", "third"].map((name) => `${sandbox.folder}/${name}`).join(":");
    expect(await findOnPath(definition("helm"), { PATH: `:${PATH}` })).toEqual({
      path: file,
      version: "3.22.0",
      fits: true,
    });
  });

  test("the lab's own programs are never taken from it", async () => {
    sandbox.script("bin/machines", "echo v1.0.0");
    expect(await findOnPath(definition("machines"), { PATH: `${sandbox.folder}/bin` })).toBeUndefined();
  });
});
