import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { completion } from "../../../cli/completion";
import type { Verb } from "../../../cli/verb";
import { paint } from "../paint";
import { runVerb, scratch } from "../stand";

const folder = scratch();
afterAll(() => fs.rmSync(folder, { recursive: true }));

const plan: Verb = { summary: "says what is painted", options: { stack: { help: "of which" } }, run: async () => 0 };
const table: Record<string, Verb> = { paint, plan, completion: completion(() => table) };

/** What the verb prints for a shell. */
const scriptFor = async (shell: string): Promise<string> =>
  (
    await runVerb(
      "completion",
      completion(() => table),
      [shell],
    )
  ).result;

/** A shell, and what it offers at the end of a line by a completion's text. */
const shells: Record<string, (script: string, line: string) => string[]> = {
  bash: (script, line) => {
    const words = line.split(" ").map((word) => `'${word}'`);
    const ask = `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _talos_gpu; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return offered("bash", ["-c", `${script}${ask}`]);
  },
  zsh: (script, line) => {
    fs.writeFileSync(path.join(folder, "_talos-gpu"), script);
    return offered("zsh", ["-f", path.join(__dirname, "complete.zsh"), folder, line]);
  },
  fish: (script, line) => offered("fish", ["--no-config", "-c", `${script}complete -C "$argv"`, "--", line]),
};

/** The first column of what a shell prints, sorted. */
function offered(shell: string, args: string[]): string[] {
  const home = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const said = execFileSync(shell, args, { cwd: folder, env: home, encoding: "utf8", timeout: 20_000 });
  const words = said.split("\n").map((line) => line.split("\t")[0]!.trim());
  return words.filter((word) => word !== "").sort();
}

/** Whether a shell is on PATH: CI has all three, a laptop may not. */
const isThere = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

beforeAll(() => fs.writeFileSync(path.join(folder, "picture.png"), ""));

describe.each(Object.entries(shells))("%s", (shell, complete) => {
  const here = isThere(shell) ? test : test.skip;

  here.each([
    ["talos-gpu pa", ["paint"]],
    ["talos-gpu p", ["paint", "plan"]],
    ["talos-gpu --", ["--help", "--version"]],
    ["talos-gpu paint --b", ["--brush"]],
    ["talos-gpu paint --onto pic", ["picture.png"]],
    ["talos-gpu paint --brush pic", []],
    ["talos-gpu paint pic", ["picture.png"]],
    ["talos-gpu paint --onto plan --tw", ["--twice"]],
    ["talos-gpu paint --onto plan --st", []], // an option of another verb, whose name stands in the line
    ["talos-gpu completion ", ["bash", "fish", "zsh"]],
  ])("%s", async (line, words) => {
    expect(complete(await scriptFor(shell), line)).toEqual(words);
  });

  here("takes what the built command prints", () => {
    const built = path.join(__dirname, "../../../components/bin/cli.js");
    const script = execFileSync(process.execPath, [built, "completion", shell], { encoding: "utf8" });
    expect(complete(script, "talos-gpu plan --st")).toEqual(["--stack"]);
    expect(complete(script, "talos-gpu imp")).toEqual(["import", "import-talhelper"]);
  });
});

test("every shell gets every verb and option", async () => {
  for (const shell of Object.keys(shells))
    for (const word of ["paint", "brush", "twice", "json"]) expect(await scriptFor(shell)).toContain(word);
});
