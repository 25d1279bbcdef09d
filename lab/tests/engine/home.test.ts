import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { homeWithoutLogs } from "../../engine/cli";
import { builtTool } from "../built-tool";
import { bareEnvironment } from "./bare-environment";

// The real CLI is the judge of both: that it keeps a log of each command, and that it says nothing where it cannot.

const pulumi = builtTool("pulumi");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "home-test-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** What a command writes to its standard output and standard error. */
const said = (home: string): string =>
  execFileSync("/bin/sh", ["-c", '"$0" stack ls 2>&1', pulumi!], {
    cwd: folder,
    encoding: "utf8",
    env: bareEnvironment(folder, { PULUMI_HOME: home }),
  });

(pulumi === undefined ? test.skip : test)(
  "Pulumi keeps a log of every command in its home; in a lab's it keeps none, and says the same",
  async () => {
    fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: p\nruntime: yaml\n");
    const [usual, lab] = [path.join(folder, "usual"), path.join(folder, "lab")];
    const words = said(usual);
    expect(fs.readdirSync(path.join(usual, "logs"))).toEqual([expect.stringMatching(/^pulumi-.*\.log$/)]);
    await homeWithoutLogs(lab);
    expect(said(lab)).toBe(words);
    expect(fs.statSync(path.join(lab, "logs")).isFile()).toBe(true);
  },
);
