import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { homeWithoutLogs, pluginsIn } from "../../../lab/engine/cli";
import { installLanguageHost } from "../../../lab/language-host";
import { makeCheckout } from "../../../lab/language-host/checkout";
import { parseOptions } from "../../../lab/options";
import { countCallsAndReboots, gatherMachines } from "../../../lab/run/gather";
import type { MachineReport } from "../../../lab/run/report";
import { stackConfiguration } from "../../../lab/run/stack-configuration";
import { commandEnvironment, servePlugins } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { repository } from "../../../stacks/stack-file";
import { runAsProgram, openLab } from "./run-as-program";

/** Input of a run: commands of docs/use.md, and edits of the stack's file between them. */
export interface JourneyInput {
  /** Stack whose machines and cluster the lab makes. The checkout does not contain its file. */
  stack: string;
  /** Shell lines to run in the checkout, or an edit of a file there: a text and its replacement. */
  steps: (string | { file: string; text: string; replacement: string })[];
}

/** Result of one command. */
export interface CommandResult {
  command: string;
  status: number | null;
  stdout: string;
  stderr: string;
  /** Reboots of all machines during the command. */
  reboots: number;
  /** Seconds of real time. */
  seconds: number;
}

/** Output of a run. */
export interface JourneyRun {
  commands: CommandResult[];
  machines: Record<string, MachineReport>;
  /** The stack's file at the end. */
  files: Record<string, string>;
}

/** Runs commands as a user types them, in a git checkout next to a lab's cluster. */
async function run(session: Session, inputJson: string): Promise<JourneyRun> {
  const input = JSON.parse(inputJson) as JourneyInput;
  const options = parseOptions(["--stack", input.stack, "--pulumi", "host"]);
  const { config, spec } = stackConfiguration(input.stack, options);
  const lab = await openLab(session, options, spec, config);
  const checkout = await makeCheckout(session.dir("checkout"));
  for (const folder of ["cli", "lab"])
    fs.symlinkSync(path.join(repository, folder), path.join(checkout, folder));
  const host = await installLanguageHost(session.dir("language-host"), lab.tools.pulumi);
  const plugins = await servePlugins(lab, path.join(checkout, "stacks"));
  const labEnvironment = commandEnvironment(lab);
  const environment = {
    ...labEnvironment,
    PATH: [host, path.dirname(lab.tools.pulumi), labEnvironment["PATH"]].join(path.delimiter),
    KUBECONFIG: lab.controlPlane.adminKubeconfig,
    TALOSCONFIG: session.dir("talosconfig"),
    ...(await pluginsIn(await homeWithoutLogs(session.dir("home")), plugins)),
    PULUMI_BACKEND_URL: `file://${session.dir()}`,
    PULUMI_CONFIG_PASSPHRASE: "of the lab",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_SKIP_CONFIRMATIONS: "true", // no user can answer
    NO_COLOR: "1",
  };
  const runInShell = (command: string): Promise<Omit<CommandResult, "reboots" | "seconds">> =>
    new Promise((resolve, reject) => {
      console.error(`$ ${command}`);
      const child = spawn("bash", ["-e", "-c", command], {
        cwd: checkout,
        env: environment,
        stdio: ["ignore", "pipe", "pipe"],
        signal: session.signal,
      });
      const [stdout, stderr]: [string[], string[]] = [[], []];
      child.stdout.on("data", (chunk: Buffer) => void stdout.push(chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => void stderr.push(chunk.toString()));
      child.once("error", reject);
      child.once("close", (status) =>
        resolve({ command, status, stdout: stdout.join(""), stderr: stderr.join("") }),
      );
    });

  // A team has a repository and its remote.
  const origin = session.dir("origin.git");
  const git = "git -c user.name=lab -c user.email=lab@example.net";
  const createRepository = `git init -q -b main . && git add Pulumi.yaml stacks package.json && ${git} commit -qm "main"
    git clone -q --bare . ${origin} && git remote add origin ${origin} && git fetch -q origin`;
  const result = await runInShell(createRepository);
  if (result.status !== 0) throw new Error(result.stderr);

  const commands: CommandResult[] = [];
  for (const step of input.steps) {
    if (typeof step !== "string") {
      const file = path.join(checkout, step.file);
      // The team has the file before this edit: commit and push it first.
      const pushFile = `git add ${step.file} && ${git} commit -qm "the stack" && git push -q origin main && git fetch -q origin`;
      const { status, stderr } = await runInShell(pushFile);
      if (status !== 0) throw new Error(stderr);
      const content = fs.readFileSync(file, "utf8");
      if (!content.includes(step.text))
        throw new Error(`${step.file} has no ${step.text}:\n${content}`);
      fs.writeFileSync(file, content.replace(step.text, step.replacement));
      continue;
    }
    const [countsBefore, begin] = [await countCallsAndReboots(lab.machines), performance.now()];
    const result = await runInShell(step);
    const countsAfter = await countCallsAndReboots(lab.machines);
    const reboots = Object.entries(countsAfter.reboots).reduce(
      (sum, [name, count]) => sum + count - (countsBefore.reboots[name] ?? 0),
      0,
    );
    commands.push({ ...result, reboots, seconds: (performance.now() - begin) / 1000 });
    if (result.status !== 0) break;
  }
  const stacks = path.join(checkout, "stacks");
  const files = fs
    .readdirSync(stacks)
    .map((name) => [name, fs.readFileSync(path.join(stacks, name), "utf8")] as const);
  return {
    commands,
    machines: await gatherMachines(lab.machines, lab.kubernetes),
    files: Object.fromEntries(files),
  };
}

runAsProgram(run);
