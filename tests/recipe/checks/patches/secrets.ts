import { talosDocument } from "./talos-document";
import { yaml } from "../../../support/yaml";

interface SecretPatch {
  patch: string;
  /** A part of the first secret's path. */
  path: string;
  /** A part of its remedy. Default: not compared. */
  remedy?: string;
}

/** A key in one of the documents' own fields. It begins like a path, since base64 may contain a slash. */
const key = "/GVsbG8=";

const writeWithTalosctl =
  "leave it out: write it to the machine with `talosctl patch machineconfig`";
const remedyForMachine = `${writeWithTalosctl}, from a file outside of the repository`;
const remedyForRegistry = `${writeWithTalosctl}, or add an image pull secret to the ServiceAccount \`default\` of the pods' namespace`;
const remedyForCluster = "set machine secrets by the secret configuration talos-gpu:machineSecrets";
const remedyForPods = "keep a pod's secret in a Kubernetes Secret";

const machinePatch = (field: string): string => `machine: {${field}}`;
const interfacePatch = (field: string): string =>
  machinePatch(`network: {interfaces: [{interface: wg0, ${field}}]}`);
const registryPatch = (field: string): string =>
  machinePatch(`registries: {config: {ghcr.io: {${field}}}}`);

/** Talos' own fields that are secret whatever their value. */
const talosFields: SecretPatch[] = [
  { patch: machinePatch(`token: ${key}`), path: "machine.token", remedy: remedyForCluster },
  { patch: machinePatch(`ca: {key: ${key}}`), path: "machine.ca.key", remedy: remedyForCluster },
  ...[
    "token",
    "secret",
    "aescbcEncryptionSecret",
    "secretboxEncryptionSecret",
    "ca.key",
    "aggregatorCA.key",
    "serviceAccount.key",
    "etcd.ca.key",
  ].map((field) => ({
    patch: `cluster: ${field.split(".").reduceRight((value, name) => `{${name}: ${value}}`, key)}`,
    path: `cluster.${field}`,
    remedy: remedyForCluster,
  })),
  ...[
    { name: "privateKey", field: `wireguard: {privateKey: ${key}}` },
    { name: "apiToken", field: `vip: {equinixMetal: {apiToken: ${key}}}` },
    { name: "apiToken", field: `vip: {hcloud: {apiToken: ${key}}}` },
  ].flatMap(({ name, field }) => [
    { patch: interfacePatch(field), path: name, remedy: remedyForMachine },
    {
      patch: interfacePatch(`vlans: [{vlanId: 1, ${field}}]`),
      path: name,
      remedy: remedyForMachine,
    },
  ]),
  ...["password", "auth", "identityToken"].flatMap((field) => [
    {
      patch: registryPatch(`auth: {${field}: ${key}}`),
      path: `auth.${field}`,
      remedy: remedyForRegistry,
    },
    {
      patch: talosDocument("RegistryAuthConfig", "name: a", `${field}: ${key}`),
      path: `RegistryAuthConfig.${field}`,
      remedy: remedyForRegistry,
    },
  ]),
  {
    patch: registryPatch(`tls: {clientIdentity: {key: ${key}}}`),
    path: "tls.clientIdentity.key",
    remedy: remedyForRegistry,
  },
  {
    patch: talosDocument("RegistryTLSConfig", "name: a", `clientIdentity: {key: ${key}}`),
    path: "RegistryTLSConfig.clientIdentity.key",
    remedy: remedyForRegistry,
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", `privateKey: ${key}`),
    path: "WireguardConfig.privateKey",
    remedy: remedyForMachine,
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", `peers: [{presharedKey: ${key}}]`),
    path: "peers[0].presharedKey",
    remedy: remedyForMachine,
  },
  {
    patch: talosDocument("HCloudVIPConfig", "name: 10.0.0.1", `apiToken: ${key}`),
    path: "HCloudVIPConfig.apiToken",
    remedy: remedyForMachine,
  },
  {
    patch: talosDocument("SideroLinkConfig", `joinToken: ${key}`),
    path: "SideroLinkConfig.joinToken",
    remedy: remedyForMachine,
  },
  {
    patch: talosDocument("VolumeConfig", "name: STATE", `keys: [{static: {passphrase: ${key}}}]`),
    path: "VolumeConfig.keys[0].static.passphrase",
    remedy: remedyForMachine,
  },
  {
    patch: machinePatch(`systemDiskEncryption: {state: {keys: [{static: {passphrase: ${key}}}]}}`),
    path: "state.keys[0].static.passphrase",
    remedy: remedyForMachine,
  },
];

/** Names under which people keep secrets, in any field. */
const fieldsNamedLikeSecrets: SecretPatch[] = [
  ...["password", "Passwd", "passphrase", "token"],
  ...["apiKey", "auth_key", "privateKey", "PRESHARED_KEY"],
  ...["api_token", "authToken", "access_token", "joinToken", "bearerToken", "identity_token"],
  ...["secretKey", "secret_key", "clientSecretKey", "client_secret_key"],
  ...["clientSecret", "client_secret", "awsSecretAccessKey", "aws_secret_access_key"],
].map((name) => ({
  patch: machinePatch(`kubelet: {extraConfig: {${name}: 12345}}`),
  path: `extraConfig.${name}`,
  remedy: remedyForPods,
}));

/** Values that are more than a placeholder for a secret, and a document of kind Secret. */
const secretValues: SecretPatch[] = [
  ...["x${TOKEN}", "${TOKEN}x", "truest", "untrue", "falsely"].map((value) => ({
    patch: machinePatch(`kubelet: {extraConfig: {token: ${JSON.stringify(value)}}}`),
    path: "extraConfig.token",
  })),
  { patch: "kind: Secret\ndata: {token: x}", path: "Secret.data.token" },
];

/** Variables and flags as words of a text. */
const secretVariables: SecretPatch[] = [
  ...["TS_AUTHKEY", "TS_AUTH_KEY", "NB_SETUP_KEY", "API_KEY", "MY_APIKEY", "S3_SECRET_KEY"],
  ...["S3_ACCESS_KEY", "WG_PRIVATE_KEY", "PASSWORD", "DB_PASSWD", "LUKS_PASSPHRASE"],
  ...["AUTHTOKEN", "AUTH_TOKEN", "APITOKEN", "API_TOKEN", "TUNNEL_TOKEN", "NEWT_SECRET"],
  "GOOGLE_CREDENTIALS",
].flatMap((name) =>
  [`${name}=x`, `run --${name.toLowerCase()} = x`, `a=1,${name}=x`, `"${name}= 'x'"`].map(
    (content) => ({
      patch: talosDocument("ExtensionServiceConfig", `environment: [${JSON.stringify(content)}]`),
      path: "environment[0]",
      remedy: "leave the document out: write it to the machine with `talosctl patch machineconfig`",
    }),
  ),
);

/** Variables in a mapping, with names that are secret only there. */
const variablesInMappings: SecretPatch[] = [
  {
    patch: machinePatch("env: {RESTIC_PWD: x}"),
    path: "machine.env.RESTIC_PWD",
    remedy: remedyForPods,
  },
  { patch: talosDocument("EnvironmentConfig", "variables: {RESTIC_PWD: x}"), path: "RESTIC_PWD" },
  {
    patch: "cluster: {apiServer: {env: {RESTIC_PWD: x}}}",
    path: "cluster.apiServer.env.RESTIC_PWD",
  },
];

const manifestPatch = (contents: string): string =>
  `cluster: {inlineManifests: [{name: a, contents: ${JSON.stringify(contents)}}]}`;

/** Secrets inside a text. */
const secretsInTexts: SecretPatch[] = [
  // base64 of PEM: within a group of three characters, the words `PRIVATE KEY` begin at each of the three
  // positions.
  ...["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"].map((words) => ({
    patch: machinePatch(
      `files: [{path: /var/k, content: ${Buffer.from(`-----BEGIN ${words}-----\nabc`).toString("base64")}}]`,
    ),
    path: "content",
  })),
  ...[
    "kind: Secret\ndata: {a: Yg==}",
    "kind: 'Secret'\r\nstringData: {a: b}",
    'apiVersion: v1\nkind: "Secret" \ndata: {a: Yg==}',
    "kind: ConfigMap\ndata: {a: b}\n---\nkind: Secret\nstringData: {a: b}",
  ].map((manifest) => ({
    patch: manifestPatch(manifest),
    path: "contents",
    remedy: remedyForPods,
  })),
  ...["data", "stringData"].map((field) => ({
    patch: `cluster: {inlineManifests: [{name: a, contents: {kind: Secret, ${field}: {a: b}}}]}`,
    path: "cluster.inlineManifests[0].contents",
    remedy: remedyForPods,
  })),
];

/** Patches with a secret. None of the values gives access to anything. */
export const patchesWithSecrets: SecretPatch[] = [
  ...talosFields,
  ...fieldsNamedLikeSecrets,
  ...secretValues,
  ...secretVariables,
  ...variablesInMappings,
  ...secretsInTexts,
  {
    patch: talosDocument(
      "RegistryAuthConfig",
      "name: ghcr.io",
      "username: me",
      "password: hunter2",
    ),
    path: "RegistryAuthConfig.password",
  },
  {
    patch: talosDocument("RegistryAuthConfig", "name: ghcr.io", "identityToken: abc"),
    path: "RegistryAuthConfig.identityToken",
  },
  {
    patch: talosDocument("RegistryAuthConfig", "name: ghcr.io", "auth: YTpi"),
    path: "RegistryAuthConfig.auth",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: tailscale",
      "environment: [TS_AUTHKEY=abcdefgh]",
    ),
    path: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: tailscale",
      "environment: [TS_ROUTES=a, TS_AUTHKEY=tskey-auth-abc]",
    ),
    path: "environment[1]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: netbird",
      "environment: [NB_SETUP_KEY=0000]",
    ),
    path: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: cloudflared",
      "environment: [TUNNEL_TOKEN=abc]",
    ),
    path: "environment[0]",
  },
  {
    patch: talosDocument("ExtensionServiceConfig", "name: newt", "environment: [NEWT_SECRET=abc]"),
    path: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: nut",
      "configFiles: [{content: 'PASSWORD=abc', mountPath: /a}]",
    ),
    path: "configFiles[0].content",
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", "privateKey: aGVsbG8=", "peers: []"),
    path: "WireguardConfig.privateKey",
  },
  {
    patch: talosDocument("HCloudVIPConfig", "name: 10.0.0.1", "link: eth0", "apiToken: abc"),
    path: "apiToken",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: a",
      "encryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: abc}}]}",
    ),
    path: "passphrase",
  },
  {
    patch: talosDocument(
      "RegistryTLSConfig",
      "name: a",
      "clientIdentity: {cert: a, key: '-----BEGIN EC PRIVATE KEY-----'}",
    ),
    path: "clientIdentity.key",
  },
  {
    patch: yaml`
        machine: {sysctls: {a: b}}
        ---
        apiVersion: v1alpha1
        kind: RegistryAuthConfig
        name: a
        password: b
      `,
    path: "RegistryAuthConfig.password",
  },
  {
    patch: talosDocument("SideroLinkConfig", "apiUrl: https://siderolink.example/?jointoken=abc"),
    path: "apiUrl",
  },
  {
    patch: "machine: {files: [{path: /var/c, op: create, content: 'aws_secret_access_key = abc'}]}",
    path: "content",
  },
  { patch: "machine: {token: abc.def}", path: "machine.token" },
  { patch: "machine: {ca: {crt: YQ==, key: YQ==}}", path: "machine.ca.key" },
  { patch: "cluster: {secret: YQ==}", path: "cluster.secret" },
  { patch: "cluster: {aescbcEncryptionSecret: YQ==}", path: "cluster.aescbcEncryptionSecret" },
  { patch: "cluster: {serviceAccount: {key: YQ==}}", path: "cluster.serviceAccount.key" },
  {
    patch: "machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: YQ==}}]}}",
    path: "wireguard.privateKey",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { interface: eth0, vip: { ip: 10.0.0.1, hcloud: { apiToken: abc } } }
      `,
    path: "hcloud.apiToken",
  },
  {
    patch: yaml`
        machine:
          systemDiskEncryption:
            state: { provider: luks2, keys: [{ slot: 0, static: { passphrase: abc } }] }
      `,
    path: "passphrase",
  },
  {
    patch: "machine: {registries: {config: {ghcr.io: {auth: {username: a, password: b}}}}}",
    path: "auth.password",
  },
  { patch: "machine: {registries: {config: {ghcr.io: {auth: {auth: YTpi}}}}}", path: "auth.auth" },
  {
    patch: yaml`
        machine:
          registries:
            mirrors: { docker.io: { endpoints: ['https://me:secret@mirror.local'] } }
      `,
    path: "endpoints[0]",
  },
  {
    patch: "machine: {env: {HTTPS_PROXY: 'http://user:pass@proxy:3128'}}",
    path: "machine.env.HTTPS_PROXY",
  },
  { patch: "machine: {env: {AWS_SECRET_ACCESS_KEY: abc}}", path: "AWS_SECRET_ACCESS_KEY" },
  {
    patch: yaml`
        machine:
          files:
            - path: /var/k
              op: create
              permissions: 0o600
              content: '-----BEGIN OPENSSH PRIVATE KEY-----'
      `,
    path: "files[0].content",
  },
  {
    patch: yaml`
        machine:
          files:
            - { path: /var/k, op: create, permissions: 0o600, content: 'HF_TOKEN=hf_x' }
      `,
    path: "files[0].content",
  },
  {
    patch: yaml`
        machine:
          kubelet:
            extraArgs:
              bootstrap: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.abcdefghijkl'
      `,
    path: "extraArgs.bootstrap",
  },
  {
    patch: yaml`
        cluster:
          inlineManifests:
            - name: a
              contents: |
                kind: Secret
                stringData: {a: b}
      `,
    path: "contents",
  },
  {
    patch: yaml`
        machine:
          ca: { key: LS0tLS1CRUdJTg== }
      `,
    path: "machine.ca.key",
  },
  {
    patch: yaml`
        machine:
          registries:
            config:
              ghcr.io: { auth: { identityToken: abc } }
      `,
    path: "identityToken",
  },
  {
    patch: yaml`
        machine:
          files:
            - { op: create, path: /var/key, content: '-----BEGIN EC PRIVATE KEY-----' }
      `,
    path: "content",
  },
  {
    patch: yaml`
        machine:
          env: { HTTPS_PROXY: x, TS: 'TS_AUTHKEY=tskey-auth-abc' }
      `,
    path: "machine.env.TS",
  },
  {
    patch: yaml`
        cluster:
          inlineManifests:
            - { name: a, contents: 'token: ghp_0123456789abcdefghij0123' }
      `,
    path: "contents",
  },
];

/** Patches that mention keys and tokens, and contain no secret. */
export const patchesWithoutSecrets: string[] = [
  // Placeholders for a secret, and the name of a file with one.
  ...["${TOKEN}", "{{ .token }}", "<your token>", " ${TOKEN} ", "/run/token", "true", "false"].map(
    (value) => machinePatch(`kubelet: {extraConfig: {token: ${JSON.stringify(value)}}}`),
  ),
  machinePatch("env: {RESTIC_PWD: /run/password, PASSWORD: '${PASSWORD}'}"),
  // Names that only begin or end like those of secrets, and names of variables outside an environment.
  ...["tokens", "maxToken", "myPassword", "apiKeyFile", "clientSecrets", "RESTIC_PWD"].map((name) =>
    machinePatch(`kubelet: {extraConfig: {${name}: x}}`),
  ),
  ...[
    "myAPIKey",
    "apiTokens",
    "oldSecretKey",
    "secretKeys",
    "myAwsSecretAccessKey",
    "awsSecretAccessKeys",
    "myApiToken",
    "oldClientSecret",
  ].map((name) => machinePatch(`kubelet: {extraConfig: {${name}: x}}`)),
  ...["TOKEN_FILE=x", "API_TOKEN=/run/token", "API_TOKEN=file:x", "PASSWORD=", "a=PASSWORDS=x"].map(
    (content) =>
      talosDocument("ExtensionServiceConfig", `environment: [${JSON.stringify(content)}]`),
  ),
  // A manifest that mentions the kind Secret, a Secret without content, and a Secret in a text that is not a
  // manifest.
  manifestPatch("kind: Role\nrules: [{resources: [Secret]}]\ndata: {a: b}"),
  manifestPatch("kind: Secret\nmetadata: {name: a}"),
  manifestPatch("kind: Secrets\ndata: {a: b}"),
  manifestPatch("kind: Secret\nmetadata: {name: a}\n---\nkind: ConfigMap\ndata: {a: b}"),
  manifestPatch("a: b # kind: Secret\ndata: {a: b}"),
  "cluster: {inlineManifests: [{name: a, contents: {kind: Secret, metadata: {name: a}}}]}",
  "cluster: {inlineManifests: [{name: a, contents: {kind: ConfigMap, data: {a: b}}}]}",
  machinePatch('files: [{path: /var/a, content: "kind: Secret\\ndata: {a: b}"}]'),
  machinePatch("files: [{path: /var/a, content: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}]"),
  talosDocument("RegistryTLSConfig", "name: a", "insecureSkipVerify: true"),
  talosDocument(
    "ExtensionServiceConfig",
    "name: tailscale",
    "environment: [TS_ROUTES=10.0.0.0/8, TS_ACCEPT_DNS=false]",
  ),
  talosDocument(
    "ExtensionServiceConfig",
    "name: a",
    "environment: [TOKEN_FILE=/var/run/token, TS_AUTHKEY=]",
  ),
  "machine: {ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}}",
  "machine: {env: {http_proxy: 'http://proxy:3128', no_proxy: 'a,b'}}",
  yaml`
        machine:
          kubelet:
            extraConfig: { serverTLSBootstrap: true, authenticationTokenWebhook: true }
      `,
  yaml`
        cluster:
          apiServer:
            extraArgs:
              service-account-key-file: /system/secrets/key
              token-auth-file: /a
              enable-bootstrap-token-auth: true
      `,
  "machine: {sysctls: {kernel.keys.maxkeys: 1000}}",
  yaml`
        machine:
          systemDiskEncryption:
            state: { provider: luks2, keys: [{ slot: 0, nodeID: {} }] }
      `,
  yaml`
        cluster:
          inlineManifests:
            - name: a
              contents: |
                kind: ServiceAccount
                metadata: {name: secret-reader}
      `,
  yaml`
        machine:
          ca: { crt: LS0tLS1CRUdJTg== }
      `,
  yaml`
        machine:
          token: ''
      `,
  yaml`
        machine:
          kubelet: { extraConfig: { serverTLSBootstrap: true } }
      `,
  yaml`
        machine:
          features: { kubernetesTalosAPIAccess: { allowedRoles: ['os:reader'] } }
      `,
];
