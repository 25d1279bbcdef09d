import * as fs from "node:fs";
import * as path from "node:path";
import { problemsWithRealNode } from "../../../lab/real-node/able";
import { readOrEmpty } from "../../support/processes";

/** Reasons why no test has a real node here: it was not requested, or is not possible. Empty if tests have one. */
function reasonsAgainstRealNode(): string[] {
  if (process.env.TALOS_GPU_REAL_NODE !== "1")
    return ["it was not requested: set TALOS_GPU_REAL_NODE=1"];
  return problemsWithRealNode();
}

/** Tests with a real node. Without one they are skipped, and their name has the reason. */
export function describeOnRealNode(name: string, tests: () => void): void {
  const reasons = reasonsAgainstRealNode().join("; ");
  if (reasons === "") return describe(name, tests);
  console.warn(`${name}: skipped: ${reasons}`);
  describe.skip(`${name} (skipped: ${reasons})`, tests);
}

/**
 * `--machines` of a lab whose test is valid on both kinds: the real one if possible, since other labs already run
 * the emulated one.
 */
export const availableMachineKind = (): "node" | "emulated" =>
  reasonsAgainstRealNode().length === 0 ? "node" : "emulated";

/** Mounts and control groups that a lab's real nodes may leave on this computer, by the lab's folder. */
export function mountsAndControlGroups(lab: string): string[] {
  const name = path.basename(lab);
  const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const roots = ["/sys/fs/cgroup", ...subfolders("/sys/fs/cgroup")];
  const groups = roots
    .flatMap(subfolders)
    .filter((folder) => path.basename(folder).startsWith(name));
  return [...mounts.filter((line) => line.includes(name)), ...groups];
}

/** Network links that a lab's real nodes may leave, each with its lab's name. */
export const networkLinks = (lab: string): string[] =>
  fs
    .readdirSync("/sys/class/net")
    .map((link) => `${link} ${readOrEmpty(`/sys/class/net/${link}/ifalias`).trim()}`)
    .filter((line) => line.includes(path.basename(lab)));

const subfolders = (folder: string): string[] =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
