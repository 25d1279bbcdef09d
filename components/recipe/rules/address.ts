import { fromByteArray, IPv4, IPv6, parse } from "ipaddr.js";
import { isIPv4, isIPv6 } from "node:net";

/** Longest name in DNS (RFC 1035). */
const longestHost = 253;

/**
 * Whether a text is a host name. Underscores are allowed, as in Go's resolver (net/dnsclient.go, isDomainName). A name
 * whose last part is a number is refused: resolvers read it as a misspelt IPv4 address (RFC 1123, 2.1;
 * url.spec.whatwg.org, "ends in a number").
 */
function isHostName(text: string): boolean {
  const name = text.replace(/\.$/, "");
  if (name === "" || name.length > longestHost) return false;
  const labels = name.split(".");
  if (!labels.every((label) => /^[A-Za-z0-9_](?:[-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?$/.test(label)))
    return false;
  // `10.0.0.x` is a placeholder for an address.
  if (labels.length === 4 && labels.slice(0, 3).every((label) => /^\d{1,3}$/.test(label)))
    return false;
  return !/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "");
}

/** An address as a number, for counting. */
const numberOf = (address: string): bigint =>
  parse(address)
    .toByteArray()
    .reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);

/** The address that a number stands for; IPv6 in its shortest spelling. */
function addressOf(number: bigint, family: 4 | 6): string {
  const count = family === 4 ? 4 : 16;
  return fromByteArray(
    Array.from({ length: count }, (_, index) =>
      Number((number >> BigInt(8 * (count - 1 - index))) & 255n),
    ),
  ).toString();
}

/**
 * The addresses in a range such as `10.1.0.1-10.1.0.200`; undefined if the text does not look like a range.
 *
 * @param maxCount greatest number of addresses.
 * @returns the addresses, or the mistake in the range.
 */
export function addressRange(
  text: string,
  maxCount: number,
): string[] | { flaw: string; why: string } | undefined {
  const [firstText = "", ...otherParts] = text.split("-").map((part) => part.trim());
  const family = isIPv4(firstText)
    ? 4
    : isIPv6(firstText) && !firstText.includes("%")
      ? 6
      : undefined;
  const [lastText = ""] = otherParts;
  if (family === undefined || otherParts.length === 0) return undefined;
  if (
    otherParts.length > 1 ||
    !(family === 4 ? isIPv4(lastText) : isIPv6(lastText) && !lastText.includes("%"))
  )
    return {
      flaw: "is not a range of addresses",
      why: "the pool's machines are unknown",
    };
  const begin = numberOf(firstText);
  const count = numberOf(lastText) - begin + 1n;
  if (count < 1n) return { flaw: "ends before it begins", why: "the range contains no address" };
  if (count > BigInt(maxCount))
    return { flaw: `has ${count} addresses`, why: `a pool has at most ${maxCount} machines` };
  return Array.from({ length: Number(count) }, (_, index) =>
    addressOf(begin + BigInt(index), family),
  );
}

/** The canonical spelling of an address: IPv6 in full, IPv4 within IPv6 as IPv4, host names in lower case. */
export function canonicalAddress(text: string): string {
  const [address = "", zone] = text.split("%");
  if (!isIPv6(address)) return text.toLowerCase().replace(/\.$/, "");
  const parsed = IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return parsed.toNormalizedString() + (zone === undefined ? "" : `%${zone}`);
}

/** Why no machine can have an IP address, e.g. `a loopback address`; undefined for any other text. */
function specialAddress(text: string): string | undefined {
  const canonical = canonicalAddress(text);
  if (isIPv4(canonical)) {
    const address = IPv4.parse(canonical);
    const [first = 0] = address.octets;
    return first >= 240 ? "a broadcast or reserved address" : special[address.range()];
  }
  const [address = "", zone] = canonical.split("%");
  if (!isIPv6(address)) return undefined;
  const range = IPv6.parse(address).range();
  return range === "linkLocal" && zone === undefined
    ? "a link-local address without its zone"
    : special[range];
}

/** Ranges whose addresses no machine can have, by the ranges' names in ipaddr.js. */
const special: Readonly<Record<string, string>> = {
  unspecified: "an unspecified address",
  loopback: "a loopback address",
  multicast: "a multicast address",
};

/** Mistake of a text that is not the address of a machine; undefined if it is one. */
export function addressProblem(text: string): string | undefined {
  if (isIPv4(text) || isIPv6(text.split("%")[0] ?? "")) {
    if (/%/.test(text) && !/^[^%]+%(?!25)[A-Za-z0-9_.-]{1,15}$/.test(text))
      return "is not an address";
    const special = specialAddress(text);
    return special && `is ${special}`;
  }
  if (/^localhost\.?$/i.test(text)) return "names this computer itself";
  return isHostName(text) ? undefined : "is not an address";
}

/** Ports of Talos' own API (siderolabs/docs, ingress firewall: apid, trustd). */
const talosPorts = ["50000", "50001"];

/** Mistake of a URL by which machines cannot reach the Kubernetes API; undefined if it may be right. */
export function endpointProblem(url: string): string | undefined {
  const [, bracketed, name = "", port] =
    /^https:\/\/(?:\[([^\]]*)\]|([^:/]*))(?::(\d+))?/i.exec(url) ?? [];
  const host = bracketed ?? name;
  if (/^localhost\.?$/i.test(host)) return "points to each machine itself";
  const special = specialAddress(host);
  if (special !== undefined) return `has ${special}`;
  return port !== undefined && talosPorts.includes(port)
    ? "has the port of Talos' own API"
    : undefined;
}

/** Mistake of a text that is not the URL of a server; undefined if it is one. */
export function urlProblem(text: string, schemes: readonly string[]): string | undefined {
  const form = new RegExp(`^(?:${schemes.join("|")})://([^/?#]*)([^?#]*)([?#].*)?$`, "i").exec(
    text.slice(0, 2048),
  );
  if (text.length > 2048 || !form || /[\s\\"'`$<>{}|^]/.test(text))
    return `is not a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  const [, authority = "", , rest] = form;
  if (authority.includes("@")) return "contains a user name";
  if (rest !== undefined) return "has a query or a fragment";
  const parts = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority);
  if (!parts) return "has no host";
  const [, name = "", port] = parts;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65535))
    return "has a port outside of 1 to 65535";
  const host = /^\[(.*)\]$/.exec(name)?.[1];
  if (host !== undefined ? !isIPv6(host.split("%")[0] ?? "") : !isIPv4(name) && !isHostName(name))
    return "has an invalid host";
  return undefined;
}
