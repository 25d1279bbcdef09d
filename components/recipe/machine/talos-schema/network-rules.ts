import { isMapping } from "../../mapping";
import type { Rule, ValueFlaw } from "./value-rules";

/**
 * What Talos asks of the network of a machine and of its cluster.
 * Source: siderolabs/talos v1.13.0, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go.
 */

export const route: Rule = (value) =>
  !isMapping(value) || value["network"] || value["gateway"] || value["$patch"]
    ? undefined
    : { problem: "has neither network nor gateway", remedy: "write one of the two" };

/** An interface or a VLAN. */
const cidrOrAddresses = (value: Record<string, unknown>): ValueFlaw | undefined =>
  value["cidr"] && Array.isArray(value["addresses"]) && value["addresses"].length > 0
    ? { problem: "has cidr and addresses", remedy: "write all of them under addresses" }
    : undefined;

/** A VLAN: one way of naming its addresses. */
export const vlan: Rule = (value) => (isMapping(value) ? cidrOrAddresses(value) : undefined);

/** Talos' own DNS: what needs it to be on. */
export const hostDns: Rule = (value) =>
  isMapping(value) && value["forwardKubeDNSToHost"] === true && value["enabled"] === false
    ? { problem: "has forwardKubeDNSToHost without enabled", remedy: "write enabled: true, or leave both out" }
    : undefined;

/** An interface: named in one way, and of one kind. */
export const device: Rule = (value) => {
  if (!isMapping(value) || value["ignore"] === true) return undefined;
  const [named, selected] = [value["interface"], value["deviceSelector"]];
  const [hasName, hasSelector] = [named !== undefined && named !== null && named !== "", isMapping(selected)];
  if (!hasName && !hasSelector)
    return { problem: "names no interface", remedy: "write its interface or its deviceSelector" };
  if (hasName && hasSelector)
    return { problem: "has an interface and a deviceSelector", remedy: "leave one of the two out" };
  if (isMapping(selected) && Object.keys(selected).length === 0)
    return { problem: "has an empty deviceSelector", remedy: "write e.g. deviceSelector: { physical: true }" };
  if (value["bond"] && value["bridge"])
    return { problem: "has a bond and a bridge", remedy: "leave one of the two out" };
  return cidrOrAddresses(value);
};

/** The cluster's network: addresses of manifests only for one of the user's own. */
export const cni: Rule = (value) => {
  if (!isMapping(value)) return undefined;
  const urls = Array.isArray(value["urls"]) ? value["urls"].length : 0;
  if ((value["name"] === "none" || value["name"] === "flannel") && urls > 0)
    return { problem: `has urls beside name: ${value["name"]}`, remedy: "leave urls out, or write name: custom" };
  return undefined;
};
