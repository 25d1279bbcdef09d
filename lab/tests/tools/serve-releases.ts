import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { provideTools, type ToolName } from "../../tools";
import { copyRelease } from "./copy-release";
import { ReleasePage } from "./release-page";

// `node lab/bundle/run.js lab/tests/tools/serve-releases.ts`: serves a copy of the projects' release pages on
// loopback until Ctrl-C. The copies are the lab's own builds. The printed address is a value for
// TALOS_GPU_LAB_RELEASES (lab/README.md).

async function main(): Promise<void> {
  process.env["TALOS_GPU_LAB_TOOLS"] = "own";
  const names = [
    "controlplane",
    "pulumi",
    "talosctl",
    "helm",
    "pulumi-resource-kubernetes",
  ] as const satisfies ToolName[];
  const tools = await provideTools({ only: names, fromSource: names });
  const page = new ReleasePage();
  const workFolder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-releases-"));
  try {
    for (const name of names) await copyRelease(page, name, tools[name], workFolder);
  } finally {
    fs.rmSync(workFolder, { recursive: true, force: true });
  }
  await page.open();
  console.log(`TALOS_GPU_LAB_RELEASES=${page.url}`);
}

void main();
