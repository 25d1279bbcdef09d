/**
 * Rules for names in Kubernetes. Transcribed from kubernetes v1.36.3, staging/src/k8s.io/apimachinery/pkg:
 * util/validation/validation.go (IsDNS1123Label, IsDNS1123Subdomain, IsConfigMapKey, IsEnvVarName) and
 * api/validate/content/kube.go (IsLabelKey, IsLabelValue). Each function first checks the length, so that no regular
 * expression runs over a long text.
 */

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const name = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Whether a text is an RFC 1123 label, as for the names of namespaces and containers. */
export const isDns1123Label = (text: string): boolean => text.length <= 63 && label.test(text);

/** Whether a text is an RFC 1123 subdomain, as for the names of most objects, e.g. Secrets, StorageClasses, pods. */
export const isDns1123Subdomain = (text: string): boolean =>
  text.length <= 253 && text.split(".").every((part) => label.test(part));

/** Whether a text is a qualified name, `[prefix/]name`, as for the keys of labels and taints, and for resources. */
export function isQualifiedName(text: string): boolean {
  if (text.length > 317) return false;
  const parts = text.split("/");
  const last = parts.pop() ?? "";
  if (last.length > 63 || !name.test(last)) return false;
  return parts.length === 0 || (parts.length === 1 && isDns1123Subdomain(parts[0] ?? ""));
}

/** Whether a text may be the value of a label or of a taint. */
export const isLabelValue = (text: string): boolean =>
  text === "" || (text.length <= 63 && name.test(text));

/** Whether a text may be a key of a Secret's or a ConfigMap's data. */
export const isDataKey = (text: string): boolean =>
  text.length <= 253 && /^[-._a-zA-Z0-9]+$/.test(text) && text !== "." && !text.startsWith("..");

/**
 * Whether a text may be the name of an environment variable. Kubernetes from 1.32 on accepts any printable name without
 * `=` (RelaxedEnvironmentVariableValidation). The function applies the older rule, because shells cannot read the names
 * that only the newer rule accepts.
 */
export const isEnvName = (text: string): boolean =>
  text.length <= 1024 &&
  /^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(text) &&
  text !== "." &&
  !text.startsWith("..");
