import { asText, isMapping } from "../../mapping";
import { imageFlaw } from "../../rules/image-reference";
import { isLabelValue, isQualifiedName } from "../../rules/names";
import { taintEffects } from "../taints";
import { expressionFlaw, isAddress, isPrefix, isSize, bytesOf } from "./values";

/**
 * What Talos asks of values beyond their type: its validation of a configuration, and what fails later, at boot.
 * Source: siderolabs/talos v1.13.9, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go and the `Validate` methods of the
 * documents beside it, those of volumes in types/block; pkg/machinery/labels for labels, annotations and taints.
 */

/** What is wrong with a value, and what to write. */
export type ValueFlaw = readonly [problem: string, remedy: string];

/** A rule for the value of a field, on a minor of Talos. */
export type Rule = (value: unknown, minor: number) => ValueFlaw | false | undefined;

/** A rule for a text; an empty one reads as not set. */
export const text =
  (isRight: (text: string) => boolean, problem: string, remedy: string): Rule =>
  (value) =>
    value !== "" && value !== null && !isRight(asText(value)) && [problem, remedy];

/** A rule for a mapping. */
export const mapping =
  (flawOf: (value: Record<string, unknown>) => ValueFlaw | false | undefined): Rule =>
  (value) =>
    isMapping(value) && flawOf(value);

/** One of these words. */
export const words = (...known: string[]): Rule =>
  text((word) => known.includes(word), "is not one of its values", `write one of ${known.join(", ")}`);

/** A number between two others, both included. */
export const range =
  (from: number, to: number): Rule =>
  (value) =>
    typeof value === "number" && (value < from || value > to) && ["is out of range", `write ${from} to ${to}`];

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
export const size = text(isSize, "is not a size", "write e.g. 50GiB");
/** A path from the root. */
export const absolute = text((path) => path.startsWith("/"), "is not an absolute path", "let it begin with /");
/** A reference of an image. */
export const image = text(
  (name) => imageFlaw(name) === undefined,
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
/** An expression in CEL. */
export const expression: Rule = (value) =>
  expressionFlaw(asText(value)) && ["is no CEL expression", 'write e.g. disk.transport == "nvme" && !system_disk'];

/** Fields of the kubelet's configuration that Talos keeps for itself (pkg/machinery/kubelet/kubelet.go). */
const kubeletOwn = [
  ...["apiVersion", "authentication", "authorization", "cgroupRoot", "kind", "kubeletCgroups", "port"],
  ...["protectKernelDefaults", "resolvConf", "rotateCertificates", "systemCgroups", "staticPodPath", "seccompDefault"],
];
/** The configuration of the kubelet, without what Talos sets. */
export const kubeletConfig = mapping((value) => {
  const own = kubeletOwn.filter((key) => Object.hasOwn(value, key)).join(", ");
  return own !== "" && [`sets ${own}, which Talos keeps for itself`, `leave ${own} out`];
});

/** A mapping of names with a rule for each value. */
const entries = (isValue: (value: string) => boolean, what: string, remedy: string): Rule =>
  mapping((value) => {
    const wrong = Object.entries(value).find(
      ([key, one]) => key !== "$patch" && !isMapping(one) && !(isQualifiedName(key) && isValue(asText(one))),
    );
    return wrong && [`has ${what} that Talos refuses (${wrong[0]})`, remedy];
  });
/** Labels of a node. */
export const labels = entries(
  isLabelValue,
  "a label",
  "write names and values as Kubernetes has them: 63 letters, digits, -, _ and . at most",
);
/** Annotations of a node. */
export const annotations = entries(() => true, "an annotation", "write a name as Kubernetes has it");
/** Taints of a node, as `value:Effect`. */
export const taints = entries(
  (value) => {
    const [left = "", effect = "", ...more] = value.includes(":") ? value.split(":") : ["", value];
    return more.length === 0 && isLabelValue(left) && taintEffects.includes(effect);
  },
  "a taint",
  "write its value and effect, e.g. `true:NoSchedule`",
);

/** The first of some that is there twice. */
export const repeated = (all: unknown[]): unknown =>
  all.find((one, index) => one !== undefined && all.indexOf(one) < index);

/** Keys of an encrypted volume: a slot each. */
export const keySlots: Rule = (value) => {
  const twice = repeated(Array.isArray(value) ? value.filter(isMapping).map((key) => key["slot"] ?? 0) : []);
  return twice !== undefined && [`has slot ${asText(twice)} twice`, "give each key a slot of its own"];
};

/** The size of a volume: its least below its most. */
export const provisioning = mapping((value) => {
  const [least, most] = [bytesOf(value["minSize"]), bytesOf(value["maxSize"])];
  return (
    least !== undefined &&
    most !== undefined &&
    least > most && ["has a minSize above its maxSize", "write a maxSize that is not below"]
  );
});

/** A route needs something to lead to. */
export const route = mapping(
  (value) =>
    !value["network"] &&
    !value["gateway"] &&
    !value["$patch"] && ["has neither network nor gateway", "write one of the two"],
);

/** An interface or a VLAN: one way of naming its addresses. */
export const cidrOrAddresses = (value: Record<string, unknown>): ValueFlaw | undefined =>
  value["cidr"] && Array.isArray(value["addresses"]) && value["addresses"].length > 0
    ? ["has cidr and addresses", "write all of them under addresses"]
    : undefined;

/** An interface: named in one way, and of one kind. */
export const device = mapping((value) => {
  if (value["ignore"] === true) return undefined;
  const selected = value["deviceSelector"];
  const isNamed = (value["interface"] ?? "") !== "";
  if (!isNamed && !isMapping(selected)) return ["names no interface", "write its interface or its deviceSelector"];
  if (isNamed && isMapping(selected)) return ["has an interface and a deviceSelector", "leave one of the two out"];
  if (isMapping(selected) && Object.keys(selected).length === 0)
    return ["has an empty deviceSelector", "write e.g. deviceSelector: { physical: true }"];
  if (value["bond"] && value["bridge"]) return ["has a bond and a bridge", "leave one of the two out"];
  return cidrOrAddresses(value);
});

/** The cluster's network: addresses of manifests only for one of the user's own. */
export const cni = mapping(({ name, urls }) => {
  const isOfTalos = name === "none" || name === "flannel";
  return (
    isOfTalos &&
    Array.isArray(urls) &&
    urls.length > 0 && [`has urls beside name: ${name}`, "leave urls out, or write name: custom"]
  );
});

/** A text is a port or a range, a number is a port (talos, pkg/machinery/config/types/network/port_range.go). */
export const ports: Rule = (value) => {
  const isPort = (port: unknown): boolean => /^\d+$/.test(asText(port)) && Number(port) >= 1 && Number(port) <= 65535;
  const [from, to, ...more] = asText(value).split("-");
  const isRight =
    typeof value === "number"
      ? isPort(value)
      : isPort(from) && isPort(to) && Number(from) <= Number(to) && more.length === 0;
  return !isRight && ["is not a port", "write 1 to 65535 without quotes, or a range such as 8000-8100"];
};
