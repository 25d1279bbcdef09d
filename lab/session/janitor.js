// Cleans up after a lab. Started with the lab's folder as argument and a pipe as standard input; when the pipe ends the lab
// has ended or was killed. Plain JavaScript without dependencies, so that it is up before anything else of the lab is.
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const dir = process.argv[2];
const graceful = 10_000; // ms that the lab's processes get to end by themselves: their standard input has ended too
const groupsLimit = 20_000; // ms longer that groups are tried again; the next look names what is left then
const interval = 100;

/** Process ids of what the lab started: only its own processes have the mark; a user's shell may name the folder, too. */
function running() {
  const mark = `TALOS_GPU_LAB=${dir}`;
  return processes()
    .filter(
      ([pid, environment]) => pid !== process.pid && environment.split(/[\0 ]/).includes(mark),
    )
    .map(([pid]) => pid);
}

/** Every process of ours with its environment, as far as it may be read. */
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

function readOr(file, otherwise) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return otherwise; // it ended meanwhile, or is another program's
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
  const pids = running();
  if (pids.length > 0) {
    kill(pids, Date.now() < deadline ? "SIGTERM" : "SIGKILL");
    setTimeout(() => cleanUp(deadline), interval);
    return;
  }
  // A group is busy until the kernel has taken its last process apart, which is later than when that is gone from /proc.
  if (removeGroups() > 0 && Date.now() < deadline + groupsLimit) {
    setTimeout(() => cleanUp(deadline), interval);
    return;
  }
  removeLinks();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Links of the network to a real node. The kernel removes each with the node's network, which it takes apart when no connection of
 * a killed process waits for an answer any more: after a minute and more.
 */
function removeLinks() {
  const all = "/sys/class/net";
  const ours = (link) =>
    readOr(path.join(all, link, "ifalias"), "").startsWith(`${path.basename(dir)}-`);
  for (const { name } of readOrNone(all).filter((entry) => ours(entry.name))) {
    try {
      execFileSync("ip", ["link", "delete", name], { stdio: "ignore" });
    } catch {
      // it went meanwhile
    }
  }
}

/** Control groups of a real node that was cut off; they are empty, and named after the lab (lab/machines/internal/realnode/outside_linux.go). Gives how many are left. */
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
  const ours = (folder) => path.basename(folder).startsWith(`${path.basename(dir)}-`);
  // The root is the one hierarchy of version 2; in version 1 its children are the hierarchies.
  const roots = [root, ...children(root)];
  const groups = () => roots.flatMap(children).filter(ours);
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
process.stdin.on("end", () => cleanUp(Date.now() + graceful));
