import { createHash } from "node:crypto";
import * as semver from "semver";
import {
  bundleOf,
  type MachineSecrets,
  machineSecretsOf,
  type TalosClient,
  talosClientOf,
} from "../../../components/credentials/texts";
import { currentOf } from "../../kubernetes/kubeconfig";
import { limit } from "../../session/limit";
import type { Properties, ResourceCall } from "../provider";
import { containsUnknown, UNKNOWN } from "../values";
import { contractOf, knownContract, newestContract } from "./contract";
import { maintenanceOf, onMachine, runTalosctl, type Tools, repeatUntilDone } from "./machine";

// Sources: terraform-provider-talos v0.11.0, pkg/talos. Nothing is read back from a machine, and a deletion leaves it
// as it is.

/** One kind of resource. Its schema marks secret outputs (`withSecretOutputs` in index.ts). */
export interface Resource {
  /** Changed arguments that force a replacement. Default: none. */
  replaces?(olds: Properties, news: Properties): string[];
  /** Creates it, or updates one that has an ID already. */
  make(tools: Tools, call: ResourceCall): Promise<{ id: string; outputs: Properties }>;
}

/** Default release whose features are used (pulumi-talos#235). */
const defaultTalosVersion = newestContract;
/** Image that a generated configuration installs, unless patched. */
const defaultInstallImage = "ghcr.io/siderolabs/installer:v1.13.0";

/**
 * talos_machine_secrets_resource.go: created once, and replaced only if the arguments name an older release, which
 * needs different secrets (PlanModifyString). The renewal of a client certificate in its last month is not emulated.
 */
const secrets: Resource = {
  replaces: (olds, news) => {
    const [oldContract, newContract] = [olds, news].map(({ talosVersion = defaultTalosVersion }) =>
      contractOf(talosVersion),
    );
    return oldContract && newContract && semver.lt(newContract, oldContract)
      ? ["talosVersion"]
      : [];
  },

  make: async (tools, { id, inputs, oldOutputs, preview, signal }) => {
    const { talosVersion = defaultTalosVersion } = inputs;
    const { machineSecrets, clientConfiguration } =
      id === undefined ? await makeSecrets() : oldOutputs;
    return {
      id: "machine_secrets",
      outputs: { talosVersion, machineSecrets, clientConfiguration },
    };

    async function makeSecrets(): Promise<Properties> {
      if (preview) return { machineSecrets: UNKNOWN, clientConfiguration: UNKNOWN };
      const args = (): string[] => [
        "gen",
        "secrets",
        "--talos-version",
        String(talosVersion),
        "--output-file",
        "-",
      ];
      const { stdout: bundle } = await runTalosctl(tools, { args, signal });
      return {
        machineSecrets: machineSecretsOf(bundle),
        clientConfiguration: await clientOf(tools, bundle, signal),
      };
    }
  },
};

/** A client certificate from a bundle's authority. It does not depend on the cluster's name and address. */
async function clientOf(
  tools: Tools,
  bundle: string,
  signal: AbortSignal,
): Promise<TalosClient["configuration"]> {
  const unusedNames = ["cluster", "https://127.0.0.1:6443"] as const;
  return talosClientOf(
    await generateConfiguration(tools, bundle, [], ...unusedNames, "talosconfig", [], signal),
  ).configuration;
}

/** Configuration that `talosctl gen config` makes from a bundle and patches. */
async function generateConfiguration(
  tools: Tools,
  bundle: string,
  patches: readonly string[],
  name: string,
  endpoint: string,
  type: "controlplane" | "worker" | "talosconfig",
  options: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const patch = type === "worker" ? "--config-patch-worker" : "--config-patch-control-plane";
  const { stdout } = await runTalosctl(tools, {
    contents: [bundle, ...patches],
    args: ([file = "", ...files]) => [
      "gen",
      "config",
      name,
      endpoint,
      "--with-secrets",
      file,
      ...options,
      ...files.flatMap((patchFile) => [patch, `@${patchFile}`]),
      "--output-types",
      type,
      "--output",
      "-",
    ],
    signal,
  });
  return stdout;
}

/**
 * The function `getConfiguration`: a machine's configuration, as talosctl generates it (pkg/talos/util.go, generate).
 */
export async function getConfiguration(
  tools: Tools,
  args: Properties,
  signal: AbortSignal,
): Promise<Properties> {
  const type = args["machineType"];
  if (type !== "controlplane" && type !== "worker")
    throw new Error(`machineType: "${String(type)}" is neither controlplane nor worker`);
  for (const name of ["clusterName", "clusterEndpoint", "machineSecrets"])
    if (!args[name]) throw new Error(`${name}: missing; it is required`);
  const { clusterName, clusterEndpoint, machineSecrets, talosVersion = defaultTalosVersion } = args;
  const kubernetesVersion = args["kubernetesVersion"] as string | undefined;
  const patches = (args["configPatches"] as string[] | undefined) ?? [];
  const bundle = bundleOf(machineSecrets as MachineSecrets);
  const options = [
    "--talos-version",
    knownContract(talosVersion),
    ...(kubernetesVersion ? ["--kubernetes-version", kubernetesVersion.replace(/^v/, "")] : []),
    "--install-image",
    defaultInstallImage,
    "--install-disk",
    "/dev/sda",
    `--with-docs=${args["docs"] === true}`,
    `--with-examples=${args["examples"] === true}`,
  ];
  const clusterNames = [String(clusterName), String(clusterEndpoint)] as const;
  const machineConfiguration = asPrinted(
    await generateConfiguration(tools, bundle, patches, ...clusterNames, type, options, signal),
  );
  return { ...args, id: clusterName, talosVersion, machineSecrets, machineConfiguration };
}

/** talosctl prints the configuration with one additional line end. */
const asPrinted = (stdout: string): string => `${stdout.trimEnd()}\n`;

/**
 * talos_machine_configuration_apply_resource.go: the whole configuration is merged here and sent. The provider never
 * reads the machine's configuration, so it sees no drift.
 */
const configurationApply: Resource = {
  make: async (tools, call) => {
    const { inputs, preview, signal } = call;
    const id = "machine_configuration_apply";
    const input = inputs["machineConfigurationInput"];
    // A null patch is skipped (configPatchesAsStrings).
    const patches = ((inputs["configPatches"] ?? []) as string[]).filter((patch) => patch !== null);
    const outputs: Properties = {
      ...withEndpoint(inputs),
      applyMode: inputs["applyMode"] ?? "auto",
    };
    if (containsUnknown([input, patches, inputs["node"]])) {
      const unknown = ["machineConfiguration", "machineConfigurationHash", "resolvedApplyMode"];
      return {
        id,
        outputs: { ...outputs, ...Object.fromEntries(unknown.map((name) => [name, UNKNOWN])) },
      };
    }
    // A patch that cannot be merged already fails the preview.
    const { stdout } = await runTalosctl(tools, {
      contents: [String(input), ...patches],
      args: ([file = "", ...files]) => [
        "machineconfig",
        "patch",
        file,
        ...files.flatMap((patch) => ["--patch", `@${patch}`]),
      ],
      signal,
    });
    const machineConfiguration = asPrinted(stdout);
    const resolvedApplyMode = await resolveMode(
      tools,
      call,
      String(outputs["applyMode"]),
      machineConfiguration,
    );
    if (!preview) {
      const mode = resolvedApplyMode.replace("_", "-");
      const args = ([file = ""]: string[]): string[] => [
        "apply-config",
        "--file",
        file,
        "--mode",
        mode,
      ];
      const maintenance = await maintenanceOf(tools, call);
      const command = { contents: [machineConfiguration], args, maintenance };
      await repeatUntilDone(tools, call, "applying the configuration", command);
    }
    const machineConfigurationHash = createHash("sha256")
      .update(machineConfiguration)
      .digest("hex");
    return {
      id,
      outputs: { ...outputs, machineConfiguration, machineConfigurationHash, resolvedApplyMode },
    };
  },
};

/**
 * Answers to a dry run that the provider reads as a reboot (dryRunNeedsReboot). Talos before 1.13 names no mode in
 * maintenance mode, and none is REBOOT, the first of the enumeration (talos v1.12.6,
 * internal/app/maintenance/server.go, ApplyConfiguration).
 */
const rebootAnswers =
  /with a reboot|is running in maintenance mode and does not have a config yet/i;

/**
 * Resolves `staged_if_needing_reboot` by a dry run on the machine. A stack without an answer gets `auto`, with a
 * warning.
 */
async function resolveMode(
  tools: Tools,
  call: ResourceCall,
  mode: string,
  configuration: string,
): Promise<string> {
  if (mode !== "staged_if_needing_reboot") return mode;
  const { machineConfiguration: previousConfiguration, resolvedApplyMode: resolved } =
    call.oldOutputs;
  if (previousConfiguration === configuration && typeof resolved === "string") return resolved;
  const args = ([file = ""]: string[]): string[] => [
    "apply-config",
    "--file",
    file,
    "--mode",
    "auto",
    "--dry-run",
  ];
  if (containsUnknown(call.inputs["clientConfiguration"])) return "auto";
  try {
    const maintenance = await maintenanceOf(tools, call);
    const { stdout, stderr } = await onMachine(tools, call, {
      contents: [configuration],
      args,
      maintenance,
    });
    return rebootAnswers.test(stdout + stderr) ? "staged" : "auto";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const node = String(call.inputs["node"]);
    call.log(
      "warning",
      `applyMode: it is not known whether ${node} would reboot (${reason}): auto is used`,
    );
    return "auto";
  }
}

/** Runs once. Later updates compare nothing, and a deletion undoes nothing. */
const bootstrap: Resource = {
  make: async (tools, call) => {
    if (call.id === undefined && !call.preview)
      await repeatUntilDone(tools, call, "bootstrapping etcd", { args: () => ["bootstrap"] });
    return { id: "machine_bootstrap", outputs: withEndpoint(call.inputs) };
  },
};

/**
 * talos_cluster_kubeconfig_resource.go: fetched once, and kept after changes of inputs (Update). Fetching it again
 * before its certificate expires is not emulated.
 */
const kubeconfig: Resource = {
  make: async (tools, call) => {
    const { certificateRenewalDuration = "720h" } = call.inputs;
    const { id, kubeconfigRaw, kubernetesClientConfiguration } = await fetchOnce();
    const outputs = { ...withEndpoint(call.inputs), certificateRenewalDuration };
    return { id, outputs: { ...outputs, kubeconfigRaw, kubernetesClientConfiguration } };

    async function fetchOnce(): Promise<Properties & { id: string }> {
      if (call.id !== undefined) return { ...call.oldOutputs, id: call.id };
      if (call.preview)
        return { id: "", kubeconfigRaw: UNKNOWN, kubernetesClientConfiguration: UNKNOWN };
      const args = (): string[] => ["kubeconfig", "-", "--merge=false"];
      const { stdout } = await repeatUntilDone(tools, call, "fetching the kubeconfig", { args });
      return kubeconfigOutputs(tools.kubeconfig?.(stdout) ?? stdout);
    }
  },
};

const withEndpoint = (inputs: Properties): Properties => ({
  ...inputs,
  endpoint: inputs["endpoint"] ?? inputs["node"],
});

/** The current context of a kubeconfig, as the resource's outputs; `id` is the cluster's name. */
function kubeconfigOutputs(kubeconfigRaw: string): Properties & { id: string } {
  const { name: id, cluster, user: client } = currentOf(kubeconfigRaw);
  return {
    id,
    kubeconfigRaw,
    kubernetesClientConfiguration: {
      host: cluster["server"],
      caCertificate: cluster["certificate-authority-data"],
      clientCertificate: client["client-certificate-data"],
      clientKey: client["client-key-data"],
    },
  };
}

/**
 * talos_image_factory_schematic_resource.go. The engine ignores the ID of an update and keeps that of the creation, and
 * nothing asks for a replacement. So `id` becomes outdated, as with the real provider (pulumi#3729). The real provider
 * drops unknown fields before it calls the Factory. Here the Factory gets and refuses them.
 */
const schematic: Resource = {
  make: async (tools, { inputs, preview, signal }) => {
    if (preview) return { id: "", outputs: inputs };
    const timeLimit = limit(30_000, signal);
    try {
      const response = await fetch(`${tools.factory}/schematics`, {
        method: "POST",
        body: (inputs["schematic"] as string | undefined) ?? "customization: {}",
        headers: { "Content-Type": "application/yaml" },
        signal: timeLimit.signal,
      });
      if (!response.ok)
        throw new Error(
          `Image Factory, /schematics: ${response.status}: ${(await response.text()).trim()}`,
        );
      return { id: ((await response.json()) as { id: string }).id, outputs: inputs };
    } finally {
      timeLimit.release();
    }
  },
};

/** Each kind by its type. */
export const resources: Readonly<Record<string, Resource>> = {
  "talos:machine/secrets:Secrets": secrets,
  "talos:machine/configurationApply:ConfigurationApply": configurationApply,
  "talos:machine/bootstrap:Bootstrap": bootstrap,
  "talos:cluster/kubeconfig:Kubeconfig": kubeconfig,
  "talos:imageFactory/schematic:Schematic": schematic,
};
