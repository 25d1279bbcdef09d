/** Secrets that tell themselves by their beginning. Sources: each issuer's documentation of its token's format. */
const marks: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "a private key"],
  [/\bhf_[A-Za-z0-9]{16,}/, "a token of Hugging Face"],
  [/\bsk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}/, "a key of an API"],
  [/\bnvapi-[A-Za-z0-9_-]{16,}/, "a key of NVIDIA's NGC"],
  [/\btskey-[a-z]+-[A-Za-z0-9-]{8,}/, "a key of Tailscale"],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/, "a token of GitHub"],
  [/\bglpat-[A-Za-z0-9_-]{16,}/, "a token of GitLab"],
  [/\bdckr_pat_[A-Za-z0-9_-]{16,}/, "a token of Docker Hub"],
  [/\bxox[abprs]-[A-Za-z0-9-]{16,}/, "a token of Slack"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/, "an access key of AWS"],
  [/\bAIza[A-Za-z0-9_-]{35}/, "a key of Google's API"],
  [/\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/, "a signed token (JWT)"],
];

/** Longest text that is looked through: no token is that long. */
const looked = 100_000;

/** What kind of secret a text holds; undefined when it holds none that is known by its form. */
export function secretIn(text: string): string | undefined {
  if (text.length < 12) return undefined;
  const part = text.slice(0, looked);
  return marks.find(([mark]) => mark.test(part))?.[1];
}
