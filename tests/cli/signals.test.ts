import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { setupCli } from "./support";

const testBed = setupCli();

/** Blocks the process, with a message, as soon as the command opens the file hold-me.yaml. */
const blockingHook = `
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
  const hookFile = path.join(testBed.folder, "busy.cjs");
  fs.writeFileSync(hookFile, blockingHook);
  const file = path.join(testBed.folder, "hold-me.yaml");
  fs.writeFileSync(file, "{}\n");
  const argv = ["--require", hookFile, testBed.cli, verb, ...verbs[verb]!, file];
  const command = spawn(process.execPath, argv, {
    stdio: ["ignore", "ignore", "pipe"],
    cwd: testBed.folder,
  });
  try {
    let stderr = "";
    for await (const part of command.stderr) {
      stderr += String(part);
      if (stderr.includes("busy")) break;
    }
    expect(stderr).toContain("busy");
    const exit = once(command, "exit");
    command.kill(signal);
    const [exitCode, exitSignal] = (await exit) as [number | null, NodeJS.Signals | null];
    expect(exitCode).toBeNull();
    expect(exitSignal).toBe(signal);
  } finally {
    command.kill("SIGKILL");
  }
});
