import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";

/** Rule of a kind of workload for its namespace (`WorkloadDescriptor`). */
export interface NamespaceRule<Spec> {
  readonly server: { readonly name: string };
  namespaceMade(spec: Spec, name: string): string | undefined;
}

/**
 * Name of a server's namespace, which this package creates unless the workload uses an existing one.
 *
 * @param name of the workload's component.
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
 * @param name of the resource.
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

/**
 * Kinds that need no GPU, and therefore do not wait for the gate. Claims and Services may be in a namespace that the
 * stack does not create.
 */
const withoutGpu =
  /^kubernetes:(core\/v1:(Namespace|PersistentVolumeClaim|Service|ConfigMap)|networking.k8s.io\/v1:NetworkPolicy)$/;

/**
 * Makes resources without a GPU wait only for the resources that the GPU provider's namespace waits for. Once these are
 * ready, the first machines are complete, and the preflight has accepted the update. A resource in a namespace that
 * another workload creates also waits for that namespace.
 *
 * Pulumi deletes by levels of dependencies, and starts a level when the previous one is gone (pulumi,
 * pkg/resource/deploy/step_generator.go, ScheduleDeletes). So a destroy waits only once for all namespaces; Kubernetes
 * needs at least five seconds to delete one (kubernetes, pkg/controller/namespace, namespaceDeletionGracePeriod).
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
