import type { ClusterSpec } from "../../spec/index";
import { namespacesMade, plannedServers, workloadsOfKind } from "./index";

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
 * @param providerNamespace Namespace of the GPU provider, if the stack makes it.
 */
export function neededObjects(
  spec: Pick<ClusterSpec, "workloads" | "monitoring">,
  providerNamespace: string | undefined,
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
    const keysOfServers = secrets.filter(({ field }) => field.endsWith(".apiKeySecret"));
    secrets.push(
      {
        field: "workloads.litellm.masterKeySecret",
        kind: "Secret",
        name: litellm.masterKeySecret,
        namespace: proxyNamespace,
      },
      ...keysOfServers.map((secret) => ({ ...secret, namespace: proxyNamespace })),
    );
  }
  const made = new Set([
    providerNamespace,
    ...namespacesMade(spec).map(({ namespace }) => namespace),
  ]);
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
