import type * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { ServerAccess } from "./gpu-access";
import { namespaceOf, type NamespaceRule } from "./namespace";
import { type Server, server } from "./server";
import { volume } from "./volume";
import { volumeName } from "../recipe/stack/workloads/descriptor";

/** Arguments that every server on GPUs with a volume has. */
export interface StoringArgs extends ServerAccess {
  active?: boolean;
  namespace?: string;
  storage?: string;
  storageClass?: string;
}

/** What differs from kind to kind. */
export interface Storing {
  /** Size of the volume where none is given, e.g. `30Gi`. */
  storage: string;
  /** The pod, with this volume. It may be ready within so many seconds. */
  pod: (
    volume: k8s.core.v1.PersistentVolumeClaim,
    readyWithin: number,
  ) => pulumi.Input<k8s.types.input.core.v1.PodSpec>;
}

/** A server on GPUs that keeps data: namespace, volume, Deployment and Service. */
export function storingServer<Args extends StoringArgs>(
  name: string,
  kind: NamespaceRule<NoInfer<Args>> & {
    readonly server: { readonly name: string; readonly port: number };
    readonly keeps: string;
  },
  args: Args,
  { storage, pod }: Storing,
  opts: pulumi.CustomResourceOptions,
): Server {
  const { port } = kind.server;
  const { serverName = kind.server.name } = args;
  const { active = true, readyWithin = 1200, exposure, storageClass } = args;
  const namespace = namespaceOf(name, kind, args, opts);
  const kept = volume(
    `${name}-${kind.keeps}`,
    { name: volumeName(serverName, kind.keeps), namespace, storage: args.storage ?? storage, storageClass },
    opts,
  );
  const settings = { name: serverName, namespace, port, active, readyWithin, exposure };
  return server(name, { ...settings, pod: pod(kept, readyWithin) }, opts);
}
