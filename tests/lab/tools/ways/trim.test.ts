import { trimGoCaches } from "../../../../lab/tools/ways/trim";
import { Sandbox } from "../fixture";

describe("trimming Go's caches", () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
    sandbox.write("asked", "");
    sandbox.script("bin/go", 'echo "$*" > "$(dirname "$0")/../asked"');
  });
  afterEach(() => sandbox.remove());

  test.each([
    [undefined, false, ""],
    ["0", false, ""],
    ["1", true, "clean -cache -modcache\n"],
  ])("with TALOS_GPU_TRIM_GO_CACHE=%s is %s", async (value, trimmed, asked) => {
    const env = { ...sandbox.env("bin"), TALOS_GPU_TRIM_GO_CACHE: value };
    expect(await trimGoCaches(env)).toBe(trimmed);
    expect(sandbox.read("asked")).toBe(asked);
  });
});
