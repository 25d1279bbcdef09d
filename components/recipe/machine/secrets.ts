import { isMapping } from "../mapping";
import { namesSecret, secretIn } from "../rules";

/** A secret in a patch: its path, and never its value. */
export interface Secret {
  path: string;
  remedy: string;
}

/**
 * Fields of Talos' configuration that hold secrets, by document. Source: talos, pkg/machinery/config/types,
 * RedactSecrets of v1alpha1 and Redact of the documents.
 */
const fields: Record<string, readonly RegExp[]> = {
  "": [
    /^machine\.token$/,
    /^machine\.ca\.key$/,
    /^cluster\.(token|secret|aescbcEncryptionSecret|secretboxEncryptionSecret)$/,
    /^cluster\.(ca|aggregatorCA|serviceAccount|etcd\.ca)\.key$/,
    /^machine\.network\.interfaces\[\d+\](\.vlans\[\d+\])?\.wireguard\.privateKey$/,
    /^machine\.network\.interfaces\[\d+\](\.vlans\[\d+\])?\.vip\.(equinixMetal|hcloud)\.apiToken$/,
    /^machine\.registries\.config\..+\.auth\.(password|auth|identityToken)$/,
    /^machine\.registries\.config\..+\.tls\.clientIdentity\.key$/,
  ],
  RegistryAuthConfig: [/^(password|auth|identityToken)$/],
  RegistryTLSConfig: [/^clientIdentity\.key$/],
  WireguardConfig: [/^privateKey$/, /^peers\[\d+\]\.presharedKey$/],
  HCloudVIPConfig: [/^apiToken$/],
  SideroLinkConfig: [/^joinToken$/],
};

/** Path of a static passphrase of an encrypted volume, in any document. */
const passphrase = /(^|\.)keys\[\d+\]\.static\.passphrase$/;

/** Patterns of the names of fields in which users keep secrets. */
const names = [
  /^(password|passwd|passphrase|token)$/i,
  /^(api|auth|private|preshared)_?key$/i,
  /^(api|auth|access|join|bearer|identity)_?token$/i,
  /^(client_?)?secret_?key$/i,
  /^client_?secret$/i,
  /^aws_?secret_?access_?key$/i,
];

/** Pattern of an environment variable or flag with a secret, with `=` and the first character of its value. */
const variable =
  /(^|[\s"',;])-{0,2}(\w{0,64}(AUTH_?KEY|SETUP_KEY|API_?KEY|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD|PASSWD|PASSPHRASE|AUTH_?TOKEN|API_?TOKEN|_TOKEN|_SECRET|CREDENTIALS))[ \t]{0,8}=[ \t]{0,8}(?![\s"']{0,8}(\/|file:))[^\s]/i;

/** Paths of mappings with environment variables: machine.env, and an EnvironmentConfig. */
const environment = /^(machine\.env|variables|cluster\.\w+\.env)\.[^.]+$/;

/** base64 of PEM with a private key: `-----BEGIN … PRIVATE KEY`. */
const encodedKey =
  /LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,60}(UFJJVkFURSBLRVk|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)/;

/** Secrets in a document, in their order. */
export function secretsIn(value: unknown, kind: string): Secret[] {
  const secrets: Secret[] = [];
  const visit = (value: unknown, path: string, key: string): void => {
    if (typeof value === "string" || typeof value === "number") {
      if (isSecret(String(value), path, key, kind))
        secrets.push({
          path: kind === "" ? path : `${kind}.${path}`,
          remedy: remedyOf(kind, path),
        });
    } else if (Array.isArray(value))
      value.forEach((item, index) => visit(item, `${path}[${index}]`, ""));
    else if (isMapping(value) && value["kind"] === "Secret" && path !== "") {
      if (isMapping(value["data"]) || isMapping(value["stringData"]))
        secrets.push({ path, remedy: remedyOf(kind, path) });
    } else if (isMapping(value))
      for (const [step, child] of Object.entries(value))
        visit(child, path === "" ? step : `${path}.${step}`, step);
  };
  visit(value, "", "");
  return secrets;
}

function isSecret(text: string, path: string, key: string, kind: string): boolean {
  if (text.trim() === "" || /^\s*(\$\{[^}]*\}|\{\{[^}]*\}\}|<[^>]*>)\s*$/.test(text)) return false; // An empty value or a placeholder is not a secret.
  if (fields[kind]?.some((field) => field.test(path)) || passphrase.test(path)) return true;
  if (names.some((name) => name.test(key)) && !isPath(text)) return true;
  if (environment.test(path) && namesSecret(key) && !isPath(text)) return true;
  return (
    secretIn(text) !== undefined ||
    encodedKey.test(text) ||
    variable.test(text) ||
    holdsSecretManifest(text, path)
  );
}

/** Whether a text is a file's path or a boolean, and so not a secret. */
const isPath = (text: string): boolean => text.startsWith("/") || /^(true|false)$/.test(text);

/** Whether a manifest in the configuration is a Kubernetes Secret with content. */
const holdsSecretManifest = (text: string, path: string): boolean =>
  path.endsWith("contents") &&
  text
    .split(/^---/m)
    .some(
      (part) =>
        /^kind:[ \t]*["']?Secret["']?[ \t\r]*$/m.test(part) && /^(data|stringData):/m.test(part),
    );

function remedyOf(kind: string, path: string): string {
  if (
    /^(RegistryAuthConfig|RegistryTLSConfig)$/.test(kind) ||
    path.startsWith("machine.registries")
  )
    // Kubernetes gives a pod without pull secrets those of its ServiceAccount (kubernetes v1.36.3,
    // plugin/pkg/admission/serviceaccount/admission.go).
    return "leave it out: write it to the machine with `talosctl patch machineconfig`, or add an image pull secret to the ServiceAccount `default` of the pods' namespace";
  if (kind === "ExtensionServiceConfig")
    return "leave the document out: write it to the machine with `talosctl patch machineconfig`, from a file outside of the repository";
  if (
    /^(WireguardConfig|HCloudVIPConfig|SideroLinkConfig)$/.test(kind) ||
    path.startsWith("machine.network") ||
    passphrase.test(path)
  )
    return "leave it out: write it to the machine with `talosctl patch machineconfig`, from a file outside of the repository";
  if (/^(machine\.(token|ca)|cluster\.)/.test(path) && !path.startsWith("cluster.inlineManifests"))
    return "leave it out: set machine secrets by the secret configuration talos-gpu:machineSecrets, and keep other secrets in a Kubernetes Secret";
  return "leave it out: keep a pod's secret in a Kubernetes Secret, and write the machine's secret with `talosctl patch machineconfig`";
}
