import { X509Certificate } from "node:crypto";
import { boundedYaml } from "../recipe/rules/yaml";
import { asText, flat, valueAt } from "../recipe/mapping";
import { CallError, type FieldFinding } from "./failure";
import { certificateIn, entryOf } from "./kubeconfig-entry";

/**
 * Why a client certificate is not valid now, for messages; undefined if it is valid, or cannot be read.
 *
 * @param pem the certificate, as PEM.
 */
export function certificateProblem(pem: string, now: Date): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return undefined; // the credential's reader reports that
  }
  const { validFrom, validTo } = certificate;
  if (new Date(validTo) < now) return `expired on ${day(validTo)}`;
  if (new Date(validFrom) > now)
    return `is not valid before ${day(validFrom)}: check the clock of this computer`;
  return undefined;
}

const day = (date: string): string => new Date(date).toISOString().slice(0, 10);

/**
 * Findings about client certificates in talosconfig and kubeconfig that are not valid now, with name and date. Without
 * these findings the user would see only a broken connection to the machine, or an HTTP code from Kubernetes.
 *
 * @param talosconfig content of the talosconfig; undefined if there is none.
 * @param kubeconfig content of the kubeconfig; undefined if there is none.
 */
export function certificateFindings(
  talosconfig: string | undefined,
  kubeconfig: string | undefined,
  now: Date,
): FieldFinding[] {
  const [talos, kubernetes] = [read(talosconfig), read(kubeconfig)];
  const contextOfTalos = asText(valueAt(talos, "context"));
  const context = asText(valueAt(kubernetes, "current-context"));
  const user = asText(valueAt(entryOf(kubernetes, "contexts", context), "context", "user"));
  const problemOf = (pem: string | undefined): string | undefined =>
    pem === undefined ? undefined : certificateProblem(pem, now);
  const talosProblem = problemOf(decoded(valueAt(talos, "contexts", contextOfTalos, "crt")));
  const kubernetesProblem = problemOf(
    certificateOf(valueAt(entryOf(kubernetes, "users", user), "user")),
  );
  const why = "the connection would be refused in the middle of an update. Nothing was changed";
  return flat<FieldFinding>([
    talosProblem !== undefined
      ? {
          field: "talosconfig",
          problem: `the client certificate of context ${contextOfTalos} ${talosProblem}`,
          why,
          remedy:
            "generate a new talosconfig from the cluster's secrets (`talosctl gen config --with-secrets`), or by `talosctl config new` with a talosconfig that is still valid",
        }
      : undefined,
    kubernetesProblem !== undefined
      ? {
          field: "kubeconfig",
          problem: `the client certificate of user ${user} (context ${context}) ${kubernetesProblem}`,
          why,
          remedy: "replace the kubeconfig with a new one from `talosctl kubeconfig`",
        }
      : undefined,
  ]);
}

/**
 * Whether a call to a machine failed because the talosconfig's CA did not sign the machine's certificate. A machine in
 * maintenance mode has such a certificate: a self-signed one.
 */
export const isSelfSigned = (error: unknown): boolean =>
  error instanceof CallError && /unknown authority/.test(error.message);

/** The certificate of a kubeconfig's user; undefined if the user has none, or its file cannot be read. */
function certificateOf(user: unknown): string | undefined {
  try {
    return certificateIn(user, "client-certificate");
  } catch {
    return undefined; // the credential's reader reports that
  }
}

const decoded = (crt: unknown): string | undefined =>
  typeof crt === "string" ? Buffer.from(crt, "base64").toString() : undefined;

const rightKubeconfig =
  "replace the kubeconfig with that of the machines' cluster, from `talosctl kubeconfig`";

/**
 * The mistake in a kubeconfig that a refused call to Kubernetes shows, by the words of the client
 * (clients/kubernetes/error.ts); undefined if the call shows none.
 */
function foreignKubeconfig(message: string): Pick<FieldFinding, "problem" | "remedy"> | undefined {
  if (/does not accept the credentials/.test(message))
    return {
      problem: "the Kubernetes API does not accept the user of the kubeconfig",
      remedy: rightKubeconfig,
    };
  if (/the kubeconfig's CA did not sign/.test(message))
    return {
      problem:
        "it belongs to another cluster: the kubeconfig's CA did not sign the API server's certificate",
      remedy: `${rightKubeconfig}. If it is the right one and has no certificate-authority-data, add this field: Node does not use the CAs of this computer`,
    };
  return undefined;
}

/**
 * The mistake in credentials that a refused call shows, e.g. that they belong to another cluster. Undefined if the call
 * shows none.
 *
 * @param message the call's error.
 * @param talosconfig content of the talosconfig; undefined if it is unknown.
 */
export function foreignCredentials(
  message: string,
  talosconfig?: string,
): FieldFinding | undefined {
  if (message.startsWith("Kubernetes: ")) {
    const mistake = foreignKubeconfig(message);
    if (mistake === undefined) return undefined;
    return {
      field: "kubeconfig",
      problem: `${mistake.problem} (${message})`,
      why: "later calls would be refused, or would change another cluster",
      remedy: mistake.remedy,
    };
  }
  if (!/x509|unknown authority|tls: |Unauthenticated|PermissionDenied/i.test(message))
    return undefined;
  const currentContext = valueAt(read(talosconfig), "context");
  const context = typeof currentContext === "string" ? `context ${currentContext}` : "it";
  return {
    field: "talosconfig",
    problem: `${context} belongs to another cluster, or lacks the rights for this call: ${message}`,
    why: "later calls would be refused, or would change another cluster",
    remedy:
      "check the machine's address, and use an administrator's talosconfig for the machine's cluster",
  };
}

/** A parsed YAML text; undefined if the text is not YAML. Another check reports that. */
function read(text = ""): unknown {
  try {
    return boundedYaml(text);
  } catch {
    return undefined;
  }
}
