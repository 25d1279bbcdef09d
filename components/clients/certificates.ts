import { X509Certificate } from "node:crypto";
import { boundedYaml } from "../recipe/rules/yaml";
import { asText, flat, valueAt } from "../recipe/mapping";
import type { FieldFinding } from "./failure";
import { certificateIn, entryOf } from "./kubeconfig-entry";

/**
 * Whether a client certificate is in force, in words for the user; undefined when it is, or cannot be read.
 *
 * @param pem the certificate, as PEM.
 */
export function certificateProblem(pem: string, now: Date): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return undefined; // its reader will say so
  }
  const { validFrom, validTo } = certificate;
  if (new Date(validTo) < now) return `expired on ${day(validTo)}`;
  if (new Date(validFrom) > now)
    return `is valid from ${day(validFrom)} only; is this machine's clock right?`;
  return undefined;
}

const day = (date: string): string => new Date(date).toISOString().slice(0, 10);

/**
 * Client certificates of a talosconfig and a kubeconfig that are not in force: by name and date, since a machine
 * answers such a one with a broken connection, and Kubernetes with a code.
 *
 * @param talosconfig content; undefined: there is none.
 * @param kubeconfig content; undefined: there is none.
 */
export function certificateFindings(
  talosconfig: string | undefined,
  kubeconfig: string | undefined,
  now: Date,
): FieldFinding[] {
  const [talos, kube] = [read(talosconfig), read(kubeconfig)];
  const contextOfTalos = asText(valueAt(talos, "context"));
  const context = asText(valueAt(kube, "current-context"));
  const user = asText(valueAt(entryOf(kube, "contexts", context), "context", "user"));
  const problemOf = (pem: string | undefined): string | undefined =>
    pem === undefined ? undefined : certificateProblem(pem, now);
  const ofTalos = problemOf(decoded(valueAt(talos, "contexts", contextOfTalos, "crt")));
  const ofKubernetes = problemOf(certificateOf(valueAt(entryOf(kube, "users", user), "user")));
  const why = "nothing was changed: the connection would be refused in the middle of an update";
  return flat<FieldFinding>([
    ofTalos !== undefined && {
      field: "talosconfig",
      problem: `the client certificate of context ${contextOfTalos} ${ofTalos}`,
      why,
      remedy: "make another (`talosctl config new`, or from the cluster's secrets) and give it",
    },
    ofKubernetes !== undefined && {
      field: "kubeconfig",
      problem: `the client certificate of user ${user} (context ${context}) ${ofKubernetes}`,
      why,
      remedy: "fetch another (`talosctl kubeconfig`) and give it",
    },
  ]);
}

/** The certificate of a kubeconfig's user; undefined where it has none, or its file cannot be read. */
function certificateOf(user: unknown): string | undefined {
  try {
    return certificateIn(user, "client-certificate");
  } catch {
    return undefined; // its reader will say so
  }
}

const decoded = (crt: unknown): string | undefined =>
  typeof crt === "string" ? Buffer.from(crt, "base64").toString() : undefined;

/** Mistake of the kubeconfig that a refused call of Kubernetes shows; undefined if it shows none. */
function foreignKubeconfig(message: string): string | undefined {
  if (/Unauthorized|does not know the credentials/i.test(message))
    return "the Kubernetes API does not know its user, or knows it no longer";
  if (/certificate|self.signed|x509/i.test(message))
    return "it is of another cluster: the API server shows a certificate that its authority did not sign";
  return undefined;
}

/**
 * Mistake of the credentials that a refused call shows: which credentials they are, and that the server belongs to
 * another cluster. Undefined if the call shows none.
 *
 * @param message the call's error.
 * @param talosconfig content; undefined where it is not known.
 */
export function foreignCredentials(
  message: string,
  talosconfig?: string,
): FieldFinding | undefined {
  if (message.startsWith("Kubernetes: ")) {
    const problem = foreignKubeconfig(message);
    if (problem === undefined) return undefined;
    return {
      field: "kubeconfig",
      problem: `${problem} (${message})`,
      why: "nothing was changed: what follows would be refused, or reach another cluster",
      remedy: "fetch the cluster's own (`talosctl kubeconfig`) and give it",
    };
  }
  if (!/x509|unknown authority|tls: |Unauthenticated|PermissionDenied/i.test(message))
    return undefined;
  const said = valueAt(read(talosconfig), "context");
  const context = typeof said === "string" ? `its context ${said}` : "it";
  return {
    field: "talosconfig",
    problem: `${context} is of another cluster, or its rights do not reach: ${message}`,
    why: "nothing was changed: what follows would be refused, or reach another cluster",
    remedy:
      "compare the machine's address, and give the talosconfig of its own cluster (an administrator's)",
  };
}

/** Undefined of a text that is no YAML: its reader will say so. */
function read(text = ""): unknown {
  try {
    return boundedYaml(text);
  } catch {
    return undefined;
  }
}
