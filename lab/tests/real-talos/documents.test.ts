import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";
import { makeExistingCluster } from "../../cluster/existing-cluster";
import { stackConfiguration } from "../../run/stack-configuration";
import { openWorkspace, type Workspace } from "../../session/session";
import { ownPatches, siteOf } from "../../talos/site";
import { provideTalosPrograms } from "../../tools";
import { RELEASE, reasonsToSkip } from "./test-bed";

// From 1.14 on, talosctl generates a configuration as several YAML documents, and Talos refuses the older fields next to
// them. `talosctl validate` runs a machine's checks, so talosctl itself judges the configuration that a lab's owner
// writes.
const isRequested = reasonsToSkip(["v1.14.1"]).length === 0;

(isRequested ? describe : describe.skip)("talosctl", () => {
  let workspace: Workspace;
  beforeAll(() => (workspace = openWorkspace()));
  afterAll(() => workspace.remove());

  test.each(["velaryon", "modern"])(
    "accepts the configurations in documents that a lab's owner writes for the machines of the stack %s",
    async (stack) => {
      const { talosctl = "" } = await provideTalosPrograms(RELEASE);
      const { spec } = stackConfiguration(stack, { timeScale: 1, machines: "emulated" });
      const adoptedMachines = Object.entries(spec.machines).map(([name, machine]) => [
        name,
        // Without the stack's patches: those of modern set an older field, which Talos 1.14 refuses.
        { ...machine, configuration: "adopted" as const, patches: [] },
      ]);
      const site = siteOf(spec);
      const cluster = await makeExistingCluster(
        path.join(workspace.dir, stack),
        talosctl,
        {
          ...spec,
          patches: [],
          talosVersion: RELEASE,
          machines: Object.fromEntries(adoptedMachines) as never,
        },
        {
          endpoint: site.endpoint,
          inDocuments: true,
          patches: (role) =>
            ownPatches(site, {
              control: role === "controlplane",
              image: "factory.talos.dev/metal-installer/x:v1.14.1",
              inDocuments: true,
            }),
        },
      );
      for (const file of Object.values(cluster.configurations))
        await promisify(execFile)(talosctl, ["validate", "--mode", "metal", "--config", file]);
      expect(Object.keys(cluster.configurations)).toEqual(Object.keys(spec.machines));
    },
    600_000,
  );
});
