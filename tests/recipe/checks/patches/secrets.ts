import { talosDocument } from "../../../support/talos-document";
import { yaml } from "../../../support/yaml";

interface SecretPatch {
  patch: string;
  /** A part of the first secret's path. */
  at: string;
}

/** Patches with a secret. None of the values opens anything. */
export const patchesWithSecrets: SecretPatch[] = [
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

/** Patches that name keys and tokens, and hold no secret. */
export const patchesWithoutSecrets: string[] = [
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
