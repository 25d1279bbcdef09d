/**
 * Grammar of image references. Transcribed from distribution/reference v0.6.0: reference.go (the grammar), normalize.go
 * (the registry in a name). The kubelet answers a text outside of this grammar with InvalidImageName.
 */

const host =
  /^(?:\[[a-fA-F0-9:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)(?::(\d+))?$/;
const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const digests: Record<string, number> = { sha256: 64, sha384: 96, sha512: 128 };

/** Mistake of a text that is not an image reference; undefined if it is one. */
export function imageProblem(text: string): string | undefined {
  if (text.length > 600) return "it is too long for a reference";
  if (/^[a-z]+:\/\//i.test(text)) return "it has a scheme";
  if (/\s/.test(text)) return "it contains white space";
  const [reference = "", digest, ...otherParts] = text.split("@");
  if (otherParts.length > 0) return "it contains more than one @";
  if (digest !== undefined) {
    const [algorithm = "", hex = "", ...otherParts] = digest.split(":");
    if (otherParts.length > 0 || digests[algorithm] !== hex.length || !/^[a-f0-9]+$/.test(hex))
      return "its digest is invalid (a valid one is e.g. sha256: and 64 hexadecimal digits)";
  }
  const slash = reference.lastIndexOf("/");
  const colon = reference.indexOf(":", slash + 1);
  const name = colon < 0 ? reference : reference.slice(0, colon);
  if (colon >= 0 && !tagForm.test(reference.slice(colon + 1)))
    return "its tag is invalid (a tag has up to 128 letters, digits, `_`, `.` and `-`, and does not begin with `.` or `-`)";
  return nameProblem(name);
}

function nameProblem(name: string): string | undefined {
  const [first = "", ...otherParts] = name.split("/");
  const hasHost =
    otherParts.length > 0 &&
    (/[.:]/.test(first) || first === "localhost" || first.toLowerCase() !== first);
  if (hasHost) {
    const parts = host.exec(first);
    if (!parts) return `its registry "${first}" is not a host`;
    if (parts[1] !== undefined && (Number(parts[1]) < 1 || Number(parts[1]) > 65535))
      return "its port is outside of 1 to 65535";
  }
  const path = hasHost ? otherParts : [first, ...otherParts];
  const wrongPart = path.find((part) => !component.test(part));
  if (wrongPart === undefined) {
    if (path.join("/").length > 255) return "its name has more than 255 characters";
    return /^[a-f0-9]{64}$/.test(name) ? "it is the ID of an image" : undefined;
  }
  return wrongPart.toLowerCase() !== wrongPart && component.test(wrongPart.toLowerCase())
    ? "it has upper-case letters outside of the tag"
    : `"${wrongPart}" cannot be part of a name`;
}
