import { mayHave, type Resource } from "./policy";

interface Container {
  image?: string;
  env?: { name: string; value?: string }[];
  resources?: { limits?: Record<string, unknown>; claims?: { name?: string }[] };
  securityContext?: { privileged?: boolean };
}

/** The part of a pod's specification that the policies check. */
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
  /** Namespace of the pods; undefined if a preview does not know it yet. */
  namespace: string | undefined;
  spec: PodSpec;
  /** Path of the pod's specification in the resource's inputs. */
  specPath: string[];
  /** Whether the resource runs on every selected node to manage it, so that it is not a user of cards. */
  isDaemon: boolean;
}

/** Paths of the pod's specification in kinds without a usual pod template. */
const places: Record<string, string[]> = {
  Pod: ["spec"],
  CronJob: ["spec", "jobTemplate", "spec", "template", "spec"],
};

/** Resources of a stack that create pods. Objects of a chart are not among them, because Helm renders them later. */
export function podMakers(resources: readonly Resource[]): PodMaker[] {
  return resources.flatMap((resource) => {
    if (!/^kubernetes:(?:core|apps|batch)\//.test(resource.type)) return [];
    const kind = resource.type.split(":").at(-1) ?? "";
    const specPath = places[kind] ?? ["spec", "template", "spec"];
    const spec = specPath.reduce<any>((value, step) => value?.[step], resource.props) as
      PodSpec | undefined;
    if (spec?.containers === undefined) return [];
    const { namespace } = (resource.props["metadata"] ?? {}) as { namespace?: string };
    const fallback = mayHave(resource, "metadata", "namespace") ? undefined : "default";
    return [
      {
        resource,
        namespace: namespace ?? fallback,
        spec,
        specPath,
        isDaemon: kind === "DaemonSet",
      },
    ];
  });
}

/** All containers of a pod, with its init containers. */
export function containersOf({ initContainers = [], containers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

/** Whether a pod requests a card or a part of a card from the device plugin, or claims devices. */
export function asksForGpu(spec: PodSpec): boolean {
  return containersOf(spec).some(
    ({ resources: { limits = {}, claims = [] } = {} }) =>
      claims.length > 0 || Object.keys(limits).some((name) => name.startsWith("nvidia.com/")),
  );
}
