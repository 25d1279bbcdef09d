import type { GpuClusterArgs } from "talos-gpu";
import { registerCluster } from "../support/gpu-cluster";
import { isSecret } from "../support/graph";
import type { Run } from "../support/recorder";
import { kubeconfig, machineSecrets, talosconfig } from "../support/talos";

const owned = (index: number, role: "worker" | "controlplane", versionContract: string) => ({
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
    "cp-1": owned(1, "controlplane", "v1.13"),
    "worker-1": { ...owned(2, "worker", "v1.13"), gpus: [{ model: "RTX 5090" }] },
    "worker-2": owned(3, "worker", "v1.13"),
    "worker-3": owned(4, "worker", "v1.12"),
  },
  gpuOperator: { version: "v26.3.3" },
  talosconfig,
  machineSecrets,
  kubeconfig,
};

interface Asked {
  machineType: string;
  talosVersion: string;
}

let run: Run;
beforeAll(async () => {
  run = await registerCluster(args, {
    call: (_token, inputs) => {
      const { machineType, talosVersion } = inputs as Asked;
      return { machineConfiguration: `${machineType} ${talosVersion}` };
    },
  });
});

test("one call of the provider serves all machines with the same inputs", () => {
  const asked = run.calls.map(({ inputs }) => inputs as Asked);
  expect(
    asked.map(({ machineType, talosVersion }) => `${machineType} ${talosVersion}`).sort(),
  ).toEqual(["controlplane v1.13.0", "worker v1.12.0", "worker v1.13.0"]);
});

test("each machine gets the configuration of its own role and release", () => {
  const configured = run.resources.filter(({ type }) => type.endsWith(":ConfigurationApply"));
  const given = configured.map(({ name, inputs }) => [name, inputs.machineConfigurationInput]);
  expect(given.filter(([, configuration]) => !isSecret(configuration))).toEqual([]);
  expect(Object.fromEntries(given.map(([name, { value }]) => [name, value]))).toEqual({
    "lab-cp-1-configuration": "controlplane v1.13.0",
    "lab-worker-1-configuration": "worker v1.13.0",
    "lab-worker-2-configuration": "worker v1.13.0",
    "lab-worker-3-configuration": "worker v1.12.0",
  });
});
