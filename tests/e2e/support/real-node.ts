import * as fs from "node:fs";
import * as path from "node:path";
import { whyNoRealNode } from "../../../lab/real-node/able";
import { readOr } from "../../support/processes";

/** Why no test has a real node here: it is not asked for, or cannot be. Empty: they have. */
function whyNotReal(): string[] {
  if (process.env.TALOS_GPU_REAL_NODE !== "1")
    return ["it is not asked for: TALOS_GPU_REAL_NODE=1 does"];
  return whyNoRealNode();
}

/** Tests that have a real node, or are skipped, and then their name says why. */
export function describeReal(name: string, tests: () => void): void {
  const reasons = whyNotReal().join("; ");
  if (reasons === "") return describe(name, tests);
  console.warn(`${name}: skipped: ${reasons}`);
  describe.skip(`${name} (skipped: ${reasons})`, tests);
}

/** `--machines` of a lab whose test holds on either: the real one where it can be had, for what is emulated is run by the other labs. */
export const machinesHere = (): "node" | "emulated" =>
  whyNotReal().length === 0 ? "node" : "emulated";

/** What real nodes of a lab, by its folder, may leave on this computer: mounts and control groups. */
export function traces(lab: string): string[] {
  const name = path.basename(lab);
  const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const roots = ["/sys/fs/cgroup", ...folders("/sys/fs/cgroup")];
  const groups = roots.flatMap(folders).filter((folder) => path.basename(folder).startsWith(name));
  return [...mounts.filter((line) => line.includes(name)), ...groups];
}

/** And links of the network, each with its lab's name. */
export const links = (lab: string): string[] =>
  fs
    .readdirSync("/sys/class/net")
    .map((link) => `${link} ${readOr(`/sys/class/net/${link}/ifalias`).trim()}`)
    .filter((line) => line.includes(path.basename(lab)));

const folders = (at: string): string[] =>
  fs
    .readdirSync(at, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(at, name));
