import type { RunResult } from "../../../lab/engine";
import type { YamlRun } from "../runs/yaml";
import { runApart } from "../support/apart";

test("the Pulumi CLI creates, finds unchanged and deletes the resources of examples/yaml through the package's plugin", async () => {
  const { outcome } = await runApart<YamlRun>("yaml");
  const { first, outputs, second, destroyed, nodes } = outcome;
  expect([first, second, destroyed].map(told)).toEqual([
    ["succeeded"],
    ["succeeded"],
    ["succeeded"],
  ]);
  expect(outputs["pod"]?.value).toBe("test");
  expect(outputs["machines"]?.value).toMatchObject({
    "gpu-1": { driverVersion: expect.any(String) as unknown },
  });
  expect(nodes).toContain("gpu-1");
  expect(second.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
});

const told = ({ result, diagnostics }: RunResult): string[] => [
  result,
  ...diagnostics.filter((line) => line.startsWith("error")),
];
