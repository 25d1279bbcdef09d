import { mayHave, type Resource } from "./policy";

interface Container {
  image?: string;
  env?: { name: string; value?: string }[];
  resources?: { limits?: Record<string, unknown>; claims?: { name?: string }[] };
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
  /** Undefined where a preview does not know it yet. */
  namespace: string | undefined;
  spec: PodSpec;
  /** Where the pod's specification is in the resource's inputs. */
  at: string[];
  /** Runs on every node that it selects, to look after it: it is no user of a card. */
  isDaemon: boolean;
}

/** Where kinds that have no pod template of their own say what their pods are. */
const places: Record<string, string[]> = {
  Pod: ["spec"],
  CronJob: ["spec", "jobTemplate", "spec", "template", "spec"],
};

/** Resources of a stack that make pods. Objects of a chart are not among them: Helm renders them later. */
export function podMakers(resources: readonly Resource[]): PodMaker[] {
  return resources.flatMap((resource) => {
    if (!/^kubernetes:(?:core|apps|batch)\//.test(resource.type)) return [];
    const kind = resource.type.split(":").at(-1) ?? "";
    const at = places[kind] ?? ["spec", "template", "spec"];
    const spec = at.reduce<any>((value, step) => value?.[step], resource.props) as
      PodSpec | undefined;
    if (spec?.containers === undefined) return [];
    const { namespace } = (resource.props["metadata"] ?? {}) as { namespace?: string };
    const other = mayHave(resource, "metadata", "namespace") ? undefined : "default";
    return [{ resource, namespace: namespace ?? other, spec, at, isDaemon: kind === "DaemonSet" }];
  });
}

/** Containers of a pod, those that run before the others too. */
export function containersOf({ initContainers = [], containers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

/** Whether a pod asks the device plugin for a card or a part of one, or claims devices. */
export function asksForGpu(spec: PodSpec): boolean {
  return containersOf(spec).some(
    ({ resources: { limits = {}, claims = [] } = {} }) =>
      claims.length > 0 || Object.keys(limits).some((name) => name.startsWith("nvidia.com/")),
  );
}
