import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { isDeviceClass } from "../recipe/facts/gpu-provider";
import type { KubernetesRecipe } from "../recipe/types";
import { defined } from "../recipe/mapping";
import { shortHash } from "../recipe/short-hash";
import type { SecretKeySpec } from "../recipe/spec/index";

/** A toleration of a workload, in the form of a pod spec. */
export interface GpuToleration {
  /** Key of the taint. */
  key: string;
  /** How the toleration matches a taint: `Exists` compares only the key, `Equal` compares key and value. */
  operator: string;
  /** Value of the taint, with the operator `Equal`. Default: none. */
  value?: string;
  /** Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: every effect. */
  effect?: string;
}

/** Labels of every object that this package creates in a cluster; `component` is the kind of object. */
export function labels(component: string): Record<string, string> {
  return { "app.kubernetes.io/name": component, "app.kubernetes.io/managed-by": "talos-gpu" };
}

/**
 * Security context of a container without special needs. It satisfies Pod Security `restricted`, except that it sets no
 * user.
 */
export const unprivileged = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/**
 * Security context for an administrator's calls to the driver: root with the single capability CAP_SYS_ADMIN
 * (open-gpu-kernel-modules, kernel-open/common/inc/nv-linux.h, NV_IS_SUSER). NVIDIA's runtime adds the device files, so
 * the container need not be privileged. Kubernetes refuses `allowPrivilegeEscalation: false` with this capability.
 */
export const administrator = {
  runAsUser: 0,
  capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/**
 * Security context for Pod Security `restricted`. It can use GPUs, because every user may open NVIDIA's device files
 * (mode 0666).
 */
export const restricted = {
  ...unprivileged,
  runAsNonRoot: true,
  runAsUser: 65534,
  readOnlyRootFilesystem: true,
};

/**
 * If the stack hands its objects back to another owner (`handBack`), this option keeps them in the cluster when they
 * leave the stack.
 */
export const keepOnDelete = ({
  handBack,
}: KubernetesRecipe): Pick<pulumi.ResourceOptions, "retainOnDelete"> =>
  handBack ? { retainOnDelete: true } : {};

/**
 * The RuntimeClass of a pod that needs all cards of its machine through NVIDIA's runtime; empty if the stack uses no
 * RuntimeClass.
 */
export const classOf = ({
  runtimeClass: { name },
}: KubernetesRecipe): { runtimeClassName?: string } =>
  name === "" ? {} : { runtimeClassName: name };

/**
 * Annotations that give a container all cards if the machines lack NVIDIA's runtime. The NRI plugin of the operator's
 * toolkit reads them (nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go).
 */
export const allCardsFor = (
  container: string,
  { runtimeClass: { handler } }: KubernetesRecipe,
): Record<string, string> | undefined =>
  handler === ""
    ? { [`nvidia.cdi.k8s.io/container.${container}`]: "management.nvidia.com/gpu=all" }
    : undefined;

/**
 * Name of the RuntimeClass of a pod that requests cards; empty if the pod uses a claim, which needs no RuntimeClass.
 */
export const askingClass = ({ runtimeClass: { name }, resourceName }: KubernetesRecipe): string =>
  isDeviceClass(resourceName) ? "" : name;

/** RuntimeClass of a pod, from a workload's argument; undefined for an empty name. */
export const classNamed = (name: pulumi.Input<string>): pulumi.Output<string> =>
  pulumi.output(name).apply((text) => (text === "" ? undefined : text) as string);

/**
 * Makes Pulumi's delete end without the end of the pods. By default the delete waits for them, and a pod on a node that
 * is off never ends (pulumi-kubernetes, provider/pkg/await/await.go, Deletion).
 */
const deletedInBackground = { "pulumi.com/deletionPropagationPolicy": "background" };

/**
 * A DaemonSet of the stack on GPU machines, named after its component. Its pods have the priority class
 * `system-node-critical`.
 */
export function daemonSet(
  resource: string,
  component: string,
  { namespace, tolerations, updateStrategy, deletesInBackground }: KubernetesRecipe,
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
      metadata: {
        name: component,
        namespace,
        labels: labels(component),
        ...(deletesInBackground ? { annotations: deletedInBackground } : {}),
      },
      spec: {
        selector: { matchLabels: labels(component) },
        updateStrategy,
        template: {
          metadata: { labels: labels(component), ...(annotations && { annotations }) },
          spec,
        },
      },
    },
    opts,
  );
}

/**
 * Whether Pulumi only reads a resource (`get`), because another owner manages it. Transformations also receive such
 * resources.
 */
export const isRead = (opts: pulumi.ResourceOptions): boolean =>
  (opts as pulumi.CustomResourceOptions).id !== undefined;

/** Tolerations in the form of a pod spec, without undefined members. */
export function podTolerations(tolerations: GpuToleration[] = []): GpuToleration[] {
  return tolerations.map(({ key, operator, value, effect }) => ({
    key,
    operator,
    ...defined({ value, effect }),
  }));
}

/**
 * A Kubernetes name from words: in lower case, with `-` for invalid characters, cut to the 63 characters of a label.
 */
export function kubernetesName(...words: string[]): string {
  const name = words
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-");
  return name.slice(0, 63).replace(/^-+|-+$/g, "");
}

/**
 * Name of a Pulumi resource whose object gets a generated name. Pulumi adds eight hexadecimal digits to it, and eight
 * more for a replacement, and the result still fits into a label. Since every object gets a new name, an object that a
 * killed update left does not block the creation of the next one.
 *
 * @param owner text that distinguishes resources with the same words.
 */
export const namedByPulumi = (owner: string, ...words: string[]): string =>
  ownedName(owner, kubernetesName(...words).slice(0, 47));

/**
 * Name of a Pulumi resource whose object gets a generated name. `beginning` is a valid name of at most 47 characters.
 */
export const ownedName = (owner: string, beginning: string): string =>
  `${beginning}-${shortHash(owner, 6)}`;

/**
 * An annotation for Jobs: if such a Job has not succeeded, the next update replaces it. A failed Job never runs again,
 * so without the annotation every later update would fail too (pulumi-kubernetes, provider/pkg/provider/provider.go,
 * Diff).
 */
export const anewUnlessDone = { "pulumi.com/replaceUnready": "true" };

/** A reference to another variable, which the kubelet replaces by that variable's value; `$$(` is not a reference. */
const reference = /(?<!\$)\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)/g;

/**
 * Environment of a container as a list, sorted by name. A variable comes after the variables that it refers to, because
 * the kubelet expands `$(NAME)` only if NAME comes earlier (kubernetes, third_party/forked/golang/expansion).
 */
export function envList(env: Record<string, string> = {}): { name: string; value: string }[] {
  const remaining = new Map(Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)));
  const list: { name: string; value: string }[] = [];
  const addVariable = (name: string): void => {
    const value = remaining.get(name);
    if (value === undefined) return;
    remaining.delete(name);
    for (const [, referenced] of value.matchAll(reference)) addVariable(referenced ?? "");
    list.push({ name, value });
  };
  for (const name of [...remaining.keys()]) addVariable(name);
  return list;
}

/**
 * An environment variable that gets its value from a Secret's key, so that Pulumi's state does not contain the value;
 * an empty list without a Secret.
 */
export const secretVariable = (
  variable: string,
  secret: SecretKeySpec | undefined,
): k8s.types.input.core.v1.EnvVar[] =>
  secret === undefined
    ? []
    : [{ name: variable, valueFrom: { secretKeyRef: { name: secret.name, key: secret.key } } }];
