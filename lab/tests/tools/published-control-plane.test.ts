import * as path from "node:path";
import { startControlPlane } from "../../controlplane";
import { processesOf } from "../../run/look-around";
import { provideTools } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { provide } from "../../tools/provide";
import { publishedOf } from "../../tools/ways/release";
import { until } from "../../until";
import { Sandbox } from "./fixture";
import { archive, ReleasePage, sha256 } from "./release-page";

// A control plane of the projects' own programs, from a copy of their release pages. What each program on the copy calls is the lab's build.

test("a control plane starts from what is published, and leaves nothing behind", async () => {
  const sandbox = new Sandbox();
  const page = await new ReleasePage().open();
  const { controlplane: built } = await provideTools({ only: ["controlplane"], fromSource: ["controlplane"] });
  const tool = catalogue.find(({ name }) => name === "controlplane")!;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const published = await publishedOf(tool, { version: "", os: process.platform, arch });
  for (const { address, sums, programs, within } of published?.files ?? []) {
    const program = `#!/bin/sh\nexec '${built}' ${programs[0]} "$@"\n`;
    const content = within === undefined ? program : archive(sandbox.folder, { [`${within}/${programs[0]}`]: program });
    page.put(address, content);
    page.put(sums, within === undefined ? sha256(content) : `${sha256(content)}  ${path.basename(address)}\n`);
  }
  const mark = process.env["TALOS_GPU_LAB"];
  process.env["TALOS_GPU_LAB"] = sandbox.folder; // by which a lab knows its processes
  try {
    const env = { ...sandbox.env(), TALOS_GPU_LAB_RELEASES: page.url };
    const { controlplane } = await provide([tool], { env, onEvent: (event) => sandbox.events.push(event) });
    expect(sandbox.states()).toEqual(["downloading", "downloaded"]);
    const cluster = await startControlPlane({ dir: path.join(sandbox.folder, "cluster"), binary: controlplane! });
    const running = processesOf(sandbox.folder);
    try {
      await cluster.restartControllers();
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
