import * as fs from "node:fs";
import * as path from "node:path";
import { repository } from "../../../stacks/stack-file";
import type { JourneyInput, JourneyRun } from "../runs/journey";
import { runInOwnProcess } from "../support/own-process";

const usePage = fs.readFileSync(path.join(repository, "docs/use.md"), "utf8");
const operationsPage = fs.readFileSync(path.join(repository, "docs/operations.md"), "utf8");

/**
 * The page's blocks of commands for the reader's own stack, without comments: first a new stack, then an edit of
 * it.
 */
function commandBlocks(): string[][] {
  const [, section] = /\n## The stack file\n([\s\S]*?)\n## /.exec(usePage)!;
  return [...section!.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .map(([, block]) =>
      block!
        .trim()
        .split("\n")
        .map((line) => line.replace(/\s+#\s.*$/, "").trim()),
    )
    .filter((lines) => lines.some((line) => /\bmine\b/.test(line)));
}

/** The page's example of a command of one's own folder, as a command of a clone. */
const exampleInClone = "npm run plan -- --stack mine";

/** The line for the journey, which runs in a clone and whose lab has another machine. */
const lineInClone = (line: string): string =>
  line
    .replace(/^npx talos-gpu (\w+)/, "npm run $1 --")
    .replace("--machine gpu-1", "--machine velaryon");

/** These lines are left out: the lab sets the variables, and other tests run a lab. */
const isInJourney = (line: string): boolean => !/^(export |npm run lab )/.test(line);

const policyCommands = [
  "npm run build --workspace policy",
  "pulumi preview -s mine --policy-pack policy",
];

/** The journey's edit: one more line, for one more extension of the image. */
const edit = {
  file: "stacks/Pulumi.mine.yaml",
  text: "      gpus:\n",
  replacement: "      extensions: [siderolabs/iscsi-tools]\n      gpus:\n",
};

test("the commands of docs/use.md lead from a running cluster to a running stack, and from an edit to the next update", async () => {
  const [firstBlock, blockAfterEdit] = commandBlocks() as [string[], string[]];
  const firstCommands = firstBlock.filter(isInJourney).map(lineInClone);
  const commandsAfterEdit = blockAfterEdit.filter(isInJourney).map(lineInClone);
  const verbs = [...firstCommands, ...commandsAfterEdit].map(
    (line) => /^(?:npm run |pulumi )(?:stack )?(\w+)/.exec(line)?.[1],
  );
  expect(verbs).toEqual(["discover", "plan", "init", "preview", "up", "plan", "up"]);
  expect(firstCommands).toContain(exampleInClone);
  expect(usePage).toContain(exampleInClone);
  for (const line of policyCommands) expect(operationsPage).toContain(line);
  const steps = [...firstCommands, ...policyCommands, edit, ...commandsAfterEdit];
  const input: JourneyInput = { stack: "velaryon", steps };
  const { outcome } = await runInOwnProcess<JourneyRun>("journey", JSON.stringify(input));
  const { machines, files } = outcome;
  const commandsOrErrors = outcome.commands.map(({ command, status, stderr, stdout }) =>
    status === 0 ? command : `${command}: ${status}\n${stderr}\n${stdout}`,
  );
  expect(commandsOrErrors).toEqual([...firstCommands, ...policyCommands, ...commandsAfterEdit]);
  const [discover, plan, , preview, up, , previewWithPolicy, planAfterEdit, upAfterEdit] =
    outcome.commands;

  expect(discover!.stdout).toContain("Wrote stacks/Pulumi.mine.yaml.");
  expect(files["Pulumi.mine.yaml"]).toMatch(
    /^# yaml-language-server: \$schema=stack\.schema\.json\n/,
  );
  expect(files["Pulumi.mine.yaml"]).toContain("model: RTX 2070 SUPER");
  expect(plan!.stdout).toContain("| velaryon | **only if** |");
  expect(preview!.stdout).toMatch(/reboots: only if it does not already run Talos v1\.11\.1/);
  expect(previewWithPolicy!.stdout).toMatch(/talos-gpu.*policy|Policies:[\s\S]*talos-gpu/);
  expect(up!.reboots).toBe(1);
  expect(upAfterEdit!.reboots).toBe(1);

  // The page lists exactly the edit, and announces the machine's reboot.
  expect(planAfterEdit!.stdout).toContain("Compared with `origin/main`");
  expect(planAfterEdit!.stdout).toContain("**Reboots: velaryon.**");
  const [, changes] = /### What changes in the stack\n\n([\s\S]*?)\n\n/.exec(
    planAfterEdit!.stdout,
  )!;
  expect(changes).toBe('- `machines.velaryon.extensions` is new: `["siderolabs/iscsi-tools"]`');
  expect(machines["velaryon"]).toMatchObject({
    reboots: 2,
    allocatable: { "nvidia.com/gpu": "1" },
  });
});
