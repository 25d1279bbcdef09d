import type { Properties } from "../provider";
import { isMap } from "../values";

// Fields whose change means a new object: pulumi-kubernetes provider/pkg/provider/diff.go, by kind.
const selector = ["spec.selector"];
const podFields = [
  "affinity",
  "automountServiceAccountToken",
  "containers",
  "dnsConfig",
  "dnsPolicy",
  "enableServiceLinks",
  "hostAliases",
  "hostIPC",
  "hostNetwork",
  "hostPID",
  "hostname",
  "imagePullSecrets",
  "initContainers",
  "nodeName",
  "nodeSelector",
  "overhead",
  "preemptionPolicy",
  "priority",
  "priorityClassName",
  "readinessGates",
  "restartPolicy",
  "runtimeClassName",
  "schedulerName",
  "securityContext",
  "serviceAccount",
  "serviceAccountName",
  "shareProcessNamespace",
  "subdomain",
  "terminationGracePeriodSeconds",
  "volumes",
];
const volumeSources = ["csi", "fc", "hostPath", "iscsi", "local", "nfs"];

const byKind: Readonly<Record<string, readonly string[]>> = {
  "apps/v1/DaemonSet": selector,
  "apps/v1/Deployment": selector,
  "apps/v1/StatefulSet": [
    "spec.podManagementPolicy",
    "spec.revisionHistoryLimit",
    "spec.selector",
    "spec.serviceName",
    "spec.volumeClaimTemplates",
  ],
  "batch/v1/Job": ["spec.completions", "spec.parallelism", "spec.selector", "spec.template"],
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/v1/RoleBinding": ["roleRef"],
  "storage.k8s.io/v1/StorageClass": ["parameters", "provisioner"],
  "v1/ConfigMap": ["binaryData", "data"],
  "v1/PersistentVolume": volumeSources.map((source) => `spec.${source}`),
  "v1/PersistentVolumeClaim": ["spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"],
  "v1/Pod": podFields.map((field) => `spec.${field}`),
  "v1/ResourceQuota": ["spec.scopes"],
  "v1/Secret": ["type", "stringData", "data"],
  "v1/Service": ["spec.clusterIP"],
};

const always = ["metadata.name", "metadata.namespace"];

/**
 * Which of the changed paths need a new object. A ConfigMap's or Secret's data does, as with the real provider's
 * defaults: pods that use them follow by the new name. Patches change in place, whatever the kind.
 */
export function replacing(apiVersion: string, kind: string, patch: boolean, changed: readonly string[]): string[] {
  const fields = [...always, ...(patch ? [] : (byKind[`${apiVersion}/${kind}`] ?? []))];
  const covers = (field: string, path: string): boolean =>
    path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`) || field.startsWith(`${path}.`);
  return changed.filter((path) => fields.some((field) => covers(field, path)));
}

/** Inputs in the form in which they are compared: the default namespace written out or not is the same. */
export function comparable(inputs: Properties): Properties {
  const metadata = isMap(inputs["metadata"]) ? inputs["metadata"] : {};
  if (metadata["namespace"] !== "default" && metadata["namespace"] !== "") return inputs;
  return { ...inputs, metadata: { ...metadata, namespace: undefined } };
}
