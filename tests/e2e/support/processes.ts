import * as fs from "node:fs";

/** The processes that a process has started, and those that these have. */
export function descendants(root: number): { pid: number; command: string }[] {
  const all = fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({
      pid: Number(pid),
      parent: Number(/^PPid:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`))?.[1]),
      command: readOr(`/proc/${pid}/cmdline`),
    }));
  const found = new Set([root]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => pid !== root && found.has(pid));
}

/** A file of /proc; empty where its process has ended meanwhile. */
export function readOr(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
