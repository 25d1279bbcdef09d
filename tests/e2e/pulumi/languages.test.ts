import type { YamlRun } from "../runs/yaml";
import { runInOwnProcess } from "../support/own-process";

test("the Pulumi CLI creates, finds unchanged and deletes the resources of examples/yaml through the package's plugin", async () => {
  const { outcome } = await runInOwnProcess<YamlRun>("yaml");
  const { firstUpdate, outputs, secondUpdate, destroy, nodes } = outcome;
  for (const { result, diagnostics } of [firstUpdate, secondUpdate, destroy]) {
    expect(diagnostics.filter((line) => line.startsWith("error"))).toEqual([]);
    expect(result).toBe("succeeded");
  }
  expect(outputs["pod"]?.value).toBe("test");
  expect(outputs["machines"]?.value).toMatchObject({
    "gpu-1": { driverVersion: expect.any(String) as unknown },
  });
  expect(nodes).toContain("gpu-1");
  expect(secondUpdate.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
});
