import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";
import { compileFlags } from "../tools/catalogue";
import { goEnvironment } from "../tools/builders/go";

const run = promisify(execFile);

// With the flags of the tools, so that Go reuses the packages that they have compiled.
test("the Go tests of the emulated machines pass", async () => {
  const cwd = path.join(__dirname, "..", "..", "lab", "machines");
  const env = goEnvironment(process.env);
  const { stdout } = await run("go", ["test", ...compileFlags, "./..."], {
    cwd,
    env,
    maxBuffer: 16 << 20,
  });
  expect(stdout).toMatch(/^ok\s+talos-gpu\/lab\/machines\/internal\/talos\/machine\b/m);
  expect(stdout).not.toMatch(/^FAIL/m);
});
