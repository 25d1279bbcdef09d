import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";

/** Rule of a kind of workload for its namespace (`WorkloadDescriptor`). */
export interface NamespaceRule<Spec> {
  readonly server: { readonly name: string };
  namespaceMade(said: Spec, name: string): string | undefined;
}

/**
 * Name of a server's namespace. It is made unless the workload uses an existing one.
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
  const made = kind.namespaceMade(args, server);
  if (made === undefined) return args.namespace ?? server;
  return workloadNamespace(`${name}-namespace`, made, opts).metadata.name;
}

/**
 * A namespace for a workload, with the Pod Security level that its pods keep to. Talos enforces the same by default
 * (talos pkg/machinery/config: default admission control); other clusters may not.
 *
 * @param name of the resource.
 * @param wanted name of the namespace.
 */
export function workloadNamespace(
  name: string,
  wanted: string,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.Namespace {
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  return new k8s.core.v1.Namespace(name, { metadata: { name: wanted, labels } }, opts);
}

/**
 * Kinds that need no GPU, and so do not wait for the gate. A claim and a Service may be in a namespace that the stack
 * only names.
 */
const withoutGpu =
  /^kubernetes:(core\/v1:(Namespace|PersistentVolumeClaim|Service|ConfigMap)|networking.k8s.io\/v1:NetworkPolicy)$/;

/**
 * Makes resources without a GPU wait only for the resources that the operator's namespace waits for. Then the
 * machines before the workloads are complete, and the preflight has accepted the update. A resource in a namespace
 * that an earlier workload makes also waits for that namespace.
 *
 * Pulumi deletes by levels of dependencies, and goes on to the next level when all of one are gone (pulumi,
 * pkg/resource/deploy/step_generator.go, ScheduleDeletes). So a destroy waits once for all namespaces, each of which
 * takes Kubernetes five seconds at least (kubernetes, pkg/controller/namespace, namespaceDeletionGracePeriod).
 */
export function waitingFor(ahead: pulumi.Resource[]): pulumi.ResourceTransformation {
  const made = new Map<unknown, pulumi.Resource>();
  return ({ type, resource, props, opts }) => {
    if (!withoutGpu.test(type)) return undefined;
    const { name, namespace } = (props.metadata ?? {}) as { name?: unknown; namespace?: unknown };
    if (type.endsWith(":Namespace")) made.set(name, resource);
    const place = made.get(namespace);
    return {
      props,
      opts: pulumi.mergeOptions(opts, {
        dependsOn: place === undefined ? ahead : [...ahead, place],
      }),
    };
  };
}
