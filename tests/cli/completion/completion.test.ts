import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { offersOf } from "../../../cli/completion";
import { plan } from "../../../cli/plan/verb";
import { paint } from "../paint";
import { cliStand } from "../stand";

const { folder, cli } = cliStand();

/** A shell, and what it offers at the end of a line by a completion's script. */
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

/** The first column of what a shell prints, sorted. The command is on its PATH. */
function offered(shell: string, args: string[]): string[] {
  const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const env = { ...process.env, ...home, PATH: `${folder}${path.delimiter}${process.env.PATH}` };
  const said = execFileSync(shell, args, { cwd: folder, env, encoding: "utf8", timeout: 20_000 });
  const words = said.split("\n").map((line) => line.split("\t")[0]!.trim());
  return words.filter((word) => word !== "").sort();
}

/** Whether a shell is on PATH: CI has all three, a laptop may not. */
const isThere = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

beforeAll(() => {
  fs.writeFileSync(path.join(folder, "picture.png"), "");
  const program = `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`;
  fs.writeFileSync(path.join(folder, "talos-gpu"), program, { mode: 0o755 });
});

describe.each(Object.entries(shells))("%s", (shell, complete) => {
  const here = isThere(shell) ? test : test.skip;

  here.each([
    ["talos-gpu pl", ["plan"]],
    ["talos-gpu --", ["--help", "--version"]],
    ["talos-gpu plan --b", ["--base"]],
    ["talos-gpu check pic", ["picture.png"]],
    ["talos-gpu completion ", ["bash", "fish", "zsh"]],
  ])("%s", (line, words) => {
    const script = execFileSync(process.execPath, [cli, "completion", shell], { encoding: "utf8" });
    expect(complete(script, line)).toEqual(words);
  });
});

test.each([
  ["pa", ["paint"]],
  ["paint --b", ["--brush"]],
  ["paint --onto pic", [":"]],
  ["paint --brush pic", []],
  ["paint pic", [":"]],
  ["paint --onto plan --tw", ["--twice"]],
  ["paint --onto plan --st", []], // an option of another verb, whose name stands in the line
  ["paints ", []],
])("at the end of %s", (line, words) => {
  const offers = offersOf({ plan, paint }, line.split(" "));
  expect(offers.map((offer) => offer.split("\t")[0])).toEqual(words);
});
