import type { Resource } from "./policy";

interface Container {
  image?: string;
  env?: { name: string; value?: string }[];
  resources?: { limits?: Record<string, unknown> };
  securityContext?: { privileged?: boolean };
}

/** The part of a pod's specification that policies look at. */
export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  runtimeClassName?: string;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  volumes?: { hostPath?: object }[];
}

/** A resource that makes pods. */
export interface PodMaker {
  resource: Resource;
  namespace: string;
  spec: PodSpec;
  /** Runs on every node that it selects, to look after it: it is no user of a card. */
  isDaemon: boolean;
}

/** Resources of a stack that make pods. What a chart makes is not among them: Helm renders it later. */
export function podMakers(resources: readonly Resource[]): PodMaker[] {
  return resources.flatMap((resource) => {
    if (!/^kubernetes:(?:core|apps|batch)\//.test(resource.type)) return [];
    const { metadata, spec } = resource.props as { metadata?: { namespace?: string }; spec?: any };
    const kind = resource.type.split(":").at(-1);
    const pod = (
      kind === "Pod" ? spec : kind === "CronJob" ? spec?.jobTemplate?.spec?.template?.spec : spec?.template?.spec
    ) as PodSpec | undefined;
    if (pod?.containers === undefined) return [];
    return [{ resource, namespace: metadata?.namespace ?? "default", spec: pod, isDaemon: kind === "DaemonSet" }];
  });
}

/** Containers of a pod, those that run before the others too. */
export function containersOf({ initContainers = [], containers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

/** Whether a pod asks the device plugin for a card or a part of one. */
export function asksForGpu(spec: PodSpec): boolean {
  return containersOf(spec).some(({ resources }) =>
    Object.keys(resources?.limits ?? {}).some((name) => name.startsWith("nvidia.com/")),
  );
}
