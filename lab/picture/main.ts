import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";
import { repository } from "../../stacks/stack-file";
import { type Line, screen } from "./recording";
import { pictureOf } from "./svg";

const folder = path.join(repository, "docs", "pictures");
/** Seconds that the picture takes from the run's begin to its end. */
const lasts = 20;

/** `npm run pictures`: a real run of the lab as the picture of README, and its first update over time. */
async function main(): Promise<number> {
  fs.mkdirSync(folder, { recursive: true });
  const timeline = path.join(folder, "timeline.svg");
  const args = ["lab/bundle/run.js", "lab/main.ts", "--updates", "2", "--timeline", timeline];
  const begin = performance.now();
  const child = spawn(process.execPath, args, { cwd: repository, stdio: ["inherit", "pipe", "pipe"] });
  const lines: Line[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (text) => {
    console.error(text);
    lines.push({ at: (performance.now() - begin) / 1000, text });
  });
  const result: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => void result.push(chunk));
  const status = await new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  if (status !== 0) return status; // a run that failed is no picture of what this does
  const end = (performance.now() - begin) / 1000;
  const shown = screen(lines, Buffer.concat(result).toString("utf8"), end);
  fs.writeFileSync(
    path.join(folder, "lab.svg"),
    pictureOf(shown, "npm run lab -- --updates 2", end, Math.ceil(end / lasts)),
  );
  return 0;
}

void main().then((status) => (process.exitCode = status));
