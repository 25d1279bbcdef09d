import { spawn, type ChildProcess } from "node:child_process";
import * as path from "node:path";

const repository = path.resolve(__dirname, "../../..");

/** Running programs. If a test fails, its lab must be ended, or the whole test run would hang. */
const runningPrograms = new Set<ChildProcess>();
afterAll(() => {
  for (const child of runningPrograms) child.kill("SIGTERM");
});

/**
 * Starts a program of this repository from its bundle, as a process of its own. A signal to this process reaches
 * the program itself. If it still runs when the test file has ended, it gets a SIGTERM.
 *
 * @param file from the repository's root, e.g. `lab/main.ts`.
 */
export function startInOwnProcess(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  const child = spawn(process.execPath, ["lab/bundle/run.js", file, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  runningPrograms.add(child);
  child.on("close", () => runningPrograms.delete(child));
  return child;
}

/** Result of a program of `tests/e2e/runs`. */
export interface ProgramResult<Outcome> {
  outcome: Outcome;
  /** Standard error, which a test shows next to an unexpected outcome. */
  stderr: string;
}

/** Characters of standard error that an error quotes, about its last 100 lines. */
const quotedCharacters = 8_000;

/**
 * Runs a program of `tests/e2e/runs` until it ends. Jest cannot load the Kubernetes client, an ES module, so all code
 * that uses parts of a lab is such a program. It calls `runAsProgram`.
 *
 * @throws Error with the end of its standard error, if it fails or ends without an outcome.
 */
export function runInOwnProcess<Outcome>(
  name: string,
  ...args: readonly string[]
): Promise<ProgramResult<Outcome>> {
  const child = startInOwnProcess(`tests/e2e/runs/${name}.ts`, args);
  const [stdoutChunks, stderrChunks]: [Buffer[], Buffer[]] = [[], []];
  child.stdout!.on("data", (chunk: Buffer) => stdoutChunks.push(chunk));
  child.stderr!.on("data", (chunk: Buffer) => stderrChunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      const stderr = Buffer.concat(stderrChunks).toString("utf8");
      try {
        if (code !== 0) throw new Error(`exit status ${code ?? signal}`);
        const outcome = JSON.parse(Buffer.concat(stdoutChunks).toString("utf8")) as Outcome;
        resolve({ outcome, stderr });
      } catch (error) {
        reject(
          new Error(
            `runs/${name}: ${(error as Error).message}; its last output:\n${stderr.slice(-quotedCharacters)}`,
          ),
        );
      }
    });
  });
}
