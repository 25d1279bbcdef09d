import { checkCluster, type MachineSpec } from "../../../components/recipe";
import { oneMachine } from "../stacks";

/** Checks that speak up on a patch of a worker with a GPU. */
const said = (patch: string, machine: Partial<MachineSpec> = {}, release = "v1.12.6"): string[] =>
  checkCluster(oneMachine(release, { gpus: [{ model: "L4" }], patches: [patch], ...machine })).map(
    (finding) => finding.check,
  );

describe("secrets", () => {
  test.each([
    ["machine:\n  ca: { key: LS0tLS1CRUdJTg== }\n"],
    ["machine:\n  registries:\n    config:\n      ghcr.io: { auth: { identityToken: abc } }\n"],
    ["machine:\n  files:\n    - { op: create, path: /var/key, content: '-----BEGIN EC PRIVATE KEY-----' }\n"],
    ["machine:\n  env: { HTTPS_PROXY: x, TS: 'TS_AUTHKEY=tskey-auth-abc' }\n"],
    ["cluster:\n  inlineManifests:\n    - { name: a, contents: 'token: ghp_0123456789abcdefghij0123' }\n"],
  ])("%s", (patch) => expect(said(patch)).toContain("patch-secret"));

  test.each([
    ["machine:\n  ca: { crt: LS0tLS1CRUdJTg== }\n"],
    ["machine:\n  token: ''\n"],
    ["machine:\n  kubelet: { extraConfig: { serverTLSBootstrap: true } }\n"],
    ["machine:\n  features: { kubernetesTalosAPIAccess: { allowedRoles: ['os:reader'] } }\n"],
  ])("none in %s", (patch) => expect(said(patch)).toEqual([]));

  test("are never repeated", () => {
    const findings = checkCluster(
      oneMachine("v1.12.6", { gpus: [{ model: "L4" }], patches: ["machine:\n  token: abcdef.0123456789\n"] }),
    );
    expect(JSON.stringify(findings)).not.toContain("0123456789");
  });
});

describe("files", () => {
  const file = (op: string, path: string): string =>
    `machine:\n  files:\n    - { op: ${op}, path: ${path}, content: x }\n`;

  test.each([
    ["create", "/var/lib/x", []],
    ["create", "/etc/kubernetes/manifests/x.yaml", []],
    ["overwrite", "/etc/hosts", []],
    ["append", "/etc/hosts", []],
    ["create", "/etc/x", ["machine-file-create"]],
    ["create", "/etc/cri/conf.d/30-extra.part", ["machine-file-create"]],
    ["create", "/variable", ["machine-file-create"]],
    ["delete", "/var/lib/x", ["machine-file-create"]],
    ["create", "/etc/cri/conf.d/20-customization.part", ["containerd-part"]],
  ])("%s %s: %j", (op, path, checks) => expect(said(file(op, path))).toEqual(checks));

  test("twice in one patch", () => {
    expect(
      said(
        "machine:\n  files:\n    - { op: create, path: /var/a, content: x }\n    - { op: create, path: /var/a, content: x }\n",
      ),
    ).toEqual(["machine-file-once"]);
  });
});

describe("labels that NodeRestriction lets a worker set", () => {
  test.each([
    ["nvidia.com/gpu.present", []],
    ["rack", []],
    ["topology.kubernetes.io/zone", []],
    ["node.kubernetes.io/instance-type", []],
    ["node-role.kubernetes.io/gpu", ["patch-node-labels"]],
    ["app.kubernetes.io/name", ["patch-node-labels"]],
    ["node-restriction.kubernetes.io/a", ["patch-node-labels"]],
  ])("%s: %j", (key, checks) => expect(said(`machine:\n  nodeLabels:\n    ${key}: "true"\n`)).toEqual(checks));

  test("a control plane may set any", () => {
    expect(
      said('machine:\n  nodeLabels:\n    node-role.kubernetes.io/gpu: "true"\n  nodeTaints:\n    a: "b:NoSchedule"\n', {
        role: "controlplane",
      }),
    ).toEqual([]);
  });
});

test("a sysctl that agrees with ours is nobody's mistake", () => {
  const harden = (value: number): string => `machine:\n  sysctls:\n    net.core.bpf_jit_harden: ${value}\n`;
  expect(said(harden(1), {}, "v1.11.6")).toEqual([]);
  expect(said(harden(0), {}, "v1.11.6")).toEqual(["patch-sysctl"]);
  expect(said(harden(2))).toEqual([]); // from 1.12 on nothing of ours needs it
});

test("documents of a release that has them, on an adopted machine", () => {
  const spec = oneMachine("v1.14.0", {
    gpus: [{ model: "L4" }],
    patches: ["apiVersion: v1alpha1\nkind: SysctlConfig\nparams: { a: b }\n"],
  });
  expect(checkCluster(spec)).toEqual([]);
});

test("a patch of the cluster is judged by the release of each machine that it reaches", () => {
  const one = oneMachine("v1.14.0", { gpus: [{ model: "L4" }] });
  const ahead = { ...Object.values(one.machines)[0]!, address: "10.9.9.9", talosVersion: "v1.13.9" };
  const spec = { ...one, patches: ["apiVersion: v1alpha1\nkind: SysctlConfig\nparams: { a: b }\n"] };
  expect(checkCluster(spec)).toEqual([]);
  expect(checkCluster({ ...spec, machines: { ...spec.machines, old: ahead } })).toEqual([
    expect.objectContaining({
      check: "patch-schema",
      field: "patches[0]",
      why: expect.stringContaining("v1.13.9 of old"),
    }),
  ]);
});

test.each([
  ["cluster: { etcd: { advertisedSubnets: [10.0.0.0/8] } }", ["patch-role"]],
  ["machine: { features: { kubernetesTalosAPIAccess: { enabled: true } } }", ["patch-role"]],
  [
    "machine: { network: { interfaces: [{ interface: eth0, vlans: [{ vlanId: 5, vip: { ip: 10.0.0.9 } }] }] } }",
    ["patch-role"],
  ],
  ["cluster: { network: { podSubnets: [10.244.0.0/16] } }", []],
])("what only a control plane may have: %s", (patch, checks) => {
  expect(said(`${patch}\n`)).toEqual(checks);
  expect(said(`${patch}\n`, { role: "controlplane" })).toEqual([]);
});

test("an empty patch says nothing", () => expect(said("")).toEqual([]));
