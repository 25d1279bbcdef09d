import { addressProblem, endpointProblem, urlProblem } from "./address";
import { durationValue, longestWait, shortestWait } from "./duration";
import { ruleFrom, ruleOf, type Rule } from "./finding";
import { imageProblem } from "./image-reference";
import { ollamaModelProblem, vllmModelProblem } from "./model-name";
import {
  isDataKey,
  isDns1123Label,
  isDns1123Subdomain,
  isEnvName,
  isLabelValue,
  isQualifiedName,
} from "./names";
import { quantityValue } from "./quantity";

/**
 * Rules for names, quantities and URLs. Most of them are rules of Kubernetes. They apply to stack files and to the
 * arguments of single components.
 */
export {
  placedProblem,
  ruleOf,
  shown,
  type FindingText,
  type FieldFinding,
  type Rule,
  type Severity,
} from "./finding";
export { addressRange, canonicalAddress } from "./address";
export { namesSecret, secretIn } from "./secret-text";
export { nearestWord, closestOnes, didYouMean } from "./suggest";

/** Name of a namespace. */
export const namespaceName = ruleOf(
  isDns1123Label,
  {
    problem: "is not a Kubernetes name",
    why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
    remedy: "use lower-case letters, digits and `-`, at most 63 of them, e.g. `gpu-operator`",
  },
  /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/,
);

/** Name of most other objects, e.g. of a Secret or a StorageClass. */
export const objectName = ruleOf(
  isDns1123Subdomain,
  {
    problem: "is not a Kubernetes name",
    why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
    remedy: "use lower-case letters, digits, `-` and `.`, at most 253 of them, e.g. `hugging-face`",
  },
  /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/,
);

/** A text for comments, annotations and environment variables. */
export const oneLine = ruleOf(/^[\x20-\x7e]{1,100}$/, {
  problem: "is not a short line of text",
  why: "it is written into annotations and environment variables",
  remedy: "write up to 100 ASCII letters, digits and signs, e.g. `2026-11-22`",
});

/** Key of a label, a taint or a resource. */
export const qualifiedName = ruleOf(isQualifiedName, {
  problem: "is not a label key",
  why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
  remedy:
    "write `name` or `domain/name`: at most 63 letters, digits, `-`, `_` and `.`, e.g. `example.com/rack`",
});

/** Value of a label. */
export const labelValue = ruleOf(isLabelValue, {
  problem: "is not a label value",
  why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
  remedy: "use at most 63 letters, digits, `-`, `_` and `.`, with a letter or a digit at both ends",
});

/** Key of a Secret's data. */
export const dataKey = ruleOf(isDataKey, {
  problem: "is not a Secret key",
  why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
  remedy: "use letters, digits, `-`, `_` and `.`, e.g. `token`",
});

/** Name of an environment variable. */
export const envName = ruleOf(isEnvName, {
  problem: "is not a name for an environment variable",
  why: "Kubernetes before 1.32 refuses it, and no shell can read it",
  remedy: "use letters, digits and `_`, and begin with a letter or `_`, e.g. `HF_HOME`",
});

/** Image of a container. */
export const imageReference = ruleFrom(
  (text) => {
    const flaw = imageProblem(text);
    return flaw === undefined ? undefined : `is not an image: ${flaw}`;
  },
  {
    why: "the kubelet answers with InvalidImageName, and the pod never starts",
    remedy: "write `registry/name:tag`, e.g. `nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04`",
  },
);

/**
 * Least amount of storage or memory. A user who writes less than a mebibyte has forgotten the unit: no file system is
 * so small, and no program runs with so little memory.
 */
const leastBytes = 2 ** 20;

/** Amount of storage or memory. */
export const bytes = ruleFrom(
  (text) => {
    const value = quantityValue(text);
    if (value === undefined) return "is not an amount of storage";
    if (value >= leastBytes) return undefined;
    if (value >= 1) return "is less than 1Mi (a quantity without a unit is in bytes)";
    return value > 0 ? "is less than one byte" : "is zero or less";
  },
  {
    why: "Kubernetes refuses the amount, or creates a volume that is too small for any data",
    remedy: "write a Kubernetes quantity, e.g. `100Gi`, `500M`",
  },
  /^\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+|[KMGTPE]i|[numkMGTPE]?)$/,
);

/** A share of all workers in percent, e.g. `25%`. */
export const share = ruleOf(/^(?:[1-9]\d?|100)%$/, {
  problem: "is not a percentage from 1% to 100%",
  why: "it limits how many machines may be upgraded at the same time",
  remedy: "write a whole number from 1 on, or `1%` to `100%`",
});

/** Limit of a wait. */
export const wait = ruleFrom(
  (text) => {
    const value = durationValue(text);
    if (value === undefined) return "is not a duration";
    if (value < shortestWait) return "is zero";
    return value > longestWait ? "is longer than a week" : undefined;
  },
  {
    why: "the wait would end at once, or the update would never end",
    remedy: "write hours, minutes and seconds, e.g. `10m`, `90s` or `1h30m`, from `1s` to `168h`",
  },
  /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/,
);

/** Address of a machine. */
export const machineAddress = ruleFrom(addressProblem, {
  why: "the update connects to the machine's Talos API at this address",
  remedy:
    "write one IP or host name that other computers can reach, without scheme, port, brackets or prefix length",
});

/** URL of the Kubernetes API. Source: talos v1.13.0, cmd/talosctl/cmd/mgmt/gen/config.go (validateClusterEndpoint). */
export const clusterUrl = ruleFrom(
  (text) => urlProblem(text, ["https"]) ?? endpointProblem(text),
  {
    why: "machines and clients use it as the address of the Kubernetes API",
    remedy: "write a URL with its scheme, e.g. `https://10.0.10.10:6443`",
  },
  /^[hH][tT][tT][pP][sS]:\/\//,
);

/** URL of the Image Factory. */
export const serverUrl = ruleFrom(
  (text) => urlProblem(text, ["https", "http"]),
  {
    why: "this server makes the schematics and the installer images",
    remedy: "write a URL with its scheme, e.g. `https://factory.talos.dev`",
  },
  /^[hH][tT][tT][pP][sS]?:\/\//,
);

/** URL of a chart repository: a repository with an index, or a folder of an OCI registry. */
export const chartRepository = ruleFrom(
  // Helm accepts the scheme only in lower case (helm, pkg/registry/util.go, IsOCI).
  (text) =>
    /^oci:/i.test(text) && !text.startsWith("oci:")
      ? "has a scheme in upper case"
      : urlProblem(text, ["https", "http", "oci"]),
  {
    why: "Helm downloads the chart from this URL",
    remedy:
      "write a URL with its scheme, e.g. `https://charts.example.org` or `oci://registry.example.org/charts`",
  },
  /^(?:[hH][tT][tT][pP][sS]?|oci):\/\//,
);

/** URL of a server to which LiteLLM forwards requests. */
export const otherServer = ruleFrom((text) => urlProblem(text, ["http", "https"]), {
  why: "no request would reach the server",
  remedy: "write a URL with its scheme, e.g. `http://ollama.ollama.svc:11434`",
});

/** Name of a model that ollama pulls. */
export const ollamaModel = ruleFrom(ollamaModelProblem, {
  why: "ollama refuses to pull it",
  remedy:
    "write the name for `ollama pull`, e.g. `llama3.2:3b` or `hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M`",
});

/** Name of a model that vLLM loads. */
export const vllmModel = ruleFrom(vllmModelProblem, {
  why: "vLLM exits before it serves the model",
  remedy: "write the model's name on Hugging Face, e.g. `Qwen/Qwen2.5-7B-Instruct`",
});

/**
 * Pattern of a MIG profile: `<slices>g.<memory>gb`, with attributes. Sources: NVIDIA/go-nvlib,
 * pkg/nvlib/device/mig_profile.go (parseMigProfile); mig-parted v0.15.0, config-default.yaml (`-me`, `+me.all`).
 */
const migForm = /^[1-9]\d?g\.[1-9]\d{0,3}gb(?:[+-][a-z]+(?:\.[a-z]+)?)?$/;

/** MIG profile of one device. */
export const migProfile = ruleOf(
  (text) =>
    text.length <= 32 &&
    migForm.test(text.replace(/^all-/, "").replace(/\.(me|me\.all|gfx)$/, "+$1")),
  {
    problem: "is not a MIG profile",
    why: "no device has that name, so the MIG manager fails and the pod stays Pending",
    remedy: "write a profile from `nvidia-smi mig -lgip`, e.g. `1g.12gb` or `1g.12gb+me`",
  },
);

/** Path of a folder on a machine. */
export const absolutePath = ruleOf(
  (text) => /^\/[^\0\s]*$/.test(text) && !text.split("/").includes(".."),
  {
    problem: "is not the path of a folder",
    why: "containerd would look for it in its own working directory, which has no such folder",
    remedy: "write an absolute path, e.g. `/run/cdi`",
  },
  /^\//,
);

/**
 * Pattern of the resources whose names need no domain in Kubernetes. Source: kubernetes v1.36.3,
 * pkg/apis/core/helper/helpers.go (IsStandardContainerResourceName).
 */
const standard = /^(?:cpu|memory|ephemeral-storage|hugepages-.+)$/;

/** Limit of a resource for a container. The rule depends on the resource's name. */
export const resourceLimit = (resource: string): Rule =>
  ruleFrom(
    (text) => {
      const value = quantityValue(text);
      if (value === undefined) return "is not a quantity";
      if (value < 0) return "is negative";
      if (resource === "cpu" || value === 0) return undefined;
      if (!standard.test(resource))
        return Number.isInteger(value) ? undefined : "is not a whole number";
      if (resource !== "memory") return value < 1 ? "is less than one byte" : undefined;
      return value < leastBytes
        ? "is less than 1Mi, which is too small for any program (a quantity without a unit is in bytes)"
        : undefined;
    },
    {
      why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
      remedy:
        resource === "cpu"
          ? "write an amount of CPU, e.g. `2` or `500m`"
          : "write a Kubernetes quantity, e.g. `4Gi`",
    },
  );

/** Name of a resource for which the user may set a container's limit. */
export const resourceName = ruleFrom(
  (text) => {
    if (!isQualifiedName(text)) return "is not a resource";
    if (!text.includes("/") && !standard.test(text)) return "is not a Kubernetes resource";
    return /^nvidia\.com\/(?:gpu|mig-)/.test(text)
      ? "is a resource that gpus and migProfile already request"
      : undefined;
  },
  {
    why: "Kubernetes would refuse the object, but only after the update has upgraded the machines",
    remedy:
      "write cpu, memory, ephemeral-storage, or the `domain/name` of a device plugin. For GPUs, set gpus instead",
  },
);
