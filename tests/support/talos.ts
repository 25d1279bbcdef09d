import { createHash } from "node:crypto";
import { machineSecretsOf, talosClientOf } from "../../components/credentials/texts";

/**
 * Invented credentials in the form in which `talosctl gen secrets` and `talosctl gen config` of v1.13.0 write
 * them. They give access to nothing.
 */

const certificateAndKey = "{crt: Y2VydA==, key: bG9uZy1zZWNyZXQ=}";

export const machineSecrets = `cluster:
    id: aWQ=
    secret: bG9uZy1zZWNyZXQ=
secrets:
    bootstraptoken: zp8du1.0gn7ja4tmx6qulju
    secretboxencryptionsecret: bG9uZy1zZWNyZXQ=
trustdinfo:
    token: 7f96mj.ns0jpllwd6ye0qv1
certs:
    etcd: ${certificateAndKey}
    k8s: ${certificateAndKey}
    k8saggregator: ${certificateAndKey}
    k8sserviceaccount: {key: bG9uZy1zZWNyZXQ=}
    os: ${certificateAndKey}
`;

export const talosconfig = `context: lab
contexts:
    lab:
        endpoints: [10.0.0.10]
        ca: Y2E=
        crt: Y2VydA==
        key: bG9uZy1zZWNyZXQ=
    other:
        endpoints: []
        ca: Y2E=
        crt: Y2VydA==
        key: bG9uZy1zZWNyZXQ=
`;

export const kubeconfig =
  "apiVersion: v1\nkind: Config\nclusters: [{ name: lab, cluster: { server: 'https://192.0.2.1:6443' } }]\n";

/** Answers of the machine program and the Talos provider, for a recording monitor. */
export function machineOutputs({
  type,
  name,
  inputs,
}: {
  type: string;
  name: string;
  inputs: Record<string, any>;
}): Record<string, any> {
  if (type === "command:local:Command" && name.endsWith("-upgrade")) {
    const task = JSON.parse(inputs.stdin as string) as Record<string, unknown>;
    // An Omni machine's schematic is not in its task.
    const { machine, talosVersion, schematicId = "0".repeat(64), driverVersion = null } = task;
    const answer = {
      machine,
      talosVersion,
      schematicId,
      driverVersion,
      bootId: "b",
      rebooted: true,
      phases: [],
    };
    return { stdout: `${JSON.stringify(answer)}\n` };
  }
  const gateAnswer = gateOutputs({ type, name, inputs });
  if (gateAnswer !== undefined) return gateAnswer;
  if (type === "talos:machine/secrets:Secrets") {
    const { configuration } = talosClientOf(talosconfig);
    return { machineSecrets: machineSecretsOf(machineSecrets), clientConfiguration: configuration };
  }
  if (type === "talos:cluster/kubeconfig:Kubeconfig") return { kubeconfigRaw: kubeconfig };
  return {};
}

/** The gate's answer if every test of its task has passed; undefined for any other resource. */
export function gateOutputs({
  type,
  name,
  inputs,
}: {
  type: string;
  name: string;
  inputs: Record<string, any>;
}) {
  if (type !== "command:local:Command" || !name.endsWith("-gate")) return undefined;
  const { tests } = JSON.parse(inputs.stdin as string) as { tests: { machine: string }[] };
  return {
    stdout: `${JSON.stringify({ passed: tests.map(({ machine }) => machine), untested: {} })}\n`,
  };
}

/** Answer of a function of the Talos provider, by the function's token. */
export function talosFunctionResult(token: string): Record<string, unknown> {
  return token.includes("getConfiguration")
    ? { machineConfiguration: "machine: { type: worker }\n" }
    : {};
}

/** Answers of the providers, the machine program and the Image Factory, as options of a recorded run. */
export const providerAnswers = {
  outputs: machineOutputs,
  // The Image Factory makes a schematic's id from the checksum of its text.
  ids: ({ type, inputs }: { type: string; inputs: Record<string, any> }) =>
    type.endsWith(":Schematic")
      ? createHash("sha256")
          .update(inputs.schematic as string)
          .digest("hex")
      : undefined,
  call: talosFunctionResult,
};
