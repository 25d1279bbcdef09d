import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { isDeviceClass } from "../recipe/facts/gpu-provider";
import type { KubernetesRecipe } from "../recipe/types";
import { defined } from "../recipe/mapping";
import { shortHash } from "../recipe/short-hash";
import type { SecretKeySpec } from "../recipe/spec/index";

/** A toleration of a workload, as a pod spec has it. */
export interface GpuToleration {
  /** Key of the taint. */
  key: string;
  /** How the taint is matched: `Exists` by its key, `Equal` also by its value. */
  operator: string;
  /** Value of the taint, with the operator `Equal`. Default: none. */
  value?: string;
  /** Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: every effect. */
  effect?: string;
}

/** Labels of everything that this package makes in a cluster, `component` telling its kinds apart. */
export function labels(component: string): Record<string, string> {
  return { "app.kubernetes.io/name": component, "app.kubernetes.io/managed-by": "talos-gpu" };
}

/** Security context of a container without special needs: Pod Security `restricted`, except for the user. */
export const unprivileged = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/**
 * Security context for an administrator's calls to the driver: root, and CAP_SYS_ADMIN alone of all capabilities
 * (open-gpu-kernel-modules, kernel-open/common/inc/nv-linux.h, NV_IS_SUSER). The devices come by the NVIDIA runtime,
 * so the container need not be privileged. Kubernetes does not let `allowPrivilegeEscalation: false` go with this
 * capability.
 */
export const administrator = {
  runAsUser: 0,
  capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** Pod Security `restricted`. NVIDIA's devices are open to every user (mode 0666). */
export const restricted = {
  ...unprivileged,
  runAsNonRoot: true,
  runAsUser: 65534,
  readOnlyRootFilesystem: true,
};

/** Whether objects that get another owner stay in the cluster when they leave the stack. */
export const keeps = ({
  handBack,
}: KubernetesRecipe): Pick<pulumi.ResourceOptions, "retainOnDelete"> =>
  handBack ? { retainOnDelete: true } : {};

/**
 * The RuntimeClass of a pod that looks at all cards of its machine, by NVIDIA's runtime; none where the stack says
 * that there is none.
 */
export const classOf = ({
  runtimeClass: { name },
}: KubernetesRecipe): { runtimeClassName?: string } =>
  name === "" ? {} : { runtimeClassName: name };

/**
 * Annotations by which a container looks at all cards where no machine has NVIDIA's runtime: the NRI plugin of the
 * operator's toolkit reads them (nvidia-container-toolkit v1.20.1,
 * cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go).
 */
export const allCardsFor = (
  container: string,
  { runtimeClass: { handler } }: KubernetesRecipe,
): Record<string, string> | undefined =>
  handler === ""
    ? { [`nvidia.cdi.k8s.io/container.${container}`]: "management.nvidia.com/gpu=all" }
    : undefined;

/**
 * Name of the RuntimeClass of a pod that asks for cards: empty where it claims them, since devices of a claim come
 * with all that they need.
 */
export const askingClass = ({ runtimeClass: { name }, resourceName }: KubernetesRecipe): string =>
  isDeviceClass(resourceName) ? "" : name;

/** RuntimeClass of a pod, from a workload's argument. An empty name leaves the field out. */
export const classNamed = (name: pulumi.Input<string>): pulumi.Output<string> =>
  pulumi.output(name).apply((text) => (text === "" ? undefined : text) as string);

/**
 * All pods of a DaemonSet at a time. Pulumi waits ten minutes for them, in which one after the other gets through
 * some sixty machines; and what they did for their machine lasts while they are away.
 */
const allAtOnce = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%" } };

/** A DaemonSet of the stack on GPU machines, named after its component. Its pods have the priority class
`system-node-critical`. */
export function daemonSet(
  resource: string,
  component: string,
  { namespace, tolerations }: KubernetesRecipe,
  pod: k8s.types.input.core.v1.PodSpec,
  opts: pulumi.CustomResourceOptions,
  annotations?: Record<string, string>,
): k8s.apps.v1.DaemonSet {
  const spec = {
    tolerations: podTolerations(tolerations),
    priorityClassName: "system-node-critical",
    automountServiceAccountToken: false,
    ...pod,
  };
  return new k8s.apps.v1.DaemonSet(
    resource,
    {
      metadata: { name: component, namespace, labels: labels(component) },
      spec: {
        selector: { matchLabels: labels(component) },
        updateStrategy: allAtOnce,
        template: {
          metadata: { labels: labels(component), ...(annotations && { annotations }) },
          spec,
        },
      },
    },
    opts,
  );
}

/** Whether a resource is only read (`get`): it is external. Transformations see it as one of the stack's. */
export const isRead = (opts: pulumi.ResourceOptions): boolean =>
  (opts as pulumi.CustomResourceOptions).id !== undefined;

/** Tolerations as a pod spec takes them: without undefined members. */
export function podTolerations(tolerations: GpuToleration[] = []): GpuToleration[] {
  return tolerations.map(({ key, operator, value, effect }) => ({
    key,
    operator,
    ...defined({ value, effect }),
  }));
}

/**
 * A Kubernetes name made of words: lower case, `-` for what a name cannot hold, cut to the 63 characters of a label.
 */
export function kubernetesName(...words: string[]): string {
  const name = words
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-");
  return name.slice(0, 63).replace(/^-+|-+$/g, "");
}

/**
 * Name of a resource whose object Pulumi names. Pulumi adds eight hexadecimal digits, and eight more for every
 * replacement; the result fits into a label. So an object that a killed Pulumi has lost does not block the next one.
 *
 * @param owner Tells resources apart that have the same words.
 */
export const namedByPulumi = (owner: string, ...words: string[]): string =>
  ownedName(owner, kubernetesName(...words).slice(0, 47));

/** Name of a resource whose object Pulumi names, from a beginning that is a valid name of at most 47 characters. */
export const ownedName = (owner: string, beginning: string): string =>
  `${beginning}-${shortHash(owner, 6)}`;

/**
 * Annotation of a Job that the next update replaces unless it succeeded: a failed Job never runs again, so it would
 * fail every later update too (pulumi-kubernetes, provider/pkg/provider/provider.go, Diff).
 */
export const anewUnlessDone = { "pulumi.com/replaceUnready": "true" };

/** A reference of one variable to another, as the kubelet expands it; `$$(` is none. */
const reference = /(?<!\$)\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)/g;

/**
 * Environment of a container as a list: by name, but each variable behind those that it refers to, since the kubelet
 * expands `$(NAME)` of earlier ones only (kubernetes, third_party/forked/golang/expansion).
 */
export function envList(env: Record<string, string> = {}): { name: string; value: string }[] {
  const left = new Map(Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)));
  const list: { name: string; value: string }[] = [];
  const add = (name: string): void => {
    const value = left.get(name);
    if (value === undefined) return;
    left.delete(name);
    for (const [, other] of value.matchAll(reference)) add(other ?? "");
    list.push({ name, value });
  };
  for (const name of [...left.keys()]) add(name);
  return list;
}

/** A variable of a container with a key of a Secret, whose content is in no state; none where there is no Secret. */
export const secretVariable = (
  variable: string,
  secret: SecretKeySpec | undefined,
): k8s.types.input.core.v1.EnvVar[] =>
  secret === undefined
    ? []
    : [{ name: variable, valueFrom: { secretKeyRef: { name: secret.name, key: secret.key } } }];
