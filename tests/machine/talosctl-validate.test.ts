import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { mergeConfiguration } from "../../components/recipe/merge";
import { parseSpec, planCluster, type ClusterSpec } from "../../components/recipe";
import { makeExistingCluster } from "../../lab/cluster/existing-cluster";
import { readStackFile } from "../../stacks/stack-file";
import { withTalosctl } from "./with-talosctl";
import { stacks } from "../support/stacks";

const run = promisify(execFile);
const tools = withTalosctl();

/** Every stack of the repository, and a stack with every setting of a machine, for Talos 1.12 and for 1.13. */
function specs(): [string, ClusterSpec][] {
  const stackWithEverySetting = (talosVersion: string, kubernetesVersion: string): ClusterSpec => ({
    talosVersion,
    kubernetesVersion,
    clusterName: "everything",
    clusterEndpoint: "https://192.0.2.1:6443",
    machines: Object.fromEntries(
      (["owned", "adopted"] as const).map((configuration, index) => [
        `gpu-${configuration}`,
        {
          address: `192.0.2.${10 + index}`,
          role: "worker",
          configuration,
          gpus: [{ model: "RTX 3090", count: 2 }],
          extensions: ["siderolabs/iscsi-tools"],
          labels: { "example.org/rack": "1" },
          taints: { gpu: "true:NoSchedule" },
          containerd: {
            nvidiaDefaultRuntime: true,
            baseRuntimeSpec: true,
            cdiSpecDirs: ["/var/cdi/static"],
          },
          patches: [
            "machine:\n  files:\n    - {path: /var/etc/site, op: create, permissions: 0o644, content: x}\n",
          ],
        },
      ]),
    ),
    devicePlugin: { version: "0.18.2" },
  });
  const repositoryStacks = stacks.map((name): [string, ClusterSpec] => [
    name,
    parseSpec(readStackFile(name)).spec!,
  ]);
  return [
    ...repositoryStacks,
    ["everything on 1.12", stackWithEverySetting("v1.12.6", "v1.35.0")],
    ["everything on 1.13", stackWithEverySetting("v1.13.0", "v1.36.0")],
  ];
}

test.each(specs())(
  "talosctl's strict validation accepts the configuration of every machine in %s",
  async (name, spec) => {
    const existingCluster = await makeExistingCluster(
      path.join(tools.folder, name),
      tools.talosctl,
      spec,
    );
    for (const machine of planCluster(spec).machines) {
      const baseFile = existingCluster.configurations[machine.name]!;
      const file = path.join(tools.folder, name, `${machine.name}-with-gpu.yaml`);
      if (machine.configuration === "adopted") {
        const { configuration, conflicts } = mergeConfiguration(
          fs.readFileSync(baseFile, "utf8"),
          machine.patches,
        );
        expect(conflicts).toEqual([]);
        fs.writeFileSync(file, configuration);
      } else {
        // Except on Omni, the base already has the stack's own patches. Only the package's patches are new, and
        // they come last.
        const ownPatchCount =
          (spec.patches ?? []).length + (spec.machines[machine.name]!.patches ?? []).length;
        const packagePatches = machine.patches.slice(
          machine.configuration === "omni" ? 0 : ownPatchCount,
        );
        const args = packagePatches.flatMap((patch) => ["--patch", patch]);
        await run(tools.talosctl, ["machineconfig", "patch", baseFile, ...args, "--output", file]);
      }
      await run(tools.talosctl, ["validate", "--strict", "--mode", "metal", "--config", file]);
      const machineSection = parse(fs.readFileSync(file, "utf8").split(/^---$/m)[0]!).machine;
      const modules = (machineSection.kernel?.modules ?? []).map(
        (module: { name: string }) => module.name,
      );
      if (machine.gpuCount > 0) expect(modules).toContain("nvidia");
      else expect(modules).toEqual([]);
      // Omni sets the image itself.
      expect(machineSection.install.image === machine.installerImage).toBe(
        machine.configuration !== "omni",
      );
    }
  },
);

test("talosctl's strict validation refuses a misspelt field", async () => {
  const file = path.join(tools.folder, "wrong.yaml");
  fs.writeFileSync(
    file,
    "version: v1alpha1\nmachine:\n  type: worker\n  kernal: {}\ncluster: {}\n",
  );
  await expect(
    run(tools.talosctl, ["validate", "--strict", "--mode", "metal", "--config", file]),
  ).rejects.toThrow(/kernal/);
});
