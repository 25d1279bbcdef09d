import { spawn } from "node:child_process";

/** Secret values by configuration key, e.g. `talos-gpu:kubeconfig`. */
export type Secrets = Readonly<Record<string, string>>;

const limitMilliseconds = 60_000;

/**
 * Encrypts values into the stack's settings file. They go through standard input: the Automation API would put them
 * into the argument vector, which every user of the machine can read.
 *
 * Error: the CLI's own words.
 */
export async function setSecrets(
  pulumi: string,
  at: { dir: string; stack: string; environment: NodeJS.ProcessEnv },
  secrets: Secrets,
): Promise<void> {
  for (const [key, value] of Object.entries(secrets)) {
    const args = ["config", "set", key, "--secret", "--stack", at.stack, "--non-interactive"];
    const child = spawn(pulumi, args, {
      cwd: at.dir,
      env: at.environment,
      stdio: ["pipe", "ignore", "pipe"],
      signal: AbortSignal.timeout(limitMilliseconds),
    });
    const errors: Buffer[] = [];
    child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
    child.stdin.on("error", () => undefined); // its end is told by the exit status
    child.stdin.end(value);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", (error) => reject(new Error(`pulumi config set ${key}: ${error.message}`)));
      child.once("close", resolve);
    });
    if (code !== 0)
      throw new Error(`pulumi config set ${key}: exit status ${code}: ${Buffer.concat(errors).toString()}`);
  }
}
