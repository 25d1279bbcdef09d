import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { repository } from "../stacks/stack-file";
import { type Spread, spreadOf } from "./statistics";

/** How long a lab took. */
export interface LabTime {
  title: string;
  /** CPU seconds of all its programs. */
  cpu: Spread;
  /** Seconds by the clock. */
  wall: Spread;
}

/** What one command took, in seconds. */
export interface CommandTime {
  cpu: number;
  wall: number;
}

/** A lab whose tools are there, some times; a run before them gets the tools and is not counted. */
export async function measureWarmLab(rounds: number): Promise<LabTime> {
  await timeLab(process.env);
  const times: CommandTime[] = [];
  for (let round = 0; round < rounds; round++) times.push(await timeLab(process.env));
  return labTimeOf("a warm lab", times);
}

/**
 * The first lab of a computer, once: with empty caches, also of Go's modules, and none of the tools on PATH (lab/README.md, "Tools"). All are
 * built from source, unless TALOS_GPU_LAB_RELEASES leads elsewhere.
 */
export async function measureFirstLab(): Promise<LabTime> {
  const cache = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-bench-"));
  const environment = firstLabEnvironment(cache, process.env);
  try {
    return labTimeOf("the first lab", [await timeLab(environment)]);
  } finally {
    // Go keeps its modules read-only.
    await execute("go", ["clean", "-modcache"], { env: environment });
    fs.rmSync(cache, { recursive: true, force: true });
  }
}

/** The environment of a lab that finds no tools, and nothing that Go has downloaded or compiled. */
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

/** Bash tells the CPU time of everything that a command started and waited for; Node tells its own alone. */
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

/** Reads Bash's times off the last line of what was written. */
export function commandTimeOf(stderr: string): CommandTime {
  const line = stderr.trim().split("\n").at(-1)!;
  const [wall, user, system] = line.split(" ").map(Number);
  const isTime = [wall, user, system].every((value) => Number.isFinite(value));
  if (!isTime)
    throw new Error(
      `bash: says no times in its last line, ${line}; the lab cannot be timed; run it by hand`,
    );
  return { cpu: user! + system!, wall: wall! };
}
