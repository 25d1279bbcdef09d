import * as path from "node:path";
import { startControlPlane } from "../../controlplane";
import { processesOf } from "../../run/take-snapshot";
import { provideTools } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { provide } from "../../tools/provide";
import { untilSeen } from "../../until";
import { descendants } from "../../../tests/support/processes";
import { copyRelease } from "./copy-release";
import { Sandbox } from "./fixture";
import { ReleasePage } from "./release-page";

/** Process IDs of this test's controller managers. */
const controllerManagerPids = (): number[] =>
  descendants(process.pid)
    .filter(({ command }) => command.includes("kube-controller-manager"))
    .map(({ pid }) => pid);

// The release pages are copies of the projects' pages. Each program of a copied release calls the lab's build.

test("a control plane starts from published programs, and leaves nothing behind", async () => {
  const sandbox = new Sandbox();
  const page = await new ReleasePage().open();
  const { controlplane: builtBinary } = await provideTools({
    only: ["controlplane"],
    fromSource: ["controlplane"],
  });
  const tool = catalogue.find(({ name }) => name === "controlplane")!;
  await copyRelease(page, "controlplane", builtBinary, sandbox.folder);
  const previousMark = process.env["TALOS_GPU_LAB"];
  process.env["TALOS_GPU_LAB"] = sandbox.folder; // a lab finds its processes by this variable
  try {
    const env = { ...sandbox.env(), TALOS_GPU_LAB_RELEASES: page.url };
    const { controlplane } = await provide([tool], {
      env,
      onEvent: (event) => sandbox.events.push(event),
    });
    expect(sandbox.eventStates()).toEqual(["downloading", "downloaded"]);
    const cluster = await startControlPlane({
      dir: path.join(sandbox.folder, "cluster"),
      binary: controlplane!,
    });
    const runningProcesses = processesOf(sandbox.folder);
    try {
      const pidsBefore = controllerManagerPids();
      await cluster.learnKinds(); // none was defined
      expect(controllerManagerPids()).toEqual(pidsBefore);
      await cluster.restartControllers();
      expect(controllerManagerPids()).not.toEqual(pidsBefore);
      expect(processesOf(sandbox.folder)).toEqual(runningProcesses);
    } finally {
      await cluster.stop();
    }
    expect(runningProcesses).not.toEqual([]);
    await untilSeen(
      "all processes of the lab have ended",
      { seconds: 60, every: 50 },
      () => processesOf(sandbox.folder),
      ({ length }) => length === 0,
    );
  } finally {
    process.env["TALOS_GPU_LAB"] = previousMark;
    if (previousMark === undefined) delete process.env["TALOS_GPU_LAB"];
    await page.close();
    sandbox.remove();
  }
});
