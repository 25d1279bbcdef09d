import type { Credentials } from "../../components/credentials/credentials";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { omniTask, omniWaitTask } from "../../components/program/task";
import { findResource, findResources, isSecret, dependencyUrns } from "../support/graph";
import type { Run } from "../support/recorder";
import { plannedMachine } from "./gpu-machine-fixture";
import { upgradeResult, resourceNamed, recordMachine } from "./recorded-machine";

const omniMachine: Partial<PlannedMachine> = {
  configuration: "omni",
  uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b",
  extensions: ["siderolabs/x"],
  sysctls: { "net.core.bpf_jit_harden": "1" },
  containerdPart: "[plugins]\n",
};
const omniAccess = {
  omniEndpoint: "https://frank.omni.example",
  omniServiceAccountKey: "omni-service-account-key",
};
const stdout = JSON.stringify({ ...upgradeResult, schematicId: "of Omni's making" });
const recordOmniMachine = (credentials: Credentials = omniAccess): Promise<Run> =>
  recordMachine(
    omniMachine,
    { outputs: ({ type }) => (type === "command:local:Command" ? { stdout } : {}) },
    credentials,
  );

test("an Omni machine gets the commands omni-apply and omni-wait, but no schematic and no Talos configuration", async () => {
  const run = await recordOmniMachine();
  expect(findResources(run, "talos:imageFactory/schematic:Schematic")).toEqual([]);
  expect(findResources(run, "talos:machine/configurationApply:ConfigurationApply")).toEqual([]);
  const configuration = resourceNamed(run, "gpu-1-configuration");
  expect(configuration.inputs["create"]).toMatch(/omni-apply$/);
  expect(configuration.inputs["delete"]).toMatch(/omni-release$/);
  expect(configuration.inputs["addPreviousOutputInEnv"]).toBe(false); // it asks Omni for the present resources instead
  const task = omniTask.parse(JSON.parse(configuration.inputs["stdin"] as string));
  expect(task).toMatchObject({ uuid: omniMachine.uuid, cluster: "lab" });
  expect(task.resources.map(({ spec }) => spec)).toEqual([
    { extensions: ["siderolabs/x"] },
    { data: plannedMachine.patches[0] },
  ]);
  const waitCommand = resourceNamed(run, "gpu-1-upgrade");
  expect(waitCommand.inputs["create"]).toMatch(/omni-wait$/);
  expect(dependencyUrns(run, waitCommand)).toContain(configuration.urn);
  expect(omniWaitTask.parse(JSON.parse(waitCommand.inputs["stdin"] as string))).toMatchObject({
    extensions: ["siderolabs/x"],
    modules: ["nvidia", "nvidia_uvm"],
    files: { "/proc/sys/net/core/bpf_jit_harden": "1" },
    containerdPart: "[plugins]\n",
  });
  expect(dependencyUrns(run, findResource(run, "kubernetes:core/v1:NodePatch"))).toContain(
    waitCommand.urn,
  );
});

test("Omni's key is only in the command's environment, as a secret", async () => {
  const run = await recordOmniMachine();
  for (const name of ["gpu-1-configuration", "gpu-1-upgrade"]) {
    const { inputs } = resourceNamed(run, name);
    const { environment, ...otherInputs } = inputs;
    expect(JSON.stringify(otherInputs)).not.toContain("omni-service-account-key");
    expect(JSON.stringify(environment)).toContain("omni-service-account-key");
    expect(isSecret(environment.TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY)).toBe(true);
  }
});

test("without Omni credentials in the stack, the command's environment has no Omni credentials of the stack", async () => {
  const run = await recordOmniMachine({});
  expect(
    JSON.stringify(resourceNamed(run, "gpu-1-configuration").inputs["environment"] ?? {}),
  ).not.toContain("OMNI");
});
