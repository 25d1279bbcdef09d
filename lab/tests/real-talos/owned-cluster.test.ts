import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  expectOwnedCluster,
  ownedClusterOptions,
  writeStacksOfRealMachine,
} from "../../../tests/e2e/runs/owned-cluster";
import { runLab } from "../../../tests/e2e/support/labs";
import { reasonsToSkip } from "./test-bed";

const reasons = reasonsToSkip(["1", "owned"]).join("; ");
if (reasons !== "") console.warn(`a lab of an owned real machine: skipped: ${reasons}`);

(reasons === "" ? test : test.skip)(
  "an owned control plane with a card gets Talos over two minors by one edit, and then a new Kubernetes release without a reboot",
  async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-stacks-"));
    try {
      writeStacksOfRealMachine(folder);
      const run = await runLab([...ownedClusterOptions(folder), "--machines", "real"]);
      expectOwnedCluster(run, {
        intermediateRelease: "v1\\.12\\.6",
        firstReboots: { control: 1 },
        lastMachine: "control",
      });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  },
);
