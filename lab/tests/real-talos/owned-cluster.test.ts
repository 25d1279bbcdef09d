import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  expectOwnedCluster,
  ownedClusterOptions,
  writeStacksOfExistingCluster,
} from "../../../tests/e2e/runs/owned-cluster";
import { runLab } from "../../../tests/e2e/support/labs";
import { reasonsToSkip } from "./test-bed";

const reasons = reasonsToSkip(["1", "owned"]).join("; ");
if (reasons !== "") console.warn(`a lab of owned real machines: skipped: ${reasons}`);

(reasons === "" ? test : test.skip)(
  "an owned control plane and an owned worker get Talos over two minors by one edit, and then a new Kubernetes release without a reboot",
  async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-stacks-"));
    try {
      writeStacksOfExistingCluster(folder);
      const run = await runLab([...ownedClusterOptions(folder), "--machines", "real"]);
      // A machine without extensions already runs the image of the plan.
      expectOwnedCluster(run, {
        intermediateRelease: "v1\\.12\\.6",
        firstReboots: { control: 0, gpu: 1 },
      });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  },
);
