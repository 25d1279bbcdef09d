import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { planCluster } from "../../../components/recipe";
import { omniSchematic } from "../../../lab/omni";
import { readSchematic } from "../../../lab/factory/schematic";
import { clusterOf, readStackFile } from "../../../stacks/stack-file";
import { assertOk, runLab } from "../support/labs";

const stackPath = (name: string): string => path.join(__dirname, "../stacks", name);
/**
 * Each machine begins with six extensions, two kernel arguments and Secure Boot. The lab's firmware refuses to
 * start an unsigned image.
 */
const imageOptions = ["--image", stackPath("images.yaml"), "--omni-members"];
const { adopted } = parse(fs.readFileSync(stackPath("images.yaml"), "utf8")) as {
  adopted: { extensions: string[]; kernelArgs: string[] };
};

test.concurrent(
  "an update that would remove parts of running images stops before it changes a machine, and lists the parts",
  async () => {
    const { status, report, lines } = await runLab([
      "--stack",
      stackPath("Pulumi.losses.yaml"),
      ...imageOptions,
    ]);
    expect(status).toBe(1);
    for (const owner of ["adopted", "omni", "owned"]) {
      const findings = lines.filter((line) =>
        line.includes(`machines.${owner}.extensions: the machine runs`),
      );
      expect(findings).not.toEqual([]);
      for (const name of adopted.extensions) expect(findings[0]).toContain(name);
      expect(report.machines[owner]).toMatchObject({ reboots: 0, driverVersion: null });
    }
    for (const owner of ["adopted", "owned"]) {
      const output = lines.join("\n");
      expect(output).toContain(
        `machines.${owner}.kernelArgs: the machine's kernel was started with ${adopted.kernelArgs.join(" ")}`,
      );
      expect(output).toContain(`machines.${owner}.secureBoot: the machine boots with Secure Boot`);
    }
    expect(lines.filter((line) => /: (stage|apply|pull|drain|reboot): /.test(line))).toEqual([]);
    expect(lines.filter((line) => /^create \S+-(configuration|upgrade)/.test(line))).toEqual([]);
  },
);

test.concurrent(
  "extensions, kernel arguments and a signed image stay if the stack lists them",
  async () => {
    const stack = stackPath("Pulumi.losses-listed.yaml");
    const { status, report, lines } = await runLab(["--stack", stack, ...imageOptions]);
    assertOk({ status, report, lines });
    for (const recipe of planCluster(clusterOf(readStackFile(stack))).machines) {
      const omniSchematicId = readSchematic(
        omniSchematic(recipe.extensions, adopted.kernelArgs),
      ).id;
      expect(report.machines[recipe.name]).toMatchObject({
        schematicId: recipe.configuration === "omni" ? omniSchematicId : recipe.schematicId,
        driverVersion: "570.211.01",
        allocatable: { "nvidia.com/gpu": "1" },
      });
      for (const name of adopted.extensions) expect(recipe.extensions).toContain(name);
      if (recipe.configuration !== "omni") expect(recipe.schematic).toContain("intel_iommu=on");
    }
  },
);
