/** Secrets that tell themselves by their beginning. Sources: each issuer's documentation of its token's format. */
const marks: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "a private key"],
  [/\bhf_[A-Za-z0-9]{16,}/, "a token of Hugging Face"],
  [/\bsk-(?:[A-Za-z0-9]{20}|(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16})/, "a key of an API"],
  [/\bnvapi-[A-Za-z0-9_-]{16,}/, "a key of NVIDIA's NGC"],
  [/\btskey-[a-z]+-[A-Za-z0-9-]{8,}/, "a key of Tailscale"],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/, "a token of GitHub"],
  [/\bglpat-[A-Za-z0-9_-]{16,}/, "a token of GitLab"],
  [/\bdckr_pat_[A-Za-z0-9_-]{16,}/, "a token of Docker Hub"],
  [/\bxox[abprs]-[A-Za-z0-9-]{16,}/, "a token of Slack"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/, "an access key of AWS"],
  [/\bAIza[A-Za-z0-9_-]{35}/, "a key of Google's API"],
  [/\bAGE-SECRET-KEY-1/, "a key of age"],
  [/[?&](?:join_?token|token|api_?key|password)=[^&\s$<{]/i, "a token in a URL"],
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i, "a password in a URL"],
  [/\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/, "a signed token (JWT)"],
];

/** Names of environment variables that hold secrets. */
const variable =
  /^\w*(?:AUTH_?KEY|SETUP_KEY|API_?KEY|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD|PASSWD|PASSPHRASE|AUTH_?TOKEN|API_?TOKEN|_TOKEN|_SECRET|MASTER_KEY|CREDENTIALS)$/;

/** Tokens that a language model is made of, which are none. */
const ofModels = /^(?:\w+_)?(?:BOS|EOS|PAD|UNK|SEP|CLS|MASK|STOP|IMAGE)_TOKEN$/;

/** Whether a variable of this name holds a secret, whatever its value looks like. */
export const namesSecret = (name: string): boolean => variable.test(name) && !ofModels.test(name);

/** Longest text that is looked through: no token is that long. */
const looked = 100_000;

/** What kind of secret a text holds; undefined when it holds none that is known by its form. */
export function secretIn(text: string): string | undefined {
  if (text.length < 12) return undefined;
  const part = text.slice(0, looked);
  return marks.find(([mark]) => mark.test(part))?.[1];
}
