import { X509Certificate } from "node:crypto";
import { readdirSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Properties } from "../../../providers/serve";
import { Bench, client, open, talosctl, types } from "./fixture";

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

/** The first document of a configuration: `machine` and `cluster`. */
const first = (configuration: string): any => parseAllDocuments(configuration)[0]?.toJS();

const named = { clusterName: "one", clusterEndpoint: "https://10.0.0.1:6443" };
const withTalosctl = talosctl ? describe : describe.skip;

test("Bootstrap asks once; the Kubeconfig is fetched to standard output", async () => {
  const config = JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "one", user: "u" } }],
    clusters: [{ name: "one", cluster: { server: "https://10.0.0.1:6443", "certificate-authority-data": "CA" } }],
    users: [{ name: "u", user: { "client-certificate-data": "CRT", "client-key-data": "KEY" } }],
  });
  const { calls, ...tool } = bench.fake(
    "cluster",
    `if (args[0] === "kubeconfig") process.stdout.write(${JSON.stringify(config)});`,
  );
  const inputs = { node: "10.0.0.1", endpoint: "10.0.0.9", clientConfiguration: client };
  await bench.create(types.bootstrap, inputs, tool);
  const made = await bench.create(types.kubeconfig, inputs, tool);
  expect(made.id).toBe("one");
  expect(open(made.outputs).values).toMatchObject({ kubeconfigRaw: config, certificateRenewalDuration: "720h" });
  expect(calls().map(({ args }) => args[0])).toEqual(["bootstrap", "kubeconfig"]);
  expect(calls()[1]!.args).toEqual(expect.arrayContaining(["10.0.0.9", "10.0.0.1", "-", "--merge=false"]));
});

test("what the lab does not have is an error that says so", async () => {
  const destroyed = { node: "10.0.0.1", clientConfiguration: client, onDestroy: { reset: true } };
  const [it, context] = [bench.provider(), bench.context()];
  await expect(it.check(types.apply, {}, destroyed, context)).rejects.toThrow("onDestroy: the lab");
  await expect(bench.create("talos:x/y:Z", {})).rejects.toThrow("has only");
  await expect(it.invoke("talos:cluster/getHealth:getHealth", {}, context)).rejects.toThrow("has only");
});

withTalosctl("with talosctl", () => {
  const made = async (): Promise<any> => open((await bench.create(types.secrets, {})).outputs);

  test("Secrets: a bundle and a client certificate that fits it; keys and tokens are secret", async () => {
    const { values, secrets: marks } = await made();
    const { machineSecrets, clientConfiguration, talosVersion } = values;
    expect(talosVersion).toBe("v1.13");
    expect(marks).toEqual(
      expect.arrayContaining([
        "clientConfiguration.clientKey",
        "machineSecrets.certs.os.key",
        "machineSecrets.trustdinfo.token",
      ]),
    );
    expect(marks.filter((mark: string) => mark.endsWith(".cert"))).toEqual([]);
    const pem = (base64: string): X509Certificate => new X509Certificate(Buffer.from(base64, "base64"));
    expect(pem(clientConfiguration.clientCertificate).checkIssued(pem(machineSecrets.certs.os.cert))).toBe(true);
    expect(clientConfiguration.caCertificate).toBe(machineSecrets.certs.os.cert);
    expect(readdirSync(bench.dir).filter((name) => name.startsWith("talos-gpu-"))).toEqual([]);
  });

  test("Secrets keep everything, whatever release is asked for", async () => {
    const { values } = await made();
    const known = bench.context({ oldOutputs: values });
    const { outputs } = await bench
      .provider()
      .update(types.secrets, "id", {}, { talosVersion: "v1.12" }, false, 0, known);
    expect(open(outputs).values).toEqual({ ...values, talosVersion: "v1.12" });
  });

  test("getConfiguration: the provider's own image and disk unless patched; patches merge in their order", async () => {
    const { machineSecrets } = (await made()).values;
    const releases = { talosVersion: "v1.12.6", kubernetesVersion: "v1.34.1" };
    const args = { ...named, ...releases, machineType: "worker", machineSecrets };
    const generate = async (more: Properties = {}): Promise<any> =>
      open(await bench.provider().invoke(types.getConfiguration, { ...args, ...more }, bench.context()));
    const { values, secrets: marks } = await generate();
    const plain = first(values.machineConfiguration);
    expect(plain.machine.install).toMatchObject({ image: "ghcr.io/siderolabs/installer:v1.13.0", disk: "/dev/sda" });
    expect(plain.machine.kubelet.image).toBe("ghcr.io/siderolabs/kubelet:v1.34.1");
    expect(plain.cluster).toMatchObject({
      id: machineSecrets.cluster.id,
      controlPlane: { endpoint: args.clusterEndpoint },
    });
    expect(marks).toEqual(expect.arrayContaining(["machineConfiguration", "machineSecrets.trustdinfo.token"]));
    const patches = ["machine: {sysctls: {a: '1'}}", "machine: {sysctls: {a: '2', b: '3'}}"];
    const patched = first((await generate({ configPatches: patches })).values.machineConfiguration);
    expect(patched.machine.sysctls).toEqual({ a: "2", b: "3" });
    await expect(generate({ configPatches: ["machine: {sysctlz: {}}"] })).rejects.toThrow("sysctlz");
    await expect(generate({ machineType: "gpu" })).rejects.toThrow("neither controlplane nor worker");
    await expect(generate({ clusterEndpoint: "10.0.0.1" })).rejects.toThrow("for the cluster endpoint URL");
  });

  test("a patch that Talos does not know fails in the preview, before any machine is asked", async () => {
    const { machineSecrets, clientConfiguration } = (await made()).values;
    const cluster = { ...named, machineType: "worker", machineSecrets };
    const asked = await bench.provider().invoke(types.getConfiguration, cluster, bench.context());
    const machineConfigurationInput = open(asked).values.machineConfiguration;
    const preview = (patch: string): Promise<{ outputs: Properties }> => {
      const inputs = { node: "10.0.0.1", clientConfiguration, machineConfigurationInput, configPatches: [patch] };
      return bench.create(types.apply, inputs, { machineApi: "127.0.0.1:1" }, true);
    };
    const good = open((await preview("machine: {nodeLabels: {nvidia.com/gpu.present: 'true'}}")).outputs).values;
    expect(first(good.machineConfiguration).machine.nodeLabels).toEqual({ "nvidia.com/gpu.present": "true" });
    await expect(preview("apiVersion: v1alpha1\nkind: KernelModuleConfig\nname: nvidia\n")).rejects.toThrow(
      "not registered",
    );
  });

  test("an unreachable machine is tried until the limit", async () => {
    const { clientConfiguration } = (await made()).values;
    const inputs = { node: "10.0.0.1", clientConfiguration, timeouts: { create: "1s" } };
    const unreachable = bench.create(types.bootstrap, inputs, { machineApi: "127.0.0.1:1" });
    await expect(unreachable).rejects.toThrow(
      /bootstrapping etcd \(machine 10.0.0.1\): gave up after 1 s: .*Unavailable/,
    );
  });
});
