import { isIPv4, isIPv6 } from "node:net";

/** Longest name that DNS takes (RFC 1035). */
const longestHost = 253;

/**
 * Whether a text is a host name. Underscores are let be, as Go's resolver does (net/dnsclient.go, isDomainName). A name whose
 * last part is a number is none: resolvers take it for a misspelt IPv4 address (RFC 1123, 2.1; url.spec.whatwg.org, "ends in a number").
 */
function isHostName(text: string): boolean {
  const name = text.replace(/\.$/, "");
  if (name === "" || name.length > longestHost) return false;
  const labels = name.split(".");
  if (!labels.every((label) => /^[A-Za-z0-9_](?:[-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?$/.test(label))) return false;
  // `10.0.0.x` is an address that somebody has yet to fill in.
  if (labels.length === 4 && labels.slice(0, 3).every((label) => /^\d{1,3}$/.test(label))) return false;
  return !/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "");
}

/** The sixteen bits groups of an IPv6 address without a zone. */
function groupsOf(address: string): number[] {
  const v4 = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text = v4
    ? `${v4[1]}${((Number(v4[2]) << 8) | Number(v4[3])).toString(16)}:${((Number(v4[4]) << 8) | Number(v4[5])).toString(16)}`
    : address;
  const [head = "", tail] = text.split("::");
  const read = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => parseInt(group, 16)));
  const [first, last] = [read(head), read(tail ?? "")];
  return tail === undefined ? first : [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** An address as a number, so that one can count from it. */
function numberOf(address: string): bigint {
  const groups = isIPv4(address) ? address.split(".").map(Number) : groupsOf(address);
  const base = isIPv4(address) ? 256n : 65536n;
  return groups.reduce((sum, group) => sum * base + BigInt(group), 0n);
}

/** The address of a number, IPv6 in its shortest spelling. */
function addressOf(number: bigint, of: 4 | 6): string {
  const [count, base] = of === 4 ? [4, 256n] : [8, 65536n];
  const groups = Array.from({ length: count }, (_, index) => (number / base ** BigInt(count - 1 - index)) % base);
  if (of === 4) return groups.join(".");
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(":")}]`).hostname.slice(1, -1);
}

/**
 * The addresses that a text like `10.1.0.1-10.1.0.200` stands for; undefined where it is no attempt at a range.
 *
 * @param most addresses that are listed.
 * @returns the addresses, or what is wrong with the range.
 */
export function addressRange(text: string, most: number): string[] | { flaw: string; why: string } | undefined {
  const [from = "", ...others] = text.split("-").map((part) => part.trim());
  const family = isIPv4(from) ? 4 : isIPv6(from) && !from.includes("%") ? 6 : undefined;
  const [to = ""] = others;
  if (family === undefined || others.length === 0) return undefined;
  if (others.length > 1 || !(family === 4 ? isIPv4(to) : isIPv6(to) && !to.includes("%")))
    return { flaw: "is not a range of addresses", why: "which machines the pool has cannot be told" };
  const begin = numberOf(from);
  const count = numberOf(to) - begin + 1n;
  if (count < 1n) return { flaw: "ends before it begins", why: "it holds no address" };
  if (count > BigInt(most)) return { flaw: `is ${count} addresses`, why: `a pool has ${most} machines at most` };
  return Array.from({ length: Number(count) }, (_, index) => addressOf(begin + BigInt(index), family));
}

/** One spelling for all spellings of an address: IPv6 in full, IPv4 within IPv6 as IPv4, host names in lower case. */
export function canonicalAddress(text: string): string {
  const [address = "", zone] = text.split("%");
  if (!isIPv6(address)) return text.toLowerCase().replace(/\.$/, "");
  const groups = groupsOf(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  return groups.map((group) => group.toString(16)).join(":") + (zone === undefined ? "" : `%${zone}`);
}

/** What an IP address is, when it cannot be a machine's; undefined when it can. Source: IANA's special-purpose registries. */
function specialAddress(text: string): string | undefined {
  const canonical = canonicalAddress(text);
  if (isIPv4(canonical)) {
    const first = Number(canonical.split(".")[0]);
    if (first === 0) return "an unspecified address";
    if (first === 127) return "a loopback address";
    if (first >= 224 && first < 240) return "a multicast address";
    return first >= 240 ? "a broadcast or reserved address" : undefined;
  }
  if (!isIPv6(text.split("%")[0] ?? "")) return undefined;
  const groups = groupsOf(text.split("%")[0] ?? "");
  const before = groups.slice(0, 7).every((group) => group === 0);
  if (before && groups[7] === 0) return "the unspecified address";
  if (before && groups[7] === 1) return "the loopback address";
  const [first = 0] = groups;
  if (first >> 8 === 0xff) return "a multicast address";
  return first >> 6 === 0xfe80 >> 6 && !text.includes("%") ? "a link-local address without its zone" : undefined;
}

/** Why a text is no address of one machine; undefined when it is one. */
export function addressFlaw(text: string): string | undefined {
  if (isIPv4(text) || isIPv6(text.split("%")[0] ?? "")) {
    if (/%/.test(text) && !/^[^%]+%(?!25)[A-Za-z0-9_.-]{1,15}$/.test(text)) return "is not an address";
    const special = specialAddress(text);
    return special && `is ${special}`;
  }
  if (/^localhost\.?$/i.test(text)) return "is this computer itself";
  return isHostName(text) ? undefined : "is not an address";
}

/** Ports of Talos' own API (siderolabs/docs, ingress firewall: apid, trustd). */
const talosPorts = ["50000", "50001"];

/** Why a URL is not one by which every machine reaches the Kubernetes API; undefined when it may be one. */
export function endpointFlaw(url: string): string | undefined {
  const [, bracketed, name = "", port] = /^https:\/\/(?:\[([^\]]*)\]|([^:/]*))(?::(\d+))?/i.exec(url) ?? [];
  const host = bracketed ?? name;
  if (/^localhost\.?$/i.test(host)) return "is each machine itself";
  const special = specialAddress(host);
  if (special !== undefined) return `has ${special}`;
  return port !== undefined && talosPorts.includes(port) ? "has the port of Talos' own API" : undefined;
}

/** Why a text is no URL of a server; undefined when it is one. */
export function urlFlaw(text: string, schemes: readonly string[]): string | undefined {
  const form = new RegExp(`^(?:${schemes.join("|")})://([^/?#]*)([^?#]*)([?#].*)?$`, "i").exec(text.slice(0, 2048));
  if (text.length > 2048 || !form || /[\s\\"'`$<>{}|^]/.test(text))
    return `is not a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  const [, authority = "", , rest] = form;
  if (authority.includes("@")) return "has a user in it";
  if (rest !== undefined) return "has a query or a fragment";
  const parts = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority);
  if (!parts) return "has no host";
  const [, name = "", port] = parts;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65535))
    return "has a port that is not one (1 to 65535)";
  const host = /^\[(.*)\]$/.exec(name)?.[1];
  if (host !== undefined ? !isIPv6(host.split("%")[0] ?? "") : !isIPv4(name) && !isHostName(name))
    return "has a host that is not one";
  return undefined;
}
