import type { GpuClusterArgs } from "talos-gpu";
import { registerCluster } from "../support/gpu-cluster";
import { isSecret } from "../support/graph";
import type { Run } from "../support/recorder";
import { kubeconfig, machineSecrets, talosconfig } from "../support/talos";

const ownedMachine = (index: number, role: "worker" | "controlplane", versionContract: string) => ({
  address: `10.0.0.${index}`,
  role,
  configuration: "owned" as const,
  versionContract,
  gpus: [],
});

const args: GpuClusterArgs = {
  talosVersion: "v1.13.9",
  kubernetesVersion: "v1.35.0",
  clusterName: "lab",
  clusterEndpoint: "https://10.0.0.10:6443",
  machines: {
    "cp-1": ownedMachine(1, "controlplane", "v1.13"),
    "worker-1": { ...ownedMachine(2, "worker", "v1.13"), gpus: [{ model: "RTX 5090" }] },
    "worker-2": ownedMachine(3, "worker", "v1.13"),
    "worker-3": ownedMachine(4, "worker", "v1.12"),
  },
  gpuOperator: { version: "v26.3.3" },
  talosconfig,
  machineSecrets,
  kubeconfig,
};

interface ConfigurationInputs {
  machineType: string;
  talosVersion: string;
}

let run: Run;
beforeAll(async () => {
  run = await registerCluster(args, {
    call: (_token, inputs) => {
      const { machineType, talosVersion } = inputs as ConfigurationInputs;
      return { machineConfiguration: `${machineType} ${talosVersion}` };
    },
  });
});

test("one call of the provider serves all machines with the same inputs", () => {
  const inputsOfCalls = run.calls.map(({ inputs }) => inputs as ConfigurationInputs);
  expect(
    inputsOfCalls.map(({ machineType, talosVersion }) => `${machineType} ${talosVersion}`).sort(),
  ).toEqual(["controlplane v1.13.0", "worker v1.12.0", "worker v1.13.0"]);
});

test("each machine gets the configuration of its own role and release", () => {
  const configurationApplies = run.resources.filter(({ type }) =>
    type.endsWith(":ConfigurationApply"),
  );
  const configurations = configurationApplies.map(({ name, inputs }) => [
    name,
    inputs.machineConfigurationInput,
  ]);
  expect(configurations.filter(([, configuration]) => !isSecret(configuration))).toEqual([]);
  expect(Object.fromEntries(configurations.map(([name, { value }]) => [name, value]))).toEqual({
    "lab-cp-1-configuration": "controlplane v1.13.0",
    "lab-worker-1-configuration": "worker v1.13.0",
    "lab-worker-2-configuration": "worker v1.13.0",
    "lab-worker-3-configuration": "worker v1.12.0",
  });
});
