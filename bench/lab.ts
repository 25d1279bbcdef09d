import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { repository } from "../stacks/stack-file";
import { type Spread, spreadOf } from "./statistics";

/** Duration of a lab. */
export interface LabTime {
  title: string;
  /** CPU seconds of all its programs. */
  cpu: Spread;
  /** Elapsed seconds. */
  wall: Spread;
}

/** CPU time and duration of one command, in seconds. */
export interface CommandTime {
  cpu: number;
  wall: number;
}

/** Measures labs whose tools exist already. A first run, which is not counted, provides the tools. */
export async function measureWarmLab(rounds: number): Promise<LabTime> {
  await timeLab(process.env);
  const times: CommandTime[] = [];
  for (let round = 0; round < rounds; round++) times.push(await timeLab(process.env));
  return labTimeOf("a warm lab", times);
}

/**
 * Measures the first lab of a computer, once: all caches are empty, also Go's module cache, and PATH has none of the
 * tools (lab/README.md, "Tools"). All tools are built from source, unless TALOS_GPU_LAB_RELEASES names another
 * source.
 */
export async function measureFirstLab(): Promise<LabTime> {
  const cache = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-bench-"));
  const environment = firstLabEnvironment(cache, process.env);
  try {
    return labTimeOf("the first lab", [await timeLab(environment)]);
  } finally {
    // Go's module cache is read-only, so only Go can remove it.
    await execute("go", ["clean", "-modcache"], { env: environment });
    fs.rmSync(cache, { recursive: true, force: true });
  }
}

/** The environment of a lab without tools and with empty caches of Go. */
export const firstLabEnvironment = (
  cache: string,
  environment: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => ({
  TALOS_GPU_LAB_RELEASES: "none",
  ...environment,
  GOCACHE: path.join(cache, "go"),
  GOMODCACHE: path.join(cache, "modules"),
  XDG_CACHE_HOME: path.join(cache, "tools"),
  TALOS_GPU_LAB_TOOLS: "own",
});

function labTimeOf(title: string, times: readonly CommandTime[]): LabTime {
  return {
    title,
    cpu: spreadOf(times.map(({ cpu }) => cpu)),
    wall: spreadOf(times.map(({ wall }) => wall)),
  };
}

const execute = promisify(execFile);

/** Uses Bash, which reports the CPU time of a command with all its children. Node reports only its own CPU time. */
async function timeLab(environment: NodeJS.ProcessEnv): Promise<CommandTime> {
  const script = 'TIMEFORMAT="%R %U %S"; time npm run --silent lab >/dev/null';
  const { stderr } = await execute("bash", ["-c", script], {
    cwd: repository,
    env: { ...environment, LC_ALL: "C" },
    maxBuffer: 64 * 1024 * 1024,
    timeout: 3_600_000,
  });
  return commandTimeOf(stderr);
}

/** Reads Bash's times from the last line of standard error. */
export function commandTimeOf(stderr: string): CommandTime {
  const line = stderr.trim().split("\n").at(-1)!;
  const [wall, user, system] = line.split(" ").map(Number);
  const areTimes = [wall, user, system].every((value) => Number.isFinite(value));
  if (!areTimes)
    throw new Error(
      `bash: says no times in its last line, ${line}; the lab cannot be timed; run it by hand`,
    );
  return { cpu: user! + system!, wall: wall! };
}
