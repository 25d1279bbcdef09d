import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

// Built as the tools are, so that what they compiled is compiled once.
test(
  "the emulated machines' own tests, in Go",
  async () => {
    const cwd = path.join(__dirname, "..", "..", "lab", "machines");
    const { stdout } = await run("go", ["test", "-trimpath", "./..."], { cwd, maxBuffer: 16 << 20 });
    expect(stdout).toMatch(/^ok\s+talos-gpu\/lab\/machines\/internal\/talos\/machine\b/m);
    expect(stdout).not.toMatch(/^FAIL/m);
  },
  15 * 60_000,
);
