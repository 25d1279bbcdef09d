/** Patches with a secret, and where it stands; none of the values opens anything. */
const doc = (kind: string, rest: string): string => `apiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;

export const secretPatches: [patch: string, path: string][] = [
  [doc("RegistryAuthConfig", "name: ghcr.io\nusername: me\npassword: hunter2"), "RegistryAuthConfig.password"],
  [doc("RegistryAuthConfig", "name: ghcr.io\nidentityToken: abc"), "RegistryAuthConfig.identityToken"],
  [
    doc("RegistryAuthConfig", "{name: ghcr.io, auth: YTpi}".slice(1, -1).replaceAll(", ", "\n")),
    "RegistryAuthConfig.auth",
  ],
  [doc("ExtensionServiceConfig", "name: tailscale\nenvironment: [TS_AUTHKEY=abcdefgh]"), "environment[0]"],
  [
    doc("ExtensionServiceConfig", "name: tailscale\nenvironment: [TS_ROUTES=a, TS_AUTHKEY=tskey-auth-abc]"),
    "environment[1]",
  ],
  [doc("ExtensionServiceConfig", "name: netbird\nenvironment: [NB_SETUP_KEY=0000]"), "environment[0]"],
  [doc("ExtensionServiceConfig", "name: cloudflared\nenvironment: [TUNNEL_TOKEN=abc]"), "environment[0]"],
  [doc("ExtensionServiceConfig", "name: newt\nenvironment: [NEWT_SECRET=abc]"), "environment[0]"],
  [
    doc("ExtensionServiceConfig", "name: nut\nconfigFiles: [{content: 'PASSWORD=abc', mountPath: /a}]"),
    "configFiles[0].content",
  ],
  [doc("WireguardConfig", "name: wg0\nprivateKey: aGVsbG8=\npeers: []"), "WireguardConfig.privateKey"],
  [doc("HCloudVIPConfig", "name: 10.0.0.1\nlink: eth0\napiToken: abc"), "apiToken"],
  [
    doc("UserVolumeConfig", "name: a\nencryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: abc}}]}"),
    "passphrase",
  ],
  [
    doc("RegistryTLSConfig", "name: a\nclientIdentity: {cert: a, key: '-----BEGIN EC PRIVATE KEY-----'}"),
    "clientIdentity.key",
  ],
  [
    "machine: {sysctls: {a: b}}\n---\n" + doc("RegistryAuthConfig", "name: a\npassword: b"),
    "RegistryAuthConfig.password",
  ],
  [doc("SideroLinkConfig", "apiUrl: https://siderolink.example/?jointoken=abc"), "apiUrl"],
  ["machine: {files: [{path: /var/c, op: create, content: 'aws_secret_access_key = abc'}]}\n", "content"],
  ["machine: {token: abc.def}\n", "machine.token"],
  ["machine: {ca: {crt: YQ==, key: YQ==}}\n", "machine.ca.key"],
  ["cluster: {secret: YQ==}\n", "cluster.secret"],
  ["cluster: {aescbcEncryptionSecret: YQ==}\n", "cluster.aescbcEncryptionSecret"],
  ["cluster: {serviceAccount: {key: YQ==}}\n", "cluster.serviceAccount.key"],
  ["machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: YQ==}}]}}\n", "wireguard.privateKey"],
  [
    "machine: {network: {interfaces: [{interface: eth0, vip: {ip: 10.0.0.1, hcloud: {apiToken: abc}}}]}}\n",
    "hcloud.apiToken",
  ],
  [
    "machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, static: {passphrase: abc}}]}}}\n",
    "passphrase",
  ],
  ["machine: {registries: {config: {ghcr.io: {auth: {username: a, password: b}}}}}\n", "auth.password"],
  ["machine: {registries: {config: {ghcr.io: {auth: {auth: YTpi}}}}}\n", "auth.auth"],
  ["machine: {registries: {mirrors: {docker.io: {endpoints: ['https://me:secret@mirror.local']}}}}\n", "endpoints[0]"],
  ["machine: {env: {HTTPS_PROXY: 'http://user:pass@proxy:3128'}}\n", "machine.env.HTTPS_PROXY"],
  ["machine: {env: {AWS_SECRET_ACCESS_KEY: abc}}\n", "AWS_SECRET_ACCESS_KEY"],
  [
    "machine: {files: [{path: /var/k, op: create, permissions: 0o600, content: '-----BEGIN OPENSSH PRIVATE KEY-----'}]}\n",
    "files[0].content",
  ],
  [
    "machine: {files: [{path: /var/k, op: create, permissions: 0o600, content: 'HF_TOKEN=hf_x'}]}\n",
    "files[0].content",
  ],
  [
    "machine: {kubelet: {extraArgs: {bootstrap: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.abcdefghijkl'}}}\n",
    "extraArgs.bootstrap",
  ],
  [
    "cluster:\n  inlineManifests:\n    - name: a\n      contents: |\n        kind: Secret\n        stringData: {a: b}\n",
    "contents",
  ],
];

/** Patches without one, however much they speak of it. */
export const harmlessPatches: string[] = [
  doc("RegistryTLSConfig", "name: a\ninsecureSkipVerify: true"),
  doc("ExtensionServiceConfig", "name: tailscale\nenvironment: [TS_ROUTES=10.0.0.0/8, TS_ACCEPT_DNS=false]"),
  doc("ExtensionServiceConfig", "name: a\nenvironment: [TOKEN_FILE=/var/run/token, TS_AUTHKEY=]"),
  "machine: {ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}}\n",
  "machine: {env: {http_proxy: 'http://proxy:3128', no_proxy: 'a,b'}}\n",
  "machine: {kubelet: {extraConfig: {serverTLSBootstrap: true, authenticationTokenWebhook: true}}}\n",
  "cluster: {apiServer: {extraArgs: {service-account-key-file: /system/secrets/key, token-auth-file: /a, enable-bootstrap-token-auth: true}}}\n",
  "machine: {sysctls: {kernel.keys.maxkeys: 1000}}\n",
  "machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}\n",
  "cluster:\n  inlineManifests:\n    - name: a\n      contents: |\n        kind: ServiceAccount\n        metadata: {name: secret-reader}\n",
];
