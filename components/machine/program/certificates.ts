import { X509Certificate } from "node:crypto";
import { parse } from "yaml";
import type { Finding } from "../../recipe/types";

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
    return undefined; // whoever is to take it will say so
  }
  const { validFrom, validTo } = certificate;
  if (new Date(validTo) < now) return `expired on ${day(validTo)}`;
  if (new Date(validFrom) > now) return `is valid from ${day(validFrom)} only; is this machine's clock right?`;
  return undefined;
}

const day = (date: string): string => new Date(date).toISOString().slice(0, 10);

/**
 * Client certificates of a talosconfig and a kubeconfig that are not in force: by name and date, since a machine answers such
 * a one with a broken connection, and Kubernetes with a code.
 *
 * @param talosconfig content; undefined: there is none.
 * @param kubeconfig content; undefined: there is none.
 */
export function credentialFindings(
  talosconfig: string | undefined,
  kubeconfig: string | undefined,
  now: Date,
): Omit<Finding, "check">[] {
  const talos = read(talosconfig) as { context?: string; contexts?: Record<string, { crt?: string }> };
  const kube = read(kubeconfig) as Kubeconfig;
  const context = kube["current-context"];
  const name = kube.contexts?.find((one) => one.name === context)?.context?.user;
  const user = kube.users?.find((one) => one.name === name)?.user;
  const finding = (field: string, who: string, crt: string | undefined, remedy: string): Omit<Finding, "check">[] => {
    const problem = crt === undefined ? undefined : certificateProblem(Buffer.from(crt, "base64").toString(), now);
    if (problem === undefined) return [];
    const why = "nothing was changed: the connection would be refused in the middle of an update";
    return [{ field, problem: `the client certificate of ${who} ${problem}`, why, remedy }];
  };
  return [
    ...finding(
      "talosconfig",
      `context ${talos.context}`,
      talos.contexts?.[talos.context ?? ""]?.crt,
      "make another (`talosctl config new`, or from the cluster's secrets) and give it",
    ),
    ...finding(
      "kubeconfig",
      `user ${name} (context ${context})`,
      user?.["client-certificate-data"],
      "fetch another (`talosctl kubeconfig`) and give it",
    ),
  ];
}

interface Kubeconfig {
  "current-context"?: string;
  contexts?: { name: string; context?: { user?: string } }[];
  users?: { name: string; user?: { "client-certificate-data"?: string } }[];
}

/** What is no YAML, whoever is to take it will say so. */
function read(text: string | undefined): object {
  try {
    const value: unknown = parse(text ?? "");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
