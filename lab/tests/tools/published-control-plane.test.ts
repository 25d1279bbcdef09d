import * as path from "node:path";
import { startControlPlane } from "../../controlplane";
import { processesOf } from "../../run/take-snapshot";
import { provideTools } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { provide } from "../../tools/provide";
import { until } from "../../until";
import { descendants } from "../../../tests/support/processes";
import { copyRelease } from "./copy-release";
import { Sandbox } from "./fixture";
import { ReleasePage } from "./release-page";

/** Process IDs of this test's controller managers. */
const controllers = (): number[] =>
  descendants(process.pid)
    .filter(({ command }) => command.includes("kube-controller-manager"))
    .map(({ pid }) => pid);

// A control plane from a copy of the projects' release pages. Each program of the copy calls the lab's build.

test("a control plane starts from published programs, and leaves nothing behind", async () => {
  const sandbox = new Sandbox();
  const page = await new ReleasePage().open();
  const { controlplane: built } = await provideTools({
    only: ["controlplane"],
    fromSource: ["controlplane"],
  });
  const tool = catalogue.find(({ name }) => name === "controlplane")!;
  await copyRelease(page, "controlplane", built, sandbox.folder);
  const mark = process.env["TALOS_GPU_LAB"];
  process.env["TALOS_GPU_LAB"] = sandbox.folder; // the mark by which a lab finds its processes
  try {
    const env = { ...sandbox.env(), TALOS_GPU_LAB_RELEASES: page.url };
    const { controlplane } = await provide([tool], {
      env,
      onEvent: (event) => sandbox.events.push(event),
    });
    expect(sandbox.states()).toEqual(["downloading", "downloaded"]);
    const cluster = await startControlPlane({
      dir: path.join(sandbox.folder, "cluster"),
      binary: controlplane!,
    });
    const running = processesOf(sandbox.folder);
    try {
      const before = controllers();
      await cluster.learnKinds(); // none was defined
      expect(controllers()).toEqual(before);
      await cluster.restartControllers();
      expect(controllers()).not.toEqual(before);
      expect(processesOf(sandbox.folder)).toEqual(running);
    } finally {
      await cluster.stop();
    }
    const left = await until(
      { seconds: 60, every: 50 },
      () => processesOf(sandbox.folder),
      ({ length }) => length === 0,
    );
    expect([running.length > 0, left.seen]).toEqual([true, []]);
  } finally {
    process.env["TALOS_GPU_LAB"] = mark;
    if (mark === undefined) delete process.env["TALOS_GPU_LAB"];
    await page.close();
    sandbox.remove();
  }
});
