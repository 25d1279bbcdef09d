import * as fs from "node:fs";
import * as path from "node:path";
import { Document, isScalar, visit, type YAMLMap } from "yaml";
import { judge, renderRemark } from "../../components/recipe";
import { expectedResults } from "../e2e/support/expected";
import { stacks } from "../support/stacks";
import { describeTaint, taintsOf } from "../../components/recipe/machine/taints";
import { readStackFile } from "../../stacks/stack-file";

const folder = path.join(__dirname, "..", "fixtures", "plans");

test("each stack has an expected result in the lab", () =>
  expect(Object.keys(expectedResults).sort()).toEqual(stacks));

/** Whether a mapping is short enough for one line. */
const isShort = ({ items }: YAMLMap): boolean =>
  items.length < 5 && items.every(({ value }) => isScalar(value) && String(value).length < 40);

/**
 * Compares the whole plan of every stack, with its warnings and notes, with the committed file. The diff of a pull
 * request then shows the effect of a changed rule on every real system. `UPDATE_GOLDEN=1 npx jest
 * tests/stacks/plans` writes the files.
 */
describe.each(stacks)("the plan of %s", (stack) => {
  const { findings, remarks, plan } = judge(readStackFile(stack));

  test("has no findings", () => {
    expect(findings).toEqual([]);
  });

  // The planner itself wrote the committed file. The expected result comes from the stack's owner.
  test("has the releases, drivers, GPUs and taints of the expected result", () => {
    const { machines, gpuResource = "nvidia.com/gpu" } = expectedResults[stack]!;
    const plannedMachines = plan!.machines.map((machine) => [
      machine.name,
      {
        talosVersion: machine.talosVersion,
        driverVersion: machine.driverVersion ?? null,
        gpus: machine.allocatable[gpuResource]?.toString(),
        taints: taintsOf(plan!.spec.machines[machine.name]!).map(describeTaint),
      },
    ]);
    // Not the stack, but Talos sets the taint of control planes.
    const controlPlaneTaint = "node-role.kubernetes.io/control-plane:NoSchedule";
    const expectedMachines = Object.entries(machines).map(
      ([name, { taints = [], gpus, ...rest }]) => [
        name,
        { ...rest, gpus, taints: taints.filter((taint) => taint !== controlPlaneTaint) },
      ],
    );
    expect(Object.fromEntries(plannedMachines)).toEqual(Object.fromEntries(expectedMachines));
  });

  test("equals the committed file", () => {
    const file = path.join(folder, `${stack}.yaml`);
    const { spec: _spec, ...planWithoutSpec } = plan!;
    const document = new Document({ ...planWithoutSpec, remarks: remarks.map(renderRemark) });
    visit(document, { Map: (_, node) => void (node.flow = isShort(node)) });
    const text = document.toString({ lineWidth: 0 });
    if (process.env.UPDATE_GOLDEN && !process.env.CI) {
      fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(file, text);
    }
    expect(text).toBe(fs.readFileSync(file, "utf8"));
  });
});
