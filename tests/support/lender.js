// jest's global set-up and its end: a lender of control planes for the labs of the run (lab/controlplane/lending/lent.ts), which keeps a
// talosctl ready for them, too (lab/tools/ready-talosctl.ts).
/* global clearTimeout */
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

let stop = async () => {};

const start = async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-lender-"));
  const socket = path.join(folder, "socket");
  const child = spawn(process.execPath, ["lab/bundle/run.js", "lab/controlplane/lending/lender.ts", socket], {
    cwd: path.join(__dirname, "../.."),
    stdio: ["pipe", "pipe", "inherit"],
    detached: true, // Ctrl-C is for jest, whose labs want to end in order
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  stop = async () => {
    child.ref(); // or jest ends here, before it has written its results
    child.stdin.end();
    const late = setTimeout(() => child.kill("SIGKILL"), 30_000); // its janitor then ends what it has started
    await ended;
    clearTimeout(late);
    fs.rmSync(folder, { recursive: true, force: true });
  };
  // One that cannot start says why; each lab then starts a control plane of its own.
  const lends = new Promise((resolve) => child.stdout.once("data", () => resolve(true)));
  if (await Promise.race([lends, ended.then(() => false)])) {
    process.env.TALOS_GPU_CONTROL_PLANES = socket;
    const talosctl = path.join(folder, "talosctl");
    if (fs.existsSync(talosctl)) process.env.TALOS_GPU_READY_TALOSCTL = talosctl;
  }
  for (const handle of [child, child.stdin, child.stdout]) handle.unref();
};

module.exports = { start, stop: () => stop() };
