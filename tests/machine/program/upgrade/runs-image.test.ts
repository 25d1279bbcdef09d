import { upgradeTask } from "../../../../components/machine/program/task";
import { runsImage } from "../../../../components/machine/program/upgrade/verify";

const task = (more: object = {}) =>
  upgradeTask.parse({
    machine: "gpu",
    address: "192.0.2.1",
    role: "worker",
    talosVersion: "v1.12.6",
    schematicId: "a".repeat(64),
    image: { extensions: [], kernelArgs: [] },
    installerImage: "factory.talos.dev/metal-installer/x:v1.12.6",
    configurationHash: "",
    modules: [],
    extensionServices: [],
    drain: true,
    otherControlPlanes: [],
    timeouts: { pull: "1m", drain: "1m", reboot: "1m", verify: "1m" },
    ...more,
  });
const old = { talosVersion: "v1.12.6", schematicId: "b".repeat(64), staged: false };

test("the same release with another schematic is another image", () => expect(runsImage(old, task())).toBe(false));
