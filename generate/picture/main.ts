import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";
import { pictureOf } from "./picture";

// `npm run picture` runs the lab, and draws its last output as docs/pictures/lab.svg. It needs the lab's tools.

const root = path.resolve(__dirname, "../..");
const command = ["run", "lab", "--", "--updates", "2"];

async function main(): Promise<void> {
  const child = spawn("npm", command, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  for (const stream of [child.stderr, child.stdout])
    readline.createInterface({ input: stream }).on("line", (line) => lines.push(line));
  const status = await new Promise((resolve) => child.once("close", resolve));
  if (status !== 0) throw new Error(`npm ${command.join(" ")} ended with ${String(status)}`);
  fs.writeFileSync(
    path.join(root, "docs/pictures/lab.svg"),
    pictureOf(`npm ${command.join(" ")}`, lines),
  );
}

void main();
