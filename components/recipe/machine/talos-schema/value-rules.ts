import type table from "../../facts/data/talos-rules.json";
import { asText, isMapping, listOf, repeated } from "../../mapping";
import { imageProblem } from "../../rules/image-reference";
import { isLabelValue, isQualifiedName } from "../../rules/names";
import { taintEffects } from "../taints";
import { isWrongExpression, isAddress, isPrefix, isSize, bytesOf } from "./values";

/**
 * Rules for values that go beyond their types: the rules of Talos' own validation, and rules that Talos does not
 * validate but whose violation makes the boot fail. Source: siderolabs/talos v1.13.9,
 * pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go and the `Validate` methods of the documents next to it;
 * `Validate` of the volumes' documents in types/block; pkg/machinery/labels for labels, annotations and taints.
 */

/** Mistake of a value, and the remedy. */
export type ValueFinding = readonly [problem: string, remedy: string];

/** A rule for the value of a field, on a minor of Talos. */
export type Rule = (value: unknown, minor: number) => ValueFinding | false | undefined;

/** A rule for a text. An empty text counts as not set. */
export const text =
  (isRight: (text: string) => boolean, problem: string, remedy: string): Rule =>
  (value) =>
    value !== "" && value !== null && !isRight(asText(value)) ? [problem, remedy] : undefined;

/** A rule for a mapping. */
export const mapping =
  (flawOf: (value: Record<string, unknown>) => ValueFinding | false | undefined): Rule =>
  (value) =>
    isMapping(value) && flawOf(value);

/** A rule that allows only some words. */
export const words = (...allowed: string[]): Rule =>
  text(
    (word) => allowed.includes(word),
    "has an unknown value",
    `write one of ${allowed.join(", ")}`,
  );

/** A rule for a number between two bounds, both included. */
export const range =
  (from: number, to: number): Rule =>
  (value) =>
    typeof value === "number" && (value < from || value > to)
      ? ["is out of range", `write ${from} to ${to}`]
      : undefined;

/** A rule for a URL with one of some schemes. */
export const url = (...schemes: string[]): Rule =>
  text(
    (value) => {
      const parsed = URL.canParse(value) ? new URL(value) : undefined;
      return (
        parsed !== undefined && schemes.includes(parsed.protocol.slice(0, -1)) && parsed.host !== ""
      );
    },
    "is not a URL",
    `write e.g. ${schemes[0] ?? "https"}://host:port`,
  );

/** Fields of the kubelet's configuration that only Talos sets (pkg/machinery/kubelet/kubelet.go). */
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

/** A rule for a mapping whose keys are qualified names and whose values satisfy `isValue`. */
const entries = (isValue: (value: string) => boolean, description: string, remedy: string): Rule =>
  mapping((value) => {
    const wrongEntry = Object.entries(value).find(
      ([key, member]) =>
        key !== "$patch" &&
        !isMapping(member) &&
        !(isQualifiedName(key) && isValue(asText(member))),
    );
    return wrongEntry
      ? [`has ${description} that Talos refuses (${wrongEntry[0]})`, remedy]
      : undefined;
  });

/** A rule for an interface or a VLAN, which may have its addresses in only one field. */
export const cidrOrAddresses = (value: Record<string, unknown>): ValueFinding | undefined =>
  value["cidr"] && Array.isArray(value["addresses"]) && value["addresses"].length > 0
    ? ["has both cidr and addresses", "write all networks under addresses"]
    : undefined;

const host = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const isNetwork = (value: string): boolean => isPrefix(value) || isAddress(value);

/** Rules that several fields share, by their names in facts/data/talos-rules.json. */
export const shared: Record<keyof typeof table.rules, Rule> = {
  address: text(isAddress, "is not an IP address", "write an IP address"),
  network: text(isNetwork, "is neither an IP address nor a network", "write e.g. 10.0.0.10/24"),
  prefix: text(isPrefix, "is not a network with a prefix length", "write e.g. 10.0.0.0/8"),
  // A subnet with `!` before it is excluded.
  subnet: text(
    (value) => isNetwork(value.replace(/^!/, "")),
    "is not a subnet",
    "write e.g. 10.0.0.0/8",
  ),
  size: text(isSize, "is not a size", "write e.g. 50GiB"),
  absolute: text(
    (path) => path.startsWith("/"),
    "is not an absolute path",
    "write a path that begins with /",
  ),
  image: text(
    (name) => imageProblem(name) === undefined,
    "is not an image reference",
    "write e.g. ghcr.io/siderolabs/kubelet:v1.34.1",
  ),
  volumeName: text(
    (name) => /^[A-Za-z0-9-]{1,34}$/.test(name),
    "is not a volume name",
    "write letters, digits and hyphens, 34 at most",
  ),
  host: text(
    (name) => host.test(name) && name.length <= 253,
    "is not a host name",
    "write letters, digits and hyphens between dots",
  ),
  expression: (value) =>
    isWrongExpression(asText(value))
      ? ["is not a CEL expression", 'write e.g. disk.transport == "nvme" && !system_disk']
      : undefined,
  kubeletConfig: mapping((value) => {
    const ownFields = kubeletOwn.filter((key) => Object.hasOwn(value, key)).join(", ");
    return ownFields !== ""
      ? [`sets ${ownFields}, which only Talos may set`, `leave ${ownFields} out`]
      : undefined;
  }),
  labels: entries(
    isLabelValue,
    "a label",
    "write names and values in the form of Kubernetes: at most 63 letters, digits, -, _ and .",
  ),
  annotations: entries(() => true, "an annotation", "write a name in the form of Kubernetes"),
  taints: entries(
    (value) => {
      const [taintValue = "", effect = "", ...otherParts] = value.includes(":")
        ? value.split(":")
        : ["", value];
      return otherParts.length === 0 && isLabelValue(taintValue) && taintEffects.includes(effect);
    },
    "a taint",
    "write its value and effect, e.g. `true:NoSchedule`",
  ),
  // The keys of an encrypted volume need different slots.
  keySlots: (value) => {
    const repeatedSlot = repeated(
      listOf(value)
        .filter(isMapping)
        .map((key) => key["slot"] ?? 0),
    );
    return repeatedSlot !== undefined
      ? [`uses slot ${asText(repeatedSlot)} twice`, "give each key its own slot"]
      : undefined;
  },
  provisioning: mapping((value) => {
    const [minBytes = 0, maxBytes = Infinity] = [
      bytesOf(value["minSize"]),
      bytesOf(value["maxSize"]),
    ];
    return minBytes > maxBytes
      ? ["has a minSize above its maxSize", "write a maxSize of at least the minSize"]
      : undefined;
  }),
  // A route needs a network or a gateway.
  route: mapping(({ network, gateway, $patch }) =>
    !network && !gateway && !$patch
      ? ["has neither network nor gateway", "write one of the two"]
      : undefined,
  ),
  // An interface must be selected in one way, and be of one kind.
  device: mapping((value) => {
    if (value["ignore"] === true) return undefined;
    const selected = value["deviceSelector"];
    const isNamed = (value["interface"] ?? "") !== "";
    if (!isNamed && !isMapping(selected))
      return ["names no interface", "write its interface or its deviceSelector"];
    if (isNamed && isMapping(selected))
      return ["has both an interface and a deviceSelector", "leave one of the two out"];
    if (isMapping(selected) && Object.keys(selected).length === 0)
      return ["has an empty deviceSelector", "write e.g. deviceSelector: { physical: true }"];
    if (value["bond"] && value["bridge"])
      return ["has both a bond and a bridge", "leave one of the two out"];
    return cidrOrAddresses(value);
  }),
  // The cluster's network may have URLs of manifests only with the name custom.
  cni: mapping(({ name, urls }) =>
    (name === "none" || name === "flannel") && listOf(urls).length > 0
      ? [`has urls together with name: ${name}`, "leave urls out, or write name: custom"]
      : undefined,
  ),
  // A port may be a number, a text, or a range as a text (talos, pkg/machinery/config/types/network/port_range.go).
  ports: (value) => {
    const isPort = (port: unknown): boolean =>
      /^\d+$/.test(asText(port)) && Number(port) >= 1 && Number(port) <= 65535;
    const [firstPort, lastPort, ...otherParts] = asText(value).split("-");
    const isRange =
      isPort(firstPort) &&
      isPort(lastPort) &&
      Number(firstPort) <= Number(lastPort) &&
      otherParts.length === 0;
    const isValid = typeof value === "number" ? isPort(value) : isRange;
    return !isValid
      ? ["is not a port", "write 1 to 65535 without quotes, or a range such as 8000-8100"]
      : undefined;
  },
};
