import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { cliStand } from "./stand";

const stand = cliStand();

/** Blocks the process, with a message, as soon as the command opens a file of this name. */
const busy = `
const fs = require("node:fs");
for (const name of ["openSync", "readFileSync"]) {
  const open = fs[name];
  fs[name] = (file, ...rest) => {
    if (String(file).endsWith("hold-me.yaml")) {
      fs.writeSync(2, "busy\\n");
      for (;;);
    }
    return open(file, ...rest);
  };
}
`;

/** Each verb with the option for a file that it reads. */
const verbs: Record<string, string[]> = {
  check: [],
  import: [],
  "import-talhelper": [],
  plan: ["--stack"],
  doctor: ["--stack"],
  "bug-report": ["--stack"],
  discover: ["--kubeconfig"],
  reboot: ["gpu-1", "--stack"],
};

const signals = ["SIGTERM", "SIGINT"] as const;
const cases = Object.keys(verbs).flatMap((verb) =>
  signals.map((signal) => [signal, verb] as const),
);

test.each(cases)("%s ends %s even while work blocks the event loop", async (signal, verb) => {
  const hook = path.join(stand.folder, "busy.cjs");
  fs.writeFileSync(hook, busy);
  const file = path.join(stand.folder, "hold-me.yaml");
  fs.writeFileSync(file, "{}\n");
  const argv = ["--require", hook, stand.cli, verb, ...verbs[verb]!, file];
  const command = spawn(process.execPath, argv, {
    stdio: ["ignore", "ignore", "pipe"],
    cwd: stand.folder,
  });
  try {
    let said = "";
    for await (const part of command.stderr) {
      said += String(part);
      if (said.includes("busy")) break;
    }
    expect(said).toContain("busy");
    const ended = once(command, "exit");
    command.kill(signal);
    expect(await ended).toEqual([null, signal]);
  } finally {
    command.kill("SIGKILL");
  }
});
