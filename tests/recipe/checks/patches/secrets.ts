import { talosDocument } from "./talos-document";
import { yaml } from "../../../support/yaml";

interface SecretPatch {
  patch: string;
  /** A part of the first secret's path. */
  at: string;
  /** A part of its remedy. Default: not compared. */
  remedy?: string;
}

/** A key in one of the documents' own fields. It begins like a path, since base64 may contain a slash. */
const key = "/GVsbG8=";

const throughTalosctl = "leave it out: write it to the machine with `talosctl patch machineconfig`";
const ofMachine = `${throughTalosctl}, from a file outside of the repository`;
const ofRegistry = `${throughTalosctl}, or set an image pull secret in the pods`;
const ofCluster = "set machine secrets by the secret configuration talos-gpu:machineSecrets";
const ofPods = "keep a pod's secret in a Kubernetes Secret";

const inMachine = (field: string): string => `machine: {${field}}`;
const inInterface = (field: string): string =>
  inMachine(`network: {interfaces: [{interface: wg0, ${field}}]}`);
const inRegistry = (field: string): string =>
  inMachine(`registries: {config: {ghcr.io: {${field}}}}`);

/** Talos' own fields that are secret whatever their value. */
const ownFields: SecretPatch[] = [
  { patch: inMachine(`token: ${key}`), at: "machine.token", remedy: ofCluster },
  { patch: inMachine(`ca: {key: ${key}}`), at: "machine.ca.key", remedy: ofCluster },
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
    patch: `cluster: ${field.split(".").reduceRight((inner, step) => `{${step}: ${inner}}`, key)}`,
    at: `cluster.${field}`,
    remedy: ofCluster,
  })),
  ...["", "vlans: [{vlanId: 1, "].flatMap((begin) => {
    const end = begin === "" ? "" : "}]";
    return [
      ...[`wireguard: {privateKey: ${key}}`, `vip: {equinixMetal: {apiToken: ${key}}}`],
      `vip: {hcloud: {apiToken: ${key}}}`,
    ].map((field) => ({
      patch: inInterface(`${begin}${field}${end}`),
      at: /\w+(?=: \/)/.exec(field)![0],
      remedy: ofMachine,
    }));
  }),
  ...["password", "auth", "identityToken"].flatMap((field) => [
    { patch: inRegistry(`auth: {${field}: ${key}}`), at: `auth.${field}`, remedy: ofRegistry },
    {
      patch: talosDocument("RegistryAuthConfig", "name: a", `${field}: ${key}`),
      at: `RegistryAuthConfig.${field}`,
      remedy: ofRegistry,
    },
  ]),
  {
    patch: inRegistry(`tls: {clientIdentity: {key: ${key}}}`),
    at: "tls.clientIdentity.key",
    remedy: ofRegistry,
  },
  {
    patch: talosDocument("RegistryTLSConfig", "name: a", `clientIdentity: {key: ${key}}`),
    at: "RegistryTLSConfig.clientIdentity.key",
    remedy: ofRegistry,
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", `privateKey: ${key}`),
    at: "WireguardConfig.privateKey",
    remedy: ofMachine,
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", `peers: [{presharedKey: ${key}}]`),
    at: "peers[0].presharedKey",
    remedy: ofMachine,
  },
  {
    patch: talosDocument("HCloudVIPConfig", "name: 10.0.0.1", `apiToken: ${key}`),
    at: "HCloudVIPConfig.apiToken",
    remedy: ofMachine,
  },
  {
    patch: talosDocument("SideroLinkConfig", `joinToken: ${key}`),
    at: "SideroLinkConfig.joinToken",
    remedy: ofMachine,
  },
  {
    patch: talosDocument("VolumeConfig", "name: STATE", `keys: [{static: {passphrase: ${key}}}]`),
    at: "VolumeConfig.keys[0].static.passphrase",
    remedy: ofMachine,
  },
  {
    patch: inMachine(`systemDiskEncryption: {state: {keys: [{static: {passphrase: ${key}}}]}}`),
    at: "state.keys[0].static.passphrase",
    remedy: ofMachine,
  },
];

/** Names under which people keep secrets, in any field. */
const namedFields: SecretPatch[] = [
  ...["password", "Passwd", "passphrase", "token"],
  ...["apiKey", "auth_key", "privateKey", "PRESHARED_KEY"],
  ...["api_token", "authToken", "access_token", "joinToken", "bearerToken", "identity_token"],
  ...["secretKey", "secret_key", "clientSecretKey", "client_secret_key"],
  ...["clientSecret", "client_secret", "awsSecretAccessKey", "aws_secret_access_key"],
].map((name) => ({
  patch: inMachine(`kubelet: {extraConfig: {${name}: 12345}}`),
  at: `extraConfig.${name}`,
  remedy: ofPods,
}));

/** Values that are more than a placeholder for a secret, and a document of kind Secret. */
const values: SecretPatch[] = [
  ...["x${TOKEN}", "${TOKEN}x", "truest", "untrue", "falsely"].map((value) => ({
    patch: inMachine(`kubelet: {extraConfig: {token: ${JSON.stringify(value)}}}`),
    at: "extraConfig.token",
  })),
  { patch: "kind: Secret\ndata: {token: x}", at: "Secret.data.token" },
];

/** Variables and flags as words of a text. */
const variables: SecretPatch[] = [
  ...["TS_AUTHKEY", "TS_AUTH_KEY", "NB_SETUP_KEY", "API_KEY", "MY_APIKEY", "S3_SECRET_KEY"],
  ...["S3_ACCESS_KEY", "WG_PRIVATE_KEY", "PASSWORD", "DB_PASSWD", "LUKS_PASSPHRASE"],
  ...["AUTHTOKEN", "AUTH_TOKEN", "APITOKEN", "API_TOKEN", "TUNNEL_TOKEN", "NEWT_SECRET"],
  "GOOGLE_CREDENTIALS",
].flatMap((name) =>
  [`${name}=x`, `run --${name.toLowerCase()} = x`, `a=1,${name}=x`, `"${name}= 'x'"`].map(
    (content) => ({
      patch: talosDocument("ExtensionServiceConfig", `environment: [${JSON.stringify(content)}]`),
      at: "environment[0]",
      remedy: "leave the document out: write it to the machine with `talosctl patch machineconfig`",
    }),
  ),
);

/** Variables in a mapping, with names that are secret only there. */
const mappedVariables: SecretPatch[] = [
  { patch: inMachine("env: {RESTIC_PWD: x}"), at: "machine.env.RESTIC_PWD", remedy: ofPods },
  { patch: talosDocument("EnvironmentConfig", "variables: {RESTIC_PWD: x}"), at: "RESTIC_PWD" },
  {
    patch: "cluster: {apiServer: {env: {RESTIC_PWD: x}}}",
    at: "cluster.apiServer.env.RESTIC_PWD",
  },
];

const inManifest = (contents: string): string =>
  `cluster: {inlineManifests: [{name: a, contents: ${JSON.stringify(contents)}}]}`;

/** Secrets inside a text. */
const contents: SecretPatch[] = [
  // base64 of PEM: within a group of three characters, the words `PRIVATE KEY` begin at each of the three
  // positions.
  ...["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"].map((words) => ({
    patch: inMachine(
      `files: [{path: /var/k, content: ${Buffer.from(`-----BEGIN ${words}-----\nabc`).toString("base64")}}]`,
    ),
    at: "content",
  })),
  ...[
    "kind: Secret\ndata: {a: Yg==}",
    "kind: 'Secret'\r\nstringData: {a: b}",
    'apiVersion: v1\nkind: "Secret" \ndata: {a: Yg==}',
    "kind: ConfigMap\ndata: {a: b}\n---\nkind: Secret\nstringData: {a: b}",
  ].map((manifest) => ({ patch: inManifest(manifest), at: "contents", remedy: ofPods })),
  ...["data", "stringData"].map((field) => ({
    patch: `cluster: {inlineManifests: [{name: a, contents: {kind: Secret, ${field}: {a: b}}}]}`,
    at: "cluster.inlineManifests[0].contents",
    remedy: ofPods,
  })),
];

/** Patches with a secret. None of the values gives access to anything. */
export const patchesWithSecrets: SecretPatch[] = [
  ...ownFields,
  ...namedFields,
  ...values,
  ...variables,
  ...mappedVariables,
  ...contents,
  {
    patch: talosDocument(
      "RegistryAuthConfig",
      "name: ghcr.io",
      "username: me",
      "password: hunter2",
    ),
    at: "RegistryAuthConfig.password",
  },
  {
    patch: talosDocument("RegistryAuthConfig", "name: ghcr.io", "identityToken: abc"),
    at: "RegistryAuthConfig.identityToken",
  },
  {
    patch: talosDocument("RegistryAuthConfig", "name: ghcr.io", "auth: YTpi"),
    at: "RegistryAuthConfig.auth",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: tailscale",
      "environment: [TS_AUTHKEY=abcdefgh]",
    ),
    at: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: tailscale",
      "environment: [TS_ROUTES=a, TS_AUTHKEY=tskey-auth-abc]",
    ),
    at: "environment[1]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: netbird",
      "environment: [NB_SETUP_KEY=0000]",
    ),
    at: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: cloudflared",
      "environment: [TUNNEL_TOKEN=abc]",
    ),
    at: "environment[0]",
  },
  {
    patch: talosDocument("ExtensionServiceConfig", "name: newt", "environment: [NEWT_SECRET=abc]"),
    at: "environment[0]",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: nut",
      "configFiles: [{content: 'PASSWORD=abc', mountPath: /a}]",
    ),
    at: "configFiles[0].content",
  },
  {
    patch: talosDocument("WireguardConfig", "name: wg0", "privateKey: aGVsbG8=", "peers: []"),
    at: "WireguardConfig.privateKey",
  },
  {
    patch: talosDocument("HCloudVIPConfig", "name: 10.0.0.1", "link: eth0", "apiToken: abc"),
    at: "apiToken",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: a",
      "encryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: abc}}]}",
    ),
    at: "passphrase",
  },
  {
    patch: talosDocument(
      "RegistryTLSConfig",
      "name: a",
      "clientIdentity: {cert: a, key: '-----BEGIN EC PRIVATE KEY-----'}",
    ),
    at: "clientIdentity.key",
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
    at: "RegistryAuthConfig.password",
  },
  {
    patch: talosDocument("SideroLinkConfig", "apiUrl: https://siderolink.example/?jointoken=abc"),
    at: "apiUrl",
  },
  {
    patch: "machine: {files: [{path: /var/c, op: create, content: 'aws_secret_access_key = abc'}]}",
    at: "content",
  },
  { patch: "machine: {token: abc.def}", at: "machine.token" },
  { patch: "machine: {ca: {crt: YQ==, key: YQ==}}", at: "machine.ca.key" },
  { patch: "cluster: {secret: YQ==}", at: "cluster.secret" },
  { patch: "cluster: {aescbcEncryptionSecret: YQ==}", at: "cluster.aescbcEncryptionSecret" },
  { patch: "cluster: {serviceAccount: {key: YQ==}}", at: "cluster.serviceAccount.key" },
  {
    patch: "machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: YQ==}}]}}",
    at: "wireguard.privateKey",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { interface: eth0, vip: { ip: 10.0.0.1, hcloud: { apiToken: abc } } }
      `,
    at: "hcloud.apiToken",
  },
  {
    patch: yaml`
        machine:
          systemDiskEncryption:
            state: { provider: luks2, keys: [{ slot: 0, static: { passphrase: abc } }] }
      `,
    at: "passphrase",
  },
  {
    patch: "machine: {registries: {config: {ghcr.io: {auth: {username: a, password: b}}}}}",
    at: "auth.password",
  },
  { patch: "machine: {registries: {config: {ghcr.io: {auth: {auth: YTpi}}}}}", at: "auth.auth" },
  {
    patch: yaml`
        machine:
          registries:
            mirrors: { docker.io: { endpoints: ['https://me:secret@mirror.local'] } }
      `,
    at: "endpoints[0]",
  },
  {
    patch: "machine: {env: {HTTPS_PROXY: 'http://user:pass@proxy:3128'}}",
    at: "machine.env.HTTPS_PROXY",
  },
  { patch: "machine: {env: {AWS_SECRET_ACCESS_KEY: abc}}", at: "AWS_SECRET_ACCESS_KEY" },
  {
    patch: yaml`
        machine:
          files:
            - path: /var/k
              op: create
              permissions: 0o600
              content: '-----BEGIN OPENSSH PRIVATE KEY-----'
      `,
    at: "files[0].content",
  },
  {
    patch: yaml`
        machine:
          files:
            - { path: /var/k, op: create, permissions: 0o600, content: 'HF_TOKEN=hf_x' }
      `,
    at: "files[0].content",
  },
  {
    patch: yaml`
        machine:
          kubelet:
            extraArgs:
              bootstrap: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.abcdefghijkl'
      `,
    at: "extraArgs.bootstrap",
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
    at: "contents",
  },
  {
    patch: yaml`
        machine:
          ca: { key: LS0tLS1CRUdJTg== }
      `,
    at: "machine.ca.key",
  },
  {
    patch: yaml`
        machine:
          registries:
            config:
              ghcr.io: { auth: { identityToken: abc } }
      `,
    at: "identityToken",
  },
  {
    patch: yaml`
        machine:
          files:
            - { op: create, path: /var/key, content: '-----BEGIN EC PRIVATE KEY-----' }
      `,
    at: "content",
  },
  {
    patch: yaml`
        machine:
          env: { HTTPS_PROXY: x, TS: 'TS_AUTHKEY=tskey-auth-abc' }
      `,
    at: "machine.env.TS",
  },
  {
    patch: yaml`
        cluster:
          inlineManifests:
            - { name: a, contents: 'token: ghp_0123456789abcdefghij0123' }
      `,
    at: "contents",
  },
];

/** Patches that mention keys and tokens, and contain no secret. */
export const patchesWithoutSecrets: string[] = [
  // Placeholders for a secret, and the name of a file with one.
  ...["${TOKEN}", "{{ .token }}", "<your token>", " ${TOKEN} ", "/run/token", "true", "false"].map(
    (value) => inMachine(`kubelet: {extraConfig: {token: ${JSON.stringify(value)}}}`),
  ),
  inMachine("env: {RESTIC_PWD: /run/password, PASSWORD: '${PASSWORD}'}"),
  // Names that only begin or end like those of secrets, and names of variables outside an environment.
  ...["tokens", "maxToken", "myPassword", "apiKeyFile", "clientSecrets", "RESTIC_PWD"].map((name) =>
    inMachine(`kubelet: {extraConfig: {${name}: x}}`),
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
  ].map((name) => inMachine(`kubelet: {extraConfig: {${name}: x}}`)),
  ...["TOKEN_FILE=x", "API_TOKEN=/run/token", "API_TOKEN=file:x", "PASSWORD=", "a=PASSWORDS=x"].map(
    (content) =>
      talosDocument("ExtensionServiceConfig", `environment: [${JSON.stringify(content)}]`),
  ),
  // A manifest that mentions the kind Secret, a Secret without content, and a Secret in a text that is not a
  // manifest.
  inManifest("kind: Role\nrules: [{resources: [Secret]}]\ndata: {a: b}"),
  inManifest("kind: Secret\nmetadata: {name: a}"),
  inManifest("kind: Secrets\ndata: {a: b}"),
  inManifest("kind: Secret\nmetadata: {name: a}\n---\nkind: ConfigMap\ndata: {a: b}"),
  inManifest("a: b # kind: Secret\ndata: {a: b}"),
  "cluster: {inlineManifests: [{name: a, contents: {kind: Secret, metadata: {name: a}}}]}",
  "cluster: {inlineManifests: [{name: a, contents: {kind: ConfigMap, data: {a: b}}}]}",
  inMachine('files: [{path: /var/a, content: "kind: Secret\\ndata: {a: b}"}]'),
  inMachine("files: [{path: /var/a, content: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}]"),
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
