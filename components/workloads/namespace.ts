import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";

/** The fields of a `WorkloadDescriptor` that decide about the workload's namespace. */
export interface NamespaceRule<Spec> {
  readonly server: { readonly name: string };
  namespaceMade(spec: Spec, name: string): string | undefined;
}

/**
 * Name of a server's namespace. Also creates the namespace, if the server does not use an existing one.
 *
 * @param name name of the workload's component.
 */
export function namespaceOf<Spec extends { namespace?: string; serverName?: string }>(
  name: string,
  kind: NamespaceRule<Spec>,
  args: Spec,
  opts: pulumi.CustomResourceOptions,
): pulumi.Input<string> {
  const server = args.serverName ?? kind.server.name;
  const namespaceToCreate = kind.namespaceMade(args, server);
  if (namespaceToCreate === undefined) return args.namespace ?? server;
  return workloadNamespace(`${name}-namespace`, namespaceToCreate, opts).metadata.name;
}

/**
 * A namespace for a workload, with the Pod Security level that its pods need. Talos enforces this level by default
 * (talos pkg/machinery/config: default admission control); other clusters may not.
 *
 * @param name name of the resource.
 * @param namespace name of the namespace.
 */
export function workloadNamespace(
  name: string,
  namespace: string,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.Namespace {
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  return new k8s.core.v1.Namespace(name, { metadata: { name: namespace, labels } }, opts);
}

/** Kinds of objects that use no GPU, so they need not wait for the smoke tests. */
const withoutGpu =
  /^kubernetes:(core\/v1:(Namespace|PersistentVolumeClaim|Service|ConfigMap)|networking.k8s.io\/v1:NetworkPolicy)$/;

/**
 * Makes objects that use no GPU wait for the resources in `ahead`, for which the GPU provider's namespace also waits.
 * When these are ready, the preflight has accepted the update, and the first machines are complete. An object in a
 * namespace that the stack creates also waits for this namespace.
 *
 * Pulumi deletes the resources of one dependency level at the same time, and starts the next level when all are gone
 * (pulumi, pkg/resource/deploy/step_generator.go, ScheduleDeletes). Kubernetes needs at least five seconds to delete a
 * namespace (kubernetes, pkg/controller/namespace, namespaceDeletionGracePeriod). All namespaces are on one level, so a
 * destroy waits only once for such a deletion.
 */
export function waitingFor(ahead: pulumi.Resource[]): pulumi.ResourceTransformation {
  const createdNamespaces = new Map<unknown, pulumi.Resource>();
  return ({ type, resource, props, opts }) => {
    if (!withoutGpu.test(type)) return undefined;
    const { name, namespace } = (props.metadata ?? {}) as { name?: unknown; namespace?: unknown };
    if (type.endsWith(":Namespace")) createdNamespaces.set(name, resource);
    const ownNamespace = createdNamespaces.get(namespace);
    return {
      props,
      opts: pulumi.mergeOptions(opts, {
        dependsOn: ownNamespace === undefined ? ahead : [...ahead, ownNamespace],
      }),
    };
  };
}
