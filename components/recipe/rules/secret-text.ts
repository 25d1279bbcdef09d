import { isRandom } from "./random-text";

/** A kind of secret with a known form. */
interface Mark {
  kind: string;
  /**
   * Pattern of the secret. Every quantifier is bounded, so that the time of a search grows only linearly with the
   * text's length.
   */
  pattern: RegExp;
  /** Further condition for the text that the pattern finds. */
  isSecret?: (match: string) => boolean;
}

const mark = (kind: string, pattern: RegExp, isSecret?: (match: string) => boolean): Mark =>
  isSecret === undefined ? { kind, pattern } : { kind, pattern, isSecret };

/**
 * Kinds of secrets with a known form. Most prefixes, and the patterns for keys of Azure and AWS, come from the rules of
 * gitleaks (config/gitleaks.toml; MIT License, Copyright (c) 2019 Zachary Rice). The other patterns follow the
 * documentation of each issuer. The lengths, the word boundaries and the tests against false hits are this package's
 * own, so no rule is copied as a whole.
 */
const marks: Mark[] = [
  mark("a private key", /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/g),
  mark("a token of Hugging Face", /(?<![A-Za-z0-9])(?:hf_|api_org_)[A-Za-z0-9]{16,128}/g),
  mark("a key of an API", /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,256}/g, isKeyOfApi),
  mark("a key of Stripe", /(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,128}/g),
  mark(
    "a key of an API",
    /(?<![A-Za-z0-9])(?:gsk_|xai-|pplx-|r8_|csk-|tgp_v1_|lsv2_pt_)[A-Za-z0-9_-]{24,128}/g,
  ),
  mark("a key of NVIDIA's NGC", /(?<![A-Za-z0-9])nvapi-[A-Za-z0-9_-]{16,128}/g),
  mark("a key of Tailscale", /(?<![A-Za-z0-9])tskey-[a-z]{1,20}-[A-Za-z0-9-]{8,128}/g),
  mark(
    "a token of GitHub",
    /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})/g,
  ),
  mark(
    "a token of GitLab",
    /(?<![A-Za-z0-9])(?:glpat|gldt|glrt|glcbt|glptt|glft|glimt|glagent|gloas|glsoat)-[A-Za-z0-9_.-]{16,300}/g,
  ),
  mark("a token of Docker Hub", /(?<![A-Za-z0-9])dckr_[op]at_[A-Za-z0-9_-]{16,128}/g),
  mark("a token of Slack", /(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{16,255}/g),
  mark("a webhook of Slack", /hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9+/]{20,128}/g),
  mark(
    "a webhook of Discord",
    /discord(?:app)?\.com\/api\/webhooks\/\d{1,24}\/[A-Za-z0-9_-]{20,128}/g,
  ),
  mark("a token of Telegram", /(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g),
  mark(
    "an access key of AWS",
    /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  ),
  mark("a key of Google's API", /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g),
  mark(
    "a token of Google",
    /(?<![A-Za-z0-9])(?:ya29\.[A-Za-z0-9_-]{20,1024}|GOCSPX-[A-Za-z0-9_-]{20,64})/g,
  ),
  mark("a secret of Azure", /(?<![A-Za-z0-9])[A-Za-z0-9_.-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}/g),
  mark("a key of age", /AGE-(?:SECRET-KEY|PLUGIN)-[A-Z0-9-]{1,256}/g),
  mark("a token of npm", /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,64}/g),
  mark("a token of PyPI", /(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{32,512}/g),
  mark("a token of Pulumi", /(?<![A-Za-z0-9])pul-[0-9a-f]{40}/g),
  mark("a token of DigitalOcean", /(?<![A-Za-z0-9])do[opr]_v1_[0-9a-f]{64}/g),
  mark("a token of Vault", /(?<![A-Za-z0-9])hv[bsr]\.[A-Za-z0-9_-]{24,300}/g),
  mark("a token of Doppler", /(?<![A-Za-z0-9])dp\.(?:pt|st|ct|scim|audit)\.[A-Za-z0-9.]{20,128}/g),
  mark("a key of SendGrid", /(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/g),
  mark("a token of Grafana", /(?<![A-Za-z0-9])(?:glsa|glc)_[A-Za-z0-9_+/=]{30,400}/g),
  mark("a token of Atlassian", /(?<![A-Za-z0-9])ATATT3[A-Za-z0-9_=-]{50,300}/g),
  mark("a token of 1Password", /(?<![A-Za-z0-9])ops_eyJ[A-Za-z0-9_+/=-]{50,2000}/g),
  mark("a token of Sentry", /(?<![A-Za-z0-9])sntry[su]_[A-Za-z0-9_+/=-]{32,400}/g),
  mark("a token of Fly.io", /(?<![A-Za-z0-9])(?:fm2_|fo1_)[A-Za-z0-9_+/=-]{32,2000}/g),
  mark("a token of NetBird", /(?<![A-Za-z0-9])nbp_[A-Za-z0-9]{30,64}/g),
  mark("a token of k3s", /(?<![A-Za-z0-9])K10[0-9a-f]{40,64}::[A-Za-z0-9:._-]{1,128}/g),
  mark(
    "a signed token (JWT)",
    /(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,2000})?/g,
  ),
  mark(
    "a token for joining a cluster",
    /(?<![\w./-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w./-])/g,
    isBootstrapToken,
  ),
  mark(
    "a token in a URL",
    /[?&](?:join_?token|token|access_?token|api_?key|password|sig|x-amz-signature)=[^&\s$<{"']{1,2000}/gi,
  ),
];

/**
 * Whether a text that begins with `sk-` is a key: it contains a digit, or a long word follows `sk-`. Names such as
 * sk-learn-and-more have neither.
 */
function isKeyOfApi(key: string): boolean {
  return /\d/.test(key) || /^sk-[A-Za-z0-9]{20}/.test(key);
}

/**
 * Whether a text of this form is a token of kubeadm (cluster-bootstrap, `[a-z0-9]{6}\.[a-z0-9]{16}`), and not the name
 * of a file. A token is random, so it contains both digits and letters.
 */
function isBootstrapToken(token: string): boolean {
  const secret = token.slice(7);
  return /\d/.test(secret) && /[a-z]/.test(secret);
}

/** The words of a name in lower case: `secretAccessKey` and `SECRET_ACCESS_KEY` both give `secret`, `access`, `key`. */
const wordsOf = (name: string): string[] =>
  name
    .slice(-128)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter((word) => word !== "");

/**
 * Last words of a name that only describe the value's form. The word before them decides whether the value is a secret.
 */
const formOfValue = new Set([
  "data",
  "value",
  "base64",
  "b64",
  "encoded",
  "raw",
  "hex",
  "text",
  "content",
  "string",
]);

/** Pattern of words that always name a secret, even as the end of a longer word (`jointoken`). */
const always =
  /(?:password|passwd|passphrase|pwd|token|secret|apikey|authkey|accesskey|secretkey|privatekey|sharedkey|accountkey|setupkey|credential|credentials)$/;

/** Words that name a secret only as a whole word: `pass` names a secret, but `bypass` does not. */
const whole = new Set(["pass", "psk", "cookie", "cookies", "authorization", "dockerconfigjson"]);

/** Words before `key` with which the name means a secret, as in `apiKey`. */
const ofKey = new Set([
  "access",
  "account",
  "admin",
  "api",
  "application",
  "auth",
  "client",
  "cipher",
  "deploy",
  "encryption",
  "enc",
  "hmac",
  "jwt",
  "license",
  "management",
  "master",
  "omni",
  "openai",
  "private",
  "preshared",
  "psk",
  "secret",
  "service",
  "session",
  "setup",
  "shared",
  "sign",
  "signing",
  "ssh",
  "ssl",
  "storage",
  "tls",
  "webhook",
]);

/** Words before `token` that mean a token of a language model, which is no secret. */
const ofModels = new Set([
  "bos",
  "eos",
  "pad",
  "unk",
  "sep",
  "cls",
  "mask",
  "stop",
  "image",
  "special",
  "per",
  "next",
]);

/** Whether a variable, flag or field of this name holds a secret, whatever its value looks like. */
export function namesSecret(name: string): boolean {
  const words = wordsOf(name);
  const isContent = words.length > 1 && formOfValue.has(words.at(-1)!);
  while (words.length > 1 && (formOfValue.has(words.at(-1)!) || /^\d+$/.test(words.at(-1)!)))
    words.pop();
  if (isContent && /(?:kube|talos|docker)config$/.test(words.join(""))) return true;
  const last = words.at(-1) ?? "";
  const previousWord = words.at(-2) ?? "";
  if (last === "token" && ofModels.has(previousWord)) return false;
  if (last === "key") return ofKey.has(previousWord) || /key$/.test(previousWord);
  return whole.has(last) || always.test(last);
}

/** Names whose value may be a secret, but need not be one, as in `key: nvidia.com/gpu`. */
const doubtful = new Set([
  "key",
  "keys",
  "auth",
  "crt",
  "ca",
  "cert",
  "certificate",
  "signature",
  "sig",
  "salt",
  "nonce",
]);

/** Whether a name is doubtful: its value is a secret only if it looks like one. */
export const mayNameSecret = (name: string): boolean => {
  const words = wordsOf(name).filter((word) => !formOfValue.has(word));
  return doubtful.has(words.at(-1) ?? "");
};

/**
 * Whether a text is a user name with a password in base64, as in Docker's `auth` and in the header `Authorization:
 * Basic`.
 */
export function isBasicAuth(text: string): boolean {
  if (text.length > 4_000 || !/^[A-Za-z0-9+/]{8,4000}={0,2}$/.test(text)) return false;
  return /^[\x21-\x7e]{0,200}:[\x20-\x7e]{1,3000}$/.test(
    Buffer.from(text, "base64").toString("latin1"),
  );
}

/** Replaces every secret with a known form in a text. */
export function withoutMarked(text: string, replacement: string): string {
  return marks.reduce((partlyRedacted, { pattern, isSecret }) => {
    return partlyRedacted.replace(pattern, (match) => {
      if (isSecret?.(match) === false) return match;
      const parameter = /^[?&][\w-]{1,20}=/.exec(match)?.[0] ?? "";
      return parameter + replacement;
    });
  }, text);
}

/**
 * Place of the password in a URL: between the first colon after `://` and the last `@` before the path. If there is no
 * `@` before the path, the last `@` of the word counts, unless a port is between the colon and the path.
 *
 * @param start index of `://`.
 */
export function passwordOfUrl(
  text: string,
  start: number,
): { start: number; end: number } | undefined {
  const following = text.slice(start + 3, start + 1_024);
  const word = /^[^\s"'`<>\\]*/.exec(following)![0];
  const colon = word.indexOf(":");
  const slash = word.search(/[/?#]/);
  if (colon < 0 || (slash >= 0 && slash < colon)) return undefined;
  const authority = slash < 0 ? word : word.slice(0, slash);
  // Some passwords contain a slash, although a URL does not allow it. An `@` after a port and a slash begins a digest.
  const isPort = slash >= 0 && /^\d{1,5}$/.test(word.slice(colon + 1, slash));
  const atSign =
    authority.includes("@") || isPort ? authority.lastIndexOf("@") : word.lastIndexOf("@");
  return atSign > colon + 1 ? { start: start + 3 + colon + 1, end: start + 3 + atSign } : undefined;
}

/** Greatest number of a text's characters that are searched for a secret. No token is longer. */
const looked = 100_000;

/** Kind of the secret in a text; undefined if the text contains no secret with a known form. */
export function secretIn(text: string): string | undefined {
  if (text.length < 12) return undefined;
  const sample = text.slice(0, looked);
  const secretMark = marks.find(({ pattern, isSecret }) => {
    if (isSecret === undefined) return sample.search(pattern) >= 0;
    return [...sample.matchAll(pattern)].some(([match]) => isSecret(match));
  });
  if (secretMark !== undefined) return secretMark.kind;
  for (
    let position = sample.indexOf("://");
    position >= 0;
    position = sample.indexOf("://", position + 3)
  )
    if (passwordOfUrl(sample, position) !== undefined) return "a password in a URL";
  return undefined;
}

/** Whether the value of a doubtful name looks like a secret. */
export const looksSecret = (value: string): boolean => isBasicAuth(value) || isRandom(value, 16);
