import { left, type LabRun, nothingLeft, startLab } from "../../tests/e2e/support/labs";

test.concurrent.each<[string, string[], (lab: LabRun) => void, number | undefined]>([
  ["Ctrl-C", [], ({ child }) => void child.kill("SIGINT"), 130],
  ["a crash", ["--stack", "aarhus-h100"], ({ child }) => void child.kill("SIGKILL"), undefined],
  [
    "the end of the output's reader",
    ["--stack", "velaryon"],
    ({ child }) => [child.stderr!, child.stdout!].forEach((stream) => stream.destroy()),
    141,
  ],
])(
  "after %s during an update, no process or file of the lab is left, and its exit status is right",
  async (_, args, end, status) => {
    const lab = startLab(args);
    const folder = await lab.folder();
    await lab.line(/upgrade: .*(pull|reboot)/);
    expect(left(folder).length).toBeGreaterThan(0);
    end(lab);
    const ended = await lab.ended;
    if (status !== undefined) expect(ended.status).toBe(status);
    await nothingLeft(folder);
  },
);
