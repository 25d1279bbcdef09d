import * as fs from "node:fs";
import * as path from "node:path";
import { repository } from "../../../stacks/stack-file";
import type { Journey, JourneyPlan } from "../runs/journey";
import { runApart } from "../support/apart";

const page = fs.readFileSync(path.join(repository, "docs/use.md"), "utf8");
const operations = fs.readFileSync(path.join(repository, "docs/operations.md"), "utf8");

/**
 * The page's blocks of commands for the reader's own stack, without comments: first a new stack, then an edit of
 * it.
 */
function blocks(): string[][] {
  const [, section] = /\n## The stack file\n([\s\S]*?)\n## /.exec(page)!;
  return [...section!.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .map(([, block]) =>
      block!
        .trim()
        .split("\n")
        .map((line) => line.replace(/\s+#\s.*$/, "").trim()),
    )
    .filter((lines) => lines.some((line) => /\bmine\b/.test(line)));
}

/** These lines are left out: the lab sets the variables, and other tests run a lab. */
const isRun = (line: string): boolean => !/^(export |npm run lab )/.test(line);

const policy = ["npm run build --workspace policy", "pulumi preview -s mine --policy-pack policy"];

/** The journey's edit: one more line, for one more extension of the image. */
const edit = {
  file: "stacks/Pulumi.mine.yaml",
  replace: "      gpus:\n",
  by: "      extensions: [siderolabs/iscsi-tools]\n      gpus:\n",
};

test("the commands of docs/use.md lead from a running cluster to a running stack, and from an edit to the next update", async () => {
  const [first, afterEdit] = blocks() as [string[], string[]];
  const commands = [...first.filter(isRun), ...afterEdit.filter(isRun)];
  expect(commands.map((line) => /^(?:npm run |pulumi )(?:stack )?(\w+)/.exec(line)?.[1])).toEqual([
    "discover",
    "plan",
    "init",
    "preview",
    "up",
    "plan",
    "up",
  ]);
  for (const line of policy) expect(operations).toContain(line);
  const steps = [...first.filter(isRun), ...policy, edit, ...afterEdit.filter(isRun)];
  const plan: JourneyPlan = { stack: "velaryon", steps };
  const { outcome } = await runApart<Journey>("journey", JSON.stringify(plan));
  const { machines, files } = outcome;
  const told = outcome.steps.map(({ command, status, stderr, stdout }) =>
    status === 0 ? command : `${command}: ${status}\n${stderr}\n${stdout}`,
  );
  expect(told).toEqual([...first.filter(isRun), ...policy, ...afterEdit.filter(isRun)]);
  const [discovered, planned, , previewed, up, , judged, plannedAgain, upAgain] = outcome.steps;

  expect(discovered!.stdout).toContain("Wrote stacks/Pulumi.mine.yaml.");
  expect(files["Pulumi.mine.yaml"]).toMatch(
    /^# yaml-language-server: \$schema=stack\.schema\.json\n/,
  );
  expect(files["Pulumi.mine.yaml"]).toContain("model: RTX 2070 SUPER");
  expect(planned!.stdout).toContain("| velaryon | **only if** |");
  expect(previewed!.stdout).toMatch(/reboots: only if it does not already run Talos v1\.11\.1/);
  expect(judged!.stdout).toMatch(/talos-gpu.*policy|Policies:[\s\S]*talos-gpu/);
  expect([up!.reboots, upAgain!.reboots]).toEqual([1, 1]);

  // The page lists exactly the edit, and announces the machine's reboot.
  expect(plannedAgain!.stdout).toContain("Compared with `origin/main`");
  expect(plannedAgain!.stdout).toContain("**Reboots: velaryon.**");
  const [, changes] = /### What changes in the stack\n\n([\s\S]*?)\n\n/.exec(plannedAgain!.stdout)!;
  expect(changes).toBe('- `machines.velaryon.extensions` is new: `["siderolabs/iscsi-tools"]`');
  expect(machines["velaryon"]).toMatchObject({
    reboots: 2,
    allocatable: { "nvidia.com/gpu": "1" },
  });
});
