// Keeps the temporary files of a test run in memory where the computer has plenty of it: labs write a lot, and a disk's file system
// takes a twentieth of a lab's time for what is removed a minute later.
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** Bytes that must be free there: eight labs at a time, and the images of a real node. */
const needed = 8 * 1024 ** 3;
/** Linux' file system in memory. Its name is short, as the path of a socket may have 107 characters. */
const memory = "/dev/shm";

let folder;

/**
 * Makes the folder, and has this process and all that it starts use it for temporary files. A TMPDIR that is set stays. A real node
 * has a /dev of its own, behind which the folder would be hidden.
 */
const begin = () => {
  const { TMPDIR, TALOS_GPU_REAL_NODE } = process.env;
  if (TMPDIR !== undefined || TALOS_GPU_REAL_NODE === "1" || !hasRoom()) return;
  removeAbandoned();
  const mine = path.join(memory, `tg-${process.pid}`);
  try {
    fs.mkdirSync(mine, { mode: 0o700 });
  } catch {
    return; // somebody else's of that name
  }
  process.env.TMPDIR = folder = mine;
};

/** A run that was killed could not remove its folder, and memory is dearer than a disk. */
const removeAbandoned = () => {
  for (const name of fs.readdirSync(memory)) {
    const pid = /^tg-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || fs.existsSync(`/proc/${pid}`)) continue;
    try {
      fs.rmSync(path.join(memory, name), { recursive: true });
    } catch {
      // another user's
    }
  }
};

/** Whether programs may be kept and run there, and there is room for them. */
const hasRoom = () => {
  try {
    const { bavail, bsize } = fs.statfsSync(memory);
    const mount = fs
      .readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .findLast(([, where]) => where === memory);
    return bavail * bsize >= needed && os.freemem() >= needed && !/\bnoexec\b/.test(mount?.[3] ?? "noexec");
  } catch {
    return false; // another system, or a container without it
  }
};

const end = () => {
  if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};

module.exports = { begin, end };
