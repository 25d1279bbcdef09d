import * as fs from "node:fs";
import * as path from "node:path";
import { whyNoRealNode } from "../../../lab/node/able";

/** Why no test has a real node here: it is not asked for, or cannot be. Empty: they have. */
export function whyNotReal(): string[] {
  if (process.env.TALOS_GPU_REAL_NODE !== "1") return ["it is not asked for: TALOS_GPU_REAL_NODE=1 does"];
  return whyNoRealNode();
}

/** What real nodes may leave on this computer: mounts, links of the network, control groups; of one lab, by its folder, the links are left out. */
export function traces(lab = ""): string[] {
  const name = lab === "" ? "talos-gpu-lab-" : path.basename(lab);
  const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const links = lab === "" ? fs.readdirSync("/sys/class/net").filter((link) => link.startsWith("tgnode")) : [];
  const roots = ["/sys/fs/cgroup", ...folders("/sys/fs/cgroup")];
  const groups = roots.flatMap(folders).filter((folder) => path.basename(folder).startsWith(name));
  return [...mounts.filter((line) => line.includes(name)), ...links, ...groups];
}

const folders = (at: string): string[] =>
  fs
    .readdirSync(at, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(at, name));
