import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { labels } from "../kubernetes/pods";
import { outlasting } from "../kubernetes/timeouts";
import { leaderWorkerSet } from "../recipe/facts/gpu-provider";
import { groupName } from "../recipe/facts/vllm";
import { clientsOf } from "./network-policy";
import { podMetadata, type Server, type ServerArgs, serviceOf } from "./server";

/** A server of several pods, each on its own machine; the first pod (the leader) answers requests. */
interface ServerGroupArgs extends Omit<ServerArgs, "pod"> {
  machines: number;
  /** The leader's pod. Its first container is the server. */
  pod: Omit<k8s.types.input.core.v1.PodSpec, "containers"> & {
    containers: k8s.types.input.core.v1.Container[];
  };
  /** Command of the server's container in the other pods, which open no port. */
  follower: string[];
  /** Volume of each pod. */
  volume: { name: string; claim: k8s.types.input.core.v1.PersistentVolumeClaimSpec };
}

/**
 * A LeaderWorkerSet of one group, and the Service of its leader. If a pod of the group ends or a container restarts,
 * LeaderWorkerSet replaces the whole group: the other pods would wait forever for the missing one
 * (kubernetes-sigs/lws v0.9.0, RecreateGroupOnPodRestart).
 *
 * If the content of the LeaderWorkerSet changes, Pulumi deletes the old one before it creates the new one: the new pods
 * need the cards of the old pods. After an update in place, Pulumi would take the readiness of the old pods
 * for that of the new ones. The volumes stay, because they belong to the pods' names.
 */
export function serverGroup(
  name: string,
  args: ServerGroupArgs,
  opts: pulumi.CustomResourceOptions,
): Server {
  const { machines, follower, volume, namespace } = args;
  const set = groupName(args.name);
  const affinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        {
          labelSelector: { matchLabels: { [leaderWorkerSet.set]: set } },
          topologyKey: "kubernetes.io/hostname",
        },
      ],
    },
  };
  const metadata = podMetadata(args);
  const leader = { ...args.pod, affinity };
  const [{ name: container, image, env, securityContext, resources, volumeMounts }] =
    leader.containers as [k8s.types.input.core.v1.Container];
  const following = {
    name: container,
    image,
    env,
    securityContext,
    resources,
    volumeMounts,
    command: follower,
  };
  const dependsOn = clientsOf(name, args, opts);
  const runs = args.active
    ? new k8s.apiextensions.CustomResource(
        `${name}-group`,
        {
          apiVersion: leaderWorkerSet.api,
          kind: "LeaderWorkerSet",
          metadata: {
            name: set,
            namespace,
            labels: labels(args.name),
            annotations: { "pulumi.com/waitFor": "condition=Available" },
          },
          spec: {
            replicas: 1,
            leaderWorkerTemplate: {
              size: machines,
              restartPolicy: "RecreateGroupOnPodRestart",
              leaderTemplate: { metadata, spec: leader },
              workerTemplate: { metadata, spec: { ...leader, containers: [following] } },
              volumeClaimTemplates: [{ metadata: { name: volume.name }, spec: volume.claim }],
            },
          },
        },
        pulumi.mergeOptions(opts, {
          customTimeouts: outlasting(args.readyWithin),
          dependsOn,
          replaceOnChanges: ["spec"],
          deleteBeforeReplace: true,
        }),
      )
    : undefined;
  const selector = { ...labels(args.name), [leaderWorkerSet.index]: "0" };
  return { runs, namespace, endpoint: serviceOf(name, args, selector, runs, opts) };
}
