import type { ClusterSpec } from "../../spec/index";
import { plannedServers, workloadsOfKind } from "./index";

/** An object that a stack uses and does not make. */
export interface NeededObject {
  /** Path of the field in the stack that names the object. */
  field: string;
  kind: "Namespace" | "Secret";
  name: string;
  /** The Secret's namespace. */
  namespace?: string;
}

/**
 * Namespaces and Secrets that must exist before the stack's workloads start.
 *
 * @param namespacesOfStack Namespaces that the stack makes.
 */
export function neededObjects(
  spec: Pick<ClusterSpec, "workloads" | "monitoring">,
  namespacesOfStack: readonly string[],
): NeededObject[] {
  const { litellm } = spec.workloads ?? {};
  const servers = plannedServers(spec);
  const namespaceOf = (field: string): string | undefined =>
    servers.find((server) => server.field === field && server.active)?.namespace;
  const secrets: NeededObject[] = workloadsOfKind(spec, "vllm").flatMap(
    ({ field, spec: server }) => {
      const namespace = namespaceOf(field);
      if (namespace === undefined) return [];
      return (["huggingFaceToken", "apiKeySecret"] as const).flatMap((key) =>
        server[key] === undefined
          ? []
          : [
              {
                field: `${field}.${key}`,
                kind: "Secret" as const,
                name: server[key].name,
                namespace,
              },
            ],
      );
    },
  );
  const proxyNamespace = namespaceOf("workloads.litellm");
  if (litellm?.masterKeySecret !== undefined && proxyNamespace !== undefined) {
    // The proxy sends the keys of the servers, so it needs these Secrets in its own namespace.
    const keysOfServers = secrets
      .filter(
        ({ field, namespace }) => field.endsWith(".apiKeySecret") && namespace !== proxyNamespace,
      )
      .map(({ name }) => name);
    secrets.push(
      {
        field: "workloads.litellm.masterKeySecret",
        kind: "Secret",
        name: litellm.masterKeySecret,
        namespace: proxyNamespace,
      },
      ...[...new Set(keysOfServers)].map((name) => ({
        field: "workloads.litellm",
        kind: "Secret" as const,
        name,
        namespace: proxyNamespace,
      })),
    );
  }
  const made = new Set(namespacesOfStack);
  const used = [
    ...servers.map(({ field, namespace }) => ({ field: `${field}.namespace`, name: namespace })),
    ...Object.entries(spec.workloads?.pods ?? {}).map(([pod, { namespace }]) => ({
      field: `workloads.pods.${pod}.namespace`,
      name: namespace,
    })),
    ...(spec.monitoring?.dashboard === false
      ? []
      : [{ field: "monitoring.namespace", name: spec.monitoring?.namespace }]),
  ];
  const namespaces = new Map<string, NeededObject>();
  for (const { field, name } of used)
    if (name !== undefined && !made.has(name) && !namespaces.has(name))
      namespaces.set(name, { field, kind: "Namespace", name });
  return [...namespaces.values(), ...secrets];
}
