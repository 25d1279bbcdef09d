import { spawn, type ChildProcess } from "node:child_process";
import * as path from "node:path";

const repository = path.resolve(__dirname, "../../..");

/** Programs that run; a test that fails in the middle must not leave its lab, and with it the whole run, hanging. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGTERM");
});

/**
 * Starts a program of this repository from its bundle, as a process of its own; a signal to it reaches the program itself. It
 * gets a SIGTERM where it still runs when the test file has ended.
 *
 * @param file from the repository's root, e.g. `lab/main.ts`.
 */
export function startApart(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  const child = spawn(process.execPath, ["lab/bundle/run.js", file, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.on("close", () => running.delete(child));
  return child;
}

/** What a program of `tests/e2e/runs` told. */
export interface Told<Outcome> {
  outcome: Outcome;
  /** Its standard error: what to show next to an outcome that is not as expected. */
  said: string;
}

/** Characters of standard error that an error quotes: the last 100 lines or so. */
const quoted = 8_000;

/**
 * Runs a program of `tests/e2e/runs` to its end. Jest cannot load the Kubernetes client, an ES module, so whatever uses a lab's
 * own parts is such a program; `asProgram` is its other side.
 *
 * @throws Error with the end of its standard error, when it fails or ends without an outcome.
 */
export function runApart<Outcome>(
  name: string,
  ...args: readonly string[]
): Promise<Told<Outcome>> {
  const child = startApart(`tests/e2e/runs/${name}.ts`, args);
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout!.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr!.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      const said = Buffer.concat(stderr).toString("utf8");
      try {
        if (code !== 0) throw new Error(`exit status ${code ?? signal}`);
        resolve({ outcome: JSON.parse(Buffer.concat(stdout).toString("utf8")) as Outcome, said });
      } catch (error) {
        reject(
          new Error(
            `runs/${name}: ${(error as Error).message}; it said last:\n${said.slice(-quoted)}`,
          ),
        );
      }
    });
  });
}
