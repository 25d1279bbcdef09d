import {
  labProcesses,
  type LabRun,
  waitUntilNothingIsLeft,
  startLab,
} from "../../tests/e2e/support/labs";

interface Ending {
  cause: string;
  options: string[];
  endLab: (lab: LabRun) => void;
  /** Default: a signal ends the lab, so it has no exit status. */
  exitStatus?: number;
}

test.concurrent.each<Ending>([
  {
    cause: "Ctrl-C",
    options: [],
    endLab: ({ child }) => void child.kill("SIGINT"),
    exitStatus: 130,
  },
  {
    cause: "a crash",
    options: ["--stack", "aarhus-h100"],
    endLab: ({ child }) => void child.kill("SIGKILL"),
  },
  {
    cause: "the end of the process that reads the output",
    options: ["--stack", "velaryon"],
    endLab: ({ child }) => [child.stderr!, child.stdout!].forEach((stream) => stream.destroy()),
    exitStatus: 141,
  },
])(
  "after $cause during an update, no process or file of the lab is left, and its exit status is right",
  async ({ options, endLab, exitStatus }) => {
    const lab = startLab(options);
    const folder = await lab.folder();
    await lab.line(/upgrade: .*(pull|reboot)/);
    expect(labProcesses(folder).length).toBeGreaterThan(0);
    endLab(lab);
    const { status } = await lab.ended;
    if (exitStatus !== undefined) expect(status).toBe(exitStatus);
    await waitUntilNothingIsLeft(folder);
  },
);
