import type { Credentials } from "../../components/credentials/credentials";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { omniTask, omniWaitTask } from "../../components/program/task";
import { findResource, findResources, isSecret, dependencyUrns } from "../support/graph";
import type { Run } from "../support/recorder";
import { planned } from "./gpu-machine-fixture";
import { answer, byName, run as recorded } from "./recorded-machine";

const omni: Partial<PlannedMachine> = {
  configuration: "omni",
  uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b",
  extensions: ["siderolabs/x"],
  sysctls: { "net.core.bpf_jit_harden": "1" },
  containerdPart: "[plugins]\n",
};
const access = {
  omniEndpoint: "https://frank.omni.example",
  omniServiceAccountKey: "omni-service-account-key",
};
const stdout = JSON.stringify({ ...answer, schematicId: "of Omni's making" });
const run = (given: Credentials = access): Promise<Run> =>
  recorded(
    omni,
    { outputs: ({ type }) => (type === "command:local:Command" ? { stdout } : {}) },
    given,
  );

test("an Omni machine gets the commands omni-apply and omni-wait, but no schematic and no Talos configuration", async () => {
  const made = await run();
  expect(findResources(made, "talos:imageFactory/schematic:Schematic")).toEqual([]);
  expect(findResources(made, "talos:machine/configurationApply:ConfigurationApply")).toEqual([]);
  const given = byName(made, "gpu-1-configuration");
  expect(given.inputs["create"]).toMatch(/omni-apply$/);
  expect(given.inputs["delete"]).toMatch(/omni-release$/);
  expect(given.inputs["addPreviousOutputInEnv"]).toBe(false); // it asks Omni for the present resources instead
  const task = omniTask.parse(JSON.parse(given.inputs["stdin"] as string));
  expect(task).toMatchObject({ uuid: omni.uuid, cluster: "lab" });
  expect(task.resources.map(({ spec }) => spec)).toEqual([
    { extensions: ["siderolabs/x"] },
    { data: planned.patches[0] },
  ]);
  const wait = byName(made, "gpu-1-upgrade");
  expect(wait.inputs["create"]).toMatch(/omni-wait$/);
  expect(dependencyUrns(made, wait)).toContain(given.urn);
  expect(omniWaitTask.parse(JSON.parse(wait.inputs["stdin"] as string))).toMatchObject({
    extensions: ["siderolabs/x"],
    modules: ["nvidia", "nvidia_uvm"],
    files: { "/proc/sys/net/core/bpf_jit_harden": "1" },
    containerdPart: "[plugins]\n",
  });
  expect(dependencyUrns(made, findResource(made, "kubernetes:core/v1:NodePatch"))).toContain(
    wait.urn,
  );
});

test("Omni's key is only in the command's environment, as a secret", async () => {
  const made = await run();
  for (const name of ["gpu-1-configuration", "gpu-1-upgrade"]) {
    const { inputs } = byName(made, name);
    const { environment, ...others } = inputs;
    expect(JSON.stringify(others)).not.toContain("omni-service-account-key");
    expect(JSON.stringify(environment)).toContain("omni-service-account-key");
    expect(isSecret(environment.TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY)).toBe(true);
  }
});

test("without Omni credentials in the stack, the command's environment has none of the stack", async () => {
  const made = await run({});
  expect(
    JSON.stringify(byName(made, "gpu-1-configuration").inputs["environment"] ?? {}),
  ).not.toContain("OMNI");
});
