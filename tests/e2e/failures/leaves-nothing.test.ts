import { left, nothingLeft, startLab } from "../support/labs";

test.concurrent(
  "Ctrl-C in the middle of an update leaves neither process nor file, and says 130",
  async () => {
    const lab = startLab([]);
    const folder = await lab.folder();
    await lab.line(/upgrade: .*pull/);
    expect(left(folder).length).toBeGreaterThan(0);
    lab.child.kill("SIGINT");
    expect((await lab.ended).status).toBe(130);
    await nothingLeft(folder);
  },
  3 * 60_000,
);

test.concurrent(
  "a crash in the middle of an update leaves neither process nor file",
  async () => {
    const lab = startLab(["--stack", "aarhus-h100"]);
    const folder = await lab.folder();
    await lab.line(/upgrade: .*(pull|reboot)/);
    lab.child.kill("SIGKILL");
    await lab.ended;
    await nothingLeft(folder);
  },
  3 * 60_000,
);

test.concurrent(
  "a lab whose reader has gone stops in the middle of an update, and leaves neither process nor file",
  async () => {
    const lab = startLab(["--stack", "velaryon"]);
    const folder = await lab.folder();
    await lab.line(/upgrade: .*(pull|reboot)/);
    lab.child.stderr!.destroy();
    lab.child.stdout!.destroy();
    expect((await lab.ended).status).toBe(141);
    await nothingLeft(folder);
  },
  3 * 60_000,
);
