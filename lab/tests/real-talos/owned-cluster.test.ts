import { expectOwnedCluster, ownedClusterOptions } from "../../../tests/e2e/runs/owned-cluster";
import { runLab } from "../../../tests/e2e/support/labs";
import { reasonsToSkip } from "./test-bed";

const reasons = reasonsToSkip(["1", "owned"]).join("; ");
if (reasons !== "") console.warn(`an owned cluster of real machines: skipped: ${reasons}`);

(reasons === "" ? test : test.skip)(
  "a cluster that the stack made gets Talos over two minors by one edit, and then a new Kubernetes release without a reboot",
  async () => {
    const run = await runLab([...ownedClusterOptions, "--machines", "real"]);
    // The machines' disks already have Talos, and a machine without extensions already runs the image of the plan.
    expectOwnedCluster(run, {
      intermediateRelease: "v1\\.12\\.6",
      firstReboots: { control: 0, gpu: 1 },
    });
  },
);
