import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import { readTalosconfig } from "../clients/talos/talosconfig";
import { secretValues } from "../clients/secret-files";
import type { FieldFinding } from "../clients/failure";
import { defined } from "../recipe/mapping";
import { takeVariable } from "./environment";

/** Environment variables with the contents of credentials. */
const variables = {
  talosconfig: "TALOS_GPU_TALOSCONFIG",
  kubeconfig: "TALOS_GPU_KUBECONFIG",
  omniEndpoint: "TALOS_GPU_OMNI_ENDPOINT",
  omniServiceAccountKey: "TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY",
} as const;

/** The credentials. The constructor removes them from the environment, so that no child process inherits them. */
export class Credentials {
  /** Content of the talosconfig that was passed; undefined if talosctl must find one itself. */
  readonly talosconfig: string | undefined;
  /** Content of the kubeconfig; undefined if no kubeconfig was passed or named, or if its file cannot be read. */
  readonly kubeconfig: string | undefined;
  /**
   * Variables for Omni's clients, from credentials that were passed. For a credential that was not passed, a child
   * process inherits the variable of this process' environment.
   */
  readonly omni: { OMNI_ENDPOINT?: string; OMNI_SERVICE_ACCOUNT_KEY?: string };
  /** Texts that the program's output must not contain. */
  readonly secrets: readonly string[];
  /** Findings about credentials that were passed but are empty. */
  readonly empty: readonly FieldFinding[];
  /** The finding about an unreadable file in KUBECONFIG; undefined if all files can be read. */
  readonly unreadableKubeconfig: FieldFinding | undefined;
  private readonly environment: NodeJS.ProcessEnv;

  constructor(environment: NodeJS.ProcessEnv = process.env) {
    this.environment = environment;
    const talosconfig = takeVariable(variables.talosconfig);
    const kubeconfig = takeVariable(variables.kubeconfig);
    const omniEndpoint = takeVariable(variables.omniEndpoint);
    const omniServiceAccountKey = takeVariable(variables.omniServiceAccountKey);
    const stated = { talosconfig, kubeconfig, omniEndpoint, omniServiceAccountKey };
    this.empty = Object.entries(stated).flatMap(([name, value]) =>
      value === "" ? [emptyCredential(name)] : [],
    );
    this.talosconfig = talosconfig;
    const kubeconfigSource =
      kubeconfig === undefined ? kubeconfigOf(environment) : { text: kubeconfig };
    this.kubeconfig = kubeconfigSource.text;
    this.unreadableKubeconfig = kubeconfigSource.problem;
    this.omni = defined({
      OMNI_ENDPOINT: omniEndpoint,
      OMNI_SERVICE_ACCOUNT_KEY: omniServiceAccountKey,
    });
    this.secrets = [
      ...secretValues(this.talosconfig ?? ""),
      ...secretValues(this.kubeconfig ?? ""),
      omniServiceAccountKey ?? environment["OMNI_SERVICE_ACCOUNT_KEY"] ?? "",
    ];
  }

  /** The talosconfig that talosctl uses, and its problem if it has one. */
  talosconfigInUse(): ReturnType<typeof readTalosconfig> {
    return readTalosconfig(this.talosconfig, this.environment);
  }
}

function kubeconfigOf({ KUBECONFIG }: NodeJS.ProcessEnv): {
  text?: string;
  problem?: FieldFinding;
} {
  if (KUBECONFIG === undefined || KUBECONFIG === "") return {};
  try {
    return { text: kubeconfigOfVariable(KUBECONFIG) };
  } catch (error) {
    return {
      problem: {
        field: "kubeconfig",
        problem: `a file listed in KUBECONFIG cannot be read (${(error as Error).message})`,
        why: "without a usable kubeconfig, the program cannot reach Kubernetes",
        remedy: "correct KUBECONFIG, or pass the kubeconfig's content",
      },
    };
  }
}

const emptyCredential = (field: string): FieldFinding => ({
  field,
  problem: "is empty",
  why: "the program does not fall back to the environment, which may name another cluster",
  remedy:
    "make sure that the Output or secret has the credential's content, or remove the argument",
});
