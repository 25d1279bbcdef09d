import { parseAllDocuments } from "yaml";
import { isAddress, isPrefix } from "./values";
import { parseToml } from "../containerd/containerd";
import { asText } from "../user-patches";
import { isMapping } from "../../mapping";

/**
 * What Talos asks of single values beyond their type: its validation of a configuration, and what fails later, at boot.
 * Source: siderolabs/talos v1.13.9, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go and the `Validate` methods
 * of the documents beside it; pkg/machinery/labels for labels, annotations and taints.
 */

/** What is wrong with a value, and what to write. */
export interface ValueFlaw {
  problem: string;
  remedy: string;
}

/** A rule for the value of a field, on a minor of Talos. Default: the newest. */
export type Rule = (value: unknown, minor?: number) => ValueFlaw | undefined;

/** A rule for a text that is not empty; an empty one reads as not set. */
export const text =
  (isRight: (text: string) => boolean, problem: string, remedy: string): Rule =>
  (value) =>
    value === "" || value === null || isRight(asText(value)) ? undefined : { problem, remedy };

/** One of these words. */
export const words = (...known: string[]): Rule =>
  text((word) => known.includes(word), "is not one of its values", `write one of ${known.join(", ")}`);

/** An IP address. */
export const address = text(isAddress, "is no IP address", "write an IP address");
/** An IP address, with or without a prefix length. */
export const network = text(
  (value) => isPrefix(value) || isAddress(value),
  "is neither an IP address nor a network",
  "write e.g. 10.0.0.10/24",
);
/** A network with its prefix length. */
export const prefix = text(isPrefix, "is not a network with a prefix length", "write e.g. 10.0.0.0/8");
/** A network, with `!` before it to leave it out. */
export const subnet = text(
  (value) => isPrefix(value.replace(/^!/, "")) || isAddress(value.replace(/^!/, "")),
  "is not a subnet",
  "write e.g. 10.0.0.0/8",
);
/** A number of bytes, with or without a unit. */
export const size = text(
  (value) => /^\d+(\.\d+)?\s*([kmgtpe]i?b?|b)?$/i.test(value.replaceAll(",", "")),
  "is not a size",
  "write e.g. 50GiB",
);
/** A number between two others, both included. */
export const range =
  (from: number, to: number): Rule =>
  (value) =>
    typeof value !== "number" || (value >= from && value <= to)
      ? undefined
      : { problem: "is out of range", remedy: `write ${from} to ${to}` };
/** A text that is not empty. */
export const notEmpty: Rule = (value) => (value === "" ? { problem: "is empty", remedy: "write it" } : undefined);
/** A path from the root. */
export const absolute = text((path) => path.startsWith("/"), "is not an absolute path", "let it begin with /");
/** A reference of an image. */
export const image = text(
  (name) => /^[^\s@:]+(:\d+\/[^\s@:]+)?(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,})?$/.test(name),
  "is not an image reference",
  "write e.g. ghcr.io/siderolabs/kubelet:v1.34.1",
);
/** The name of a volume. */
export const volumeName = text(
  (name) => /^[A-Za-z0-9-]{1,34}$/.test(name),
  "is not a volume name",
  "write letters, digits and hyphens, 34 at most",
);
/** A host name. */
export const host = text(
  (name) =>
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(name) && name.length <= 253,
  "is not a host name",
  "write letters, digits and hyphens between dots",
);

/** An expression in CEL, as far as it can be told without a parser: quotes and brackets closed, no operator left open. */
export const expression: Rule = (value) => {
  const bare = asText(value).replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "x");
  const isOpen = /["']/.test(bare) || !isBalanced(bare) || /(&&|\|\||[=<>!+*/%-])\s*$/.test(bare) || bare.trim() === "";
  const isForeign = /(^|[^=!<>])=([^=]|$)|\b(and|or|not)\b|(^|[^&])&([^&]|$)|(^|[^|])\|([^|]|$)/.test(bare);
  return isOpen || isForeign
    ? { problem: "is no CEL expression", remedy: `write e.g. disk.transport == "nvme" && !system_disk` }
    : undefined;
};

function isBalanced(bare: string): boolean {
  const open: string[] = [];
  const closing: Record<string, string> = { ")": "(", "]": "[", "}": "{" };
  for (const letter of bare.replace(/[^()[\]{}]/g, "")) {
    if (closing[letter] === undefined) open.push(letter);
    else if (open.pop() !== closing[letter]) return false;
  }
  return open.length === 0;
}

/** Fields of the kubelet's configuration that Talos keeps for itself (pkg/machinery/kubelet/kubelet.go). */
const kubeletOwn = [
  "apiVersion",
  "authentication",
  "authorization",
  "cgroupRoot",
  "kind",
  "kubeletCgroups",
  "port",
  "protectKernelDefaults",
  "resolvConf",
  "rotateCertificates",
  "systemCgroups",
  "staticPodPath",
  "seccompDefault",
];

/** `machine.install`: kernel arguments have one place. */
export const install: Rule = (value) =>
  isMapping(value) && value["grubUseUKICmdline"] === true && Array.isArray(value["extraKernelArgs"])
    ? { problem: "has extraKernelArgs and grubUseUKICmdline", remedy: "write the arguments under kernelArgs" }
    : undefined;

/** Environment variables: their names. */
export const variables: Rule = (value) => {
  const wrong = isMapping(value) ? Object.keys(value).find((key) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) : undefined;
  return wrong === undefined
    ? undefined
    : { problem: `has a name that no variable can have (${wrong})`, remedy: "write letters, digits and _" };
};

/** The kubelet's configuration: fields that Talos sets itself. */
export const kubeletConfig: Rule = (value) => {
  const own = isMapping(value) ? kubeletOwn.filter((key) => Object.hasOwn(value, key)) : [];
  return own.length === 0
    ? undefined
    : { problem: `sets ${own.join(", ")}, which Talos keeps for itself`, remedy: `leave ${own.join(", ")} out` };
};

const name = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const qualifiedName = new RegExp(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?${name}$`);
const labelValue = new RegExp(`^(${name})?$`);

/** A mapping of names with a rule for each key and each value. */
const entries =
  (isKey: (key: string) => boolean, isValue: (value: string) => boolean, what: string, remedy: string): Rule =>
  (value) => {
    if (!isMapping(value)) return undefined;
    const wrong = Object.entries(value).find(
      ([key, one]) => key !== "$patch" && !isMapping(one) && (!isKey(key) || !isValue(asText(one))),
    );
    return wrong === undefined ? undefined : { problem: `has ${what} that Talos refuses (${wrong[0]})`, remedy };
  };

/** Labels of a node. */
export const labels = entries(
  (key) => qualifiedName.test(key),
  (value) => labelValue.test(value),
  "a label",
  "write names and values as Kubernetes has them: 63 letters, digits, -, _ and . at most",
);
/** Annotations of a node: their keys. */
export const annotations = entries(
  (key) => qualifiedName.test(key),
  () => true,
  "an annotation",
  "write a name as Kubernetes has it",
);
/** Taints of a node, as `value:Effect`. */
export const taints = entries(
  (key) => qualifiedName.test(key),
  (value) => {
    const [left = "", effect = "", ...more] = value.includes(":") ? value.split(":") : ["", value];
    return (
      more.length === 0 && labelValue.test(left) && ["NoSchedule", "PreferNoSchedule", "NoExecute"].includes(effect)
    );
  },
  "a taint",
  "write its value and effect, e.g. `true:NoSchedule`",
);

/** Inline manifests: their names. */
export const manifests: Rule = (value) => {
  const named = Array.isArray(value) ? value.filter(isMapping).map((item) => item["name"]) : [];
  const twice = named.find((one, index) => one !== undefined && named.indexOf(one) < index);
  return twice === undefined
    ? undefined
    : { problem: `has two manifests named ${asText(twice)}`, remedy: "give each a name of its own" };
};

/** The text of one inline manifest. */
export const manifest: Rule = (value) => {
  const documents = typeof value === "string" ? parseAllDocuments(value, { logLevel: "error" }) : [];
  const error = (Array.isArray(documents) ? documents : []).flatMap((document) => document.errors)[0];
  return error === undefined
    ? undefined
    : { problem: "is no YAML", remedy: `mend it (line ${error.linePos?.[0].line ?? 1} of it)` };
};

/** `HostnameConfig`: a name, or how one is made. */
export const hostname: Rule = (value) =>
  isMapping(value) && value["hostname"] && value["auto"] && value["auto"] !== "off"
    ? { problem: "has hostname and auto", remedy: "leave one of the two out" }
    : undefined;

/** A port or a range of ports. */
export const ports: Rule = (value) => {
  const isPort = (port: unknown): boolean => /^\d+$/.test(asText(port)) && Number(port) >= 1 && Number(port) <= 65535;
  // A text is a range, a number is a port (talos, pkg/machinery/config/types/network/port_range.go).
  const [from, to, ...more] = asText(value).split("-");
  const isRight = typeof value === "number" ? isPort(value) : isPort(from) && isPort(to) && Number(from) <= Number(to);
  return isRight && more.length === 0
    ? undefined
    : { problem: "is not a port", remedy: "write 1 to 65535 without quotes, or a range such as 8000-8100" };
};

/** A URL of one of these schemes. */
export const url = (...schemes: string[]): Rule =>
  text(
    (value) => {
      const parsed = URL.canParse(value) ? new URL(value) : undefined;
      return parsed !== undefined && schemes.includes(parsed.protocol.slice(0, -1)) && parsed.host !== "";
    },
    "is no URL",
    `write e.g. ${schemes[0]}://host:port`,
  );

/** Modes of a bond, as Talos calls them. */
export const bondModes = [
  "balance-rr",
  "active-backup",
  "balance-xor",
  "broadcast",
  "802.3ad",
  "balance-tlb",
  "balance-alb",
];

/** A part of containerd's configuration (talos v1.14.0-rc.1, types/cri/customization.go). */
export const toml: Rule = (value) => {
  const { error } = parseToml(asText(value));
  return error === undefined ? undefined : { problem: `is not TOML: ${error}`, remedy: "correct it" };
};
