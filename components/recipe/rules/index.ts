import { addressFlaw, endpointFlaw, urlFlaw } from "./address";
import { durationValue, longestWait, shortestWait } from "./duration";
import { flawRule, ruleOf, type Rule } from "./fault";
import { imageFlaw } from "./image-reference";
import { ollamaModelFlaw, vllmModelFlaw } from "./model-name";
import { isDataKey, isDns1123Label, isDns1123Subdomain, isEnvName, isLabelValue, isQualifiedName } from "./names";
import { quantityValue } from "./quantity";
import texts from "./texts.json";

/**
 * Rules of notation that others made, Kubernetes' above all, each in one place: stack files and components used alone are
 * judged by the same ones.
 */
export { faultOf, problemAt, ruleOf, shown, type Fault, type Problem, type Rule } from "./fault";
export { addressRange, canonicalAddress } from "./address";
export { namesSecret, secretIn } from "./secret-text";
export { closest, closestOnes, didYouMean } from "./suggest";

/** Name of a namespace. */
export const namespaceName = ruleOf(isDns1123Label, texts.namespaceName, /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/);

/** Name of most other objects, e.g. of a Secret or a StorageClass. */
export const objectName = ruleOf(isDns1123Subdomain, texts.objectName, /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/);

/** A text that stands in comments, annotations and a process' environment. */
export const oneLine = ruleOf(/^[\x20-\x7e]{1,100}$/, texts.oneLine);

/** Key of a label, a taint or a resource. */
export const qualifiedName = ruleOf(isQualifiedName, texts.qualifiedName);

/** Value of a label. */
export const labelValue = ruleOf(isLabelValue, texts.labelValue);

/** Key of a Secret's data. */
export const dataKey = ruleOf(isDataKey, texts.dataKey);

/** Name of an environment variable. */
export const envName = ruleOf(isEnvName, texts.envName);

/** Image of a container. */
export const imageReference = flawRule((text) => {
  const flaw = imageFlaw(text);
  return flaw === undefined ? undefined : `is not an image: ${flaw}`;
}, texts.imageReference);

/** Less than a mebibyte is an amount whose unit was forgotten: no file system has so little, and no program runs in it. */
const leastBytes = 2 ** 20;

/** Amount of storage or memory. */
export const bytes = flawRule(
  (text) => {
    const value = quantityValue(text);
    if (value === undefined) return "is not an amount of storage";
    if (value >= leastBytes) return undefined;
    return value >= 1
      ? "is in bytes, and too few to hold anything"
      : value > 0
        ? "is less than one byte"
        : "is zero or less";
  },
  texts.bytes,
  /^\+?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+|[KMGTPE]i|[numkMGTPE]?)$/,
);

/** Share of many. */
export const share = ruleOf(/^(?:[1-9]\d?|100)%$/, texts.share);

/** Limit of a wait. */
export const wait = flawRule(
  (text) => {
    const value = durationValue(text);
    if (value === undefined) return "is not a duration";
    if (value < shortestWait) return "is not a time to wait";
    return value > longestWait ? "is longer than a week" : undefined;
  },
  texts.wait,
  /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/,
);

/** Address of a machine. */
export const machineAddress = flawRule(addressFlaw, texts.machineAddress);

/** URL of the Kubernetes API. Source: talos v1.13.0, cmd/talosctl/cmd/mgmt/gen/config.go (validateClusterEndpoint). */
export const clusterUrl = flawRule(
  (text) => urlFlaw(text, ["https"]) ?? endpointFlaw(text),
  texts.clusterUrl,
  /^[hH][tT][tT][pP][sS]:\/\//,
);

/** URL of a server of ours to ask. */
export const serverUrl = flawRule(
  (text) => urlFlaw(text, ["https", "http"]),
  texts.serverUrl,
  /^[hH][tT][tT][pP][sS]?:\/\//,
);

/** Where Helm finds a chart: a repository with an index, or a folder of an OCI registry. */
export const chartRepository = flawRule(
  // Helm knows it in small letters alone (helm, pkg/registry/util.go, IsOCI).
  (text) =>
    /^oci:/i.test(text) && !text.startsWith("oci:") ? "is not written oci://" : urlFlaw(text, ["https", "http", "oci"]),
  texts.chartRepository,
  /^(?:[hH][tT][tT][pP][sS]?|oci):\/\//,
);

/** URL of a server within the cluster. */
export const otherServer = flawRule((text) => urlFlaw(text, ["http", "https"]), texts.otherServer);

/** Model of ollama's. */
export const ollamaModel = flawRule(ollamaModelFlaw, texts.ollamaModel);

/** Model of vLLM's. */
export const vllmModel = flawRule(vllmModelFlaw, texts.vllmModel);

/** Form of a MIG profile: `<slices>g.<memory>gb`, with attributes. Sources: NVIDIA/go-nvlib, pkg/nvlib/device/mig_profile.go (parseMigProfile); mig-parted v0.15.0, config-default.yaml (`-me`, `+me.all`). */
const migForm = /^[1-9]\d?g\.[1-9]\d{0,3}gb(?:[+-][a-z]+(?:\.[a-z]+)?)?$/;

/** MIG profile of one device. */
export const migProfile = ruleOf(
  (text) => text.length <= 32 && migForm.test(text.replace(/^all-/, "").replace(/\.(me|me\.all|gfx)$/, "+$1")),
  texts.migProfile,
);

/** A folder of a machine. */
export const absolutePath = ruleOf(
  (text) => /^\/[^\0\s]*$/.test(text) && !text.split("/").includes(".."),
  texts.absolutePath,
  /^\//,
);

/** Resources that Kubernetes knows without a domain. Source: kubernetes v1.36.3, pkg/apis/core/helper/helpers.go (IsStandardContainerResourceName). */
const standard = /^(?:cpu|memory|ephemeral-storage|hugepages-.+)$/;

/** A container's limit of a resource, by the resource's name. */
export const resourceLimit = (resource: string): Rule =>
  flawRule(
    (text) => {
      const value = quantityValue(text);
      if (value === undefined) return "is not a quantity";
      if (value < 0) return "is less than nothing";
      if (resource === "cpu" || value === 0) return undefined;
      if (!standard.test(resource)) return Number.isInteger(value) ? undefined : "is not a whole number";
      if (resource !== "memory") return value < 1 ? "is less than one byte" : undefined;
      return value < leastBytes ? "is in bytes, and too few for any program" : undefined;
    },
    resource === "cpu" ? texts.processors : texts.quantity,
  );

/** Name of a resource that a container may be limited in. */
export const resourceName = flawRule((text) => {
  if (!isQualifiedName(text)) return "is not a resource";
  if (!text.includes("/") && !standard.test(text)) return "is not a Kubernetes resource";
  return /^nvidia\.com\/(?:gpu|mig-)/.test(text) ? "is what gpus and migProfile request" : undefined;
}, texts.resourceName);
