// Cleans up after a lab. Its argument is the lab's folder, and its standard input is a pipe, which ends when the lab
// ends or is killed. Plain JavaScript without dependencies, so that it runs before any other part of the lab.
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const dir = process.argv[2];
const gracePeriod = 10_000; // ms within which the lab's processes may end by themselves, since their standard input has also ended
const groupsLimit = 20_000; // further ms in which control groups are removed; the lab's next check reports those that remain
const interval = 100;

/**
 * Process IDs of the lab's processes. Only these have the mark in their environment; a user's shell may also name the
 * folder.
 */
function labPids() {
  const mark = `TALOS_GPU_LAB=${dir}`;
  return processes()
    .filter(
      ([pid, environment]) => pid !== process.pid && environment.split(/[\0 ]/).includes(mark),
    )
    .map(([pid]) => pid);
}

/** Every process whose environment this user may read, with that environment. */
function processes() {
  if (!fs.existsSync("/proc/self/environ")) {
    // `e` appends the environment to the command: macOS and the BSDs.
    const lines = execFileSync("ps", ["axeww", "-o", "pid=,command="], {
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    return lines.split("\n").map((line) => [Number.parseInt(line, 10), line]);
  }
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => [Number(pid), readOr(`/proc/${pid}/environ`, "")]);
}

function readOr(file, fallback) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return fallback; // it ended meanwhile, or is another program's
  }
}

function kill(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it ended meanwhile
    }
  }
}

function cleanUp(deadline) {
  const pids = labPids();
  if (pids.length > 0) {
    kill(pids, Date.now() < deadline ? "SIGTERM" : "SIGKILL");
    setTimeout(() => cleanUp(deadline), interval);
    return;
  }
  // The kernel keeps a group busy for a moment after its last process has disappeared from /proc.
  if (removeGroups() > 0 && Date.now() < deadline + groupsLimit) {
    setTimeout(() => cleanUp(deadline), interval);
    return;
  }
  removeLinks();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Removes the network links to a real node. The kernel would remove each together with the node's network, but only
 * when connections of killed processes have timed out: after more than a minute.
 */
function removeLinks() {
  const linksFolder = "/sys/class/net";
  const isOfThisLab = (link) =>
    readOr(path.join(linksFolder, link, "ifalias"), "").startsWith(`${path.basename(dir)}-`);
  for (const { name } of readOrNone(linksFolder).filter((entry) => isOfThisLab(entry.name))) {
    try {
      execFileSync("ip", ["link", "delete", name], { stdio: "ignore" });
    } catch {
      // the kernel has removed it
    }
  }
}

/**
 * Removes the control groups of a killed real node. They are empty, and named after the lab
 * (lab/machines/internal/realnode/outside_linux.go). Gives the number of groups that remain.
 */
function removeGroups() {
  const root = "/sys/fs/cgroup";
  const children = (folder) =>
    readOrNone(folder)
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => path.join(folder, name));
  const remove = (folder) => {
    children(folder).forEach(remove);
    try {
      fs.rmdirSync(folder);
    } catch {
      // the kernel still needs it
    }
  };
  const isOfThisLab = (folder) => path.basename(folder).startsWith(`${path.basename(dir)}-`);
  // With version 2 the root is the only hierarchy; with version 1 its children are the hierarchies.
  const roots = [root, ...children(root)];
  const groups = () => roots.flatMap(children).filter(isOfThisLab);
  groups().forEach(remove);
  return groups().length;
}

function readOrNone(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.stdin.resume();
process.stdin.on("end", () => cleanUp(Date.now() + gracePeriod));
