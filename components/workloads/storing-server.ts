import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { gpuRequest } from "../kubernetes/gpu-request";
import { classNamed, podTolerations } from "../kubernetes/pods";
import { defined } from "../recipe/mapping";
import type { ClaimSpec } from "../recipe/spec/index";
import { volumeName } from "../recipe/stack/workloads/descriptor";
import type { ServerAccess } from "./gpu-access";
import { namespaceOf, type NamespaceRule } from "./namespace";
import { type Server, server } from "./server";
import { serverGroup } from "./server-group";

/** Arguments of every GPU server with a volume. */
export interface StoringArgs extends ServerAccess {
  active?: boolean;
  namespace?: string;
  storage?: string;
  storageClass?: string;
  gpus?: number;
  claim?: ClaimSpec;
  nodeSelector?: Record<string, string>;
  allowFrom?: string[];
}

/** Properties of a server over several machines. */
interface Group {
  machines: number;
  /**
   * Init container of each pod, without the fields that all servers have. It may wait `readyWithin` seconds for the
   * other pods.
   */
  first: (readyWithin: number) => k8s.types.input.core.v1.Container;
  /** Command of the server in pods other than the leader. */
  follower: string[];
}

/** What differs between the kinds of servers. */
export interface StorageArgs {
  /** Default size of the volume, e.g. `30Gi`. */
  storage: string;
  /** Mount path of the volume in the server's container. */
  mountPath: string;
  /**
   * The server's container, without the fields that all servers have. It must be ready within `readyWithin` seconds.
   */
  container: (readyWithin: number) => Omit<k8s.types.input.core.v1.Container, "name">;
  /** Set for a server over several machines; absent for a server with one pod. */
  group?: Group;
  /** A further volume with its mount path. */
  sharedMount?: { volume: k8s.types.input.core.v1.Volume; mountPath: string };
  /** Fields of the server's pod, without those that all servers have. */
  pod?: Partial<k8s.types.input.core.v1.PodSpec>;
}

/** Creates a GPU server that keeps data: namespace, volume, Deployment and Service. */
export function storingServer<Args extends StoringArgs>(
  name: string,
  kind: NamespaceRule<NoInfer<Args>> & {
    readonly server: { readonly name: string; readonly port: number };
    readonly volumeSuffix: string;
  },
  args: Args,
  { storage, mountPath, container, group, sharedMount, pod = {} }: StorageArgs,
  opts: pulumi.CustomResourceOptions,
): Server {
  const { volumeSuffix } = kind;
  const { port } = kind.server;
  const { serverName = kind.server.name } = args;
  const { active = true, readyWithin = 1200, exposure } = args;
  const namespace = namespaceOf(name, kind, args, opts);
  const claim = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: args.storage ?? storage } },
    ...defined({ storageClassName: args.storageClass }),
  };
  const { gpuResourceName: resourceOrClass, gpus } = args;
  const request = gpuRequest(
    name,
    serverName,
    { resourceOrClass, gpus, claim: args.claim, namespace },
    opts,
  );
  const { allowFrom } = args;
  const settings = { name: serverName, namespace, port, active, readyWithin, exposure, allowFrom };
  const gpuAndVolumes = {
    resources: request.resources,
    volumeMounts: [
      { name: volumeSuffix, mountPath },
      ...(sharedMount ? [{ name: sharedMount.volume.name, mountPath: sharedMount.mountPath }] : []),
    ],
  };
  const spec = {
    runtimeClassName: classNamed(args.runtimeClassName),
    tolerations: podTolerations(args.tolerations),
    ...defined({ nodeSelector: args.nodeSelector }),
    automountServiceAccountToken: false,
    enableServiceLinks: false, // a variable such as OLLAMA_PORT of the Service would be taken for a setting of the server
    ...pod,
    ...request.pod,
    containers: [
      {
        name: kind.server.name,
        ports: [{ name: "http", containerPort: port }],
        ...gpuAndVolumes,
        ...container(readyWithin),
      },
    ],
    volumes: sharedMount ? [sharedMount.volume] : [],
  };
  if (group !== undefined) {
    const { first: firstContainer, ...groupSettings } = group;
    const pod = { ...spec, initContainers: [{ ...firstContainer(readyWithin), ...gpuAndVolumes }] };
    return serverGroup(
      name,
      { ...settings, ...groupSettings, pod, volume: { name: volumeSuffix, claim } },
      opts,
    );
  }
  const annotations = { "pulumi.com/skipAwait": "true" };
  /**
   * A volume for one pod at a time. Pulumi does not wait until the claim is bound, because a StorageClass with
   * `WaitForFirstConsumer` binds it only when the first pod uses it (pulumi-kubernetes#895, #4179). Pulumi waits for
   * that pod.
   *
   * If e.g. the StorageClass changes, Pulumi tries to create the new claim before it deletes the old one. Kubernetes
   * refuses that, because both have the same name, so no data is lost. In a `GpuCluster` the guard
   * (`components/kubernetes/guard`) refuses the change already at preview.
   */
  const createdClaim = new k8s.core.v1.PersistentVolumeClaim(
    `${name}-${volumeSuffix}`,
    {
      metadata: { name: volumeName(serverName, volumeSuffix), namespace, annotations },
      spec: claim,
    },
    { ...opts, deleteBeforeReplace: false },
  );
  const volumes = [
    { name: volumeSuffix, persistentVolumeClaim: { claimName: createdClaim.metadata.name } },
    ...spec.volumes,
  ];
  return server(name, { ...settings, pod: { ...spec, volumes } }, opts);
}
