import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { guarded } from "../../../components/kubernetes/guard";
import { OWNER } from "../../../components/kubernetes/guard/live";
import { volume } from "../../../components/workloads/volume";
import type { LabEngine } from "../../engine";
import { Cluster } from "../../kubernetes/cluster";
import { openTestLab, type TestLab } from "./lab";

// Two stacks of one program on one cluster: what a guarded stack makes, no other one takes over.

jest.setTimeout(300_000);

const { signal } = new AbortController();
let lab: TestLab;
let cluster: Cluster;
let kubeconfig: string;

beforeAll(async () => {
  lab = await openTestLab();
  kubeconfig = readFileSync(lab.kubeconfig, "utf8");
  cluster = Cluster.of(lab.kubeconfig);
}, 1_800_000);

afterAll(async () => {
  cluster?.close();
  await lab?.close();
});

/** Class of the claim that the program makes. */
let storageClass = "slow";

/** A namespace, a RuntimeClass and what is in the namespace. */
function program(): Promise<Record<string, unknown>> {
  const secret = pulumi.secret(kubeconfig);
  const provider = new k8s.Provider("cluster", { kubeconfig: secret, clusterIdentifier: "cluster" });
  const opts = { provider, transformations: [guarded("gpu", secret)] };
  const { metadata } = new k8s.core.v1.Namespace("gpu-namespace", { metadata: { name: "gpu-operator" } }, opts);
  new k8s.node.v1.RuntimeClass("gpu-class", { metadata: { name: "nvidia" }, handler: "nvidia" }, opts);
  new k8s.core.v1.ConfigMap("gpu-settings", { metadata: { name: "s", namespace: metadata.name }, data: {} }, opts);
  volume("gpu-data", { name: "data", namespace: metadata.name, storage: "1Gi", storageClass }, opts);
  return Promise.resolve({});
}

const read = (
  kind: "Namespace" | "ConfigMap" | "RuntimeClass" | "PersistentVolumeClaim",
  name: string,
  namespace?: string,
) =>
  cluster.get(
    {
      apiVersion: kind === "RuntimeClass" ? "node.k8s.io/v1" : "v1",
      kind,
      metadata: { name, ...(namespace && { namespace }) },
    },
    signal,
  );

const errors = ({ diagnostics }: { diagnostics: readonly string[] }): string[] =>
  diagnostics.filter((line) => line.startsWith("error"));

describe("two stacks that would make the same namespace", () => {
  let [one, other]: LabEngine[] = [];

  beforeAll(async () => {
    [one, other] = [await lab.engine("one", program), await lab.engine("other", program)];
    expect(await one.up()).toMatchObject({ result: "succeeded" });
  });

  test.each(["preview", "up"] as const)("the second one's %s is refused, and names the first", async (verb) => {
    const refused = await other![verb]();
    expect(refused.result).toBe("failed");
    expect(errors(refused).join("\n")).toMatch(
      /Namespace gpu-operator: is in the cluster already, made by trial\/one\/gpu-namespace; .*give one of them another name/,
    );
  });

  test("the second one's destroy leaves what is the first one's", async () => {
    expect(await other!.destroy()).toMatchObject({ result: "succeeded" });
    expect((await read("Namespace", "gpu-operator")).metadata?.annotations?.[OWNER]).toMatch(/^trial\/one\//);
    expect(await one!.preview()).toMatchObject({ changes: { create: 0, update: 0, replace: 0, delete: 0 } });
  });

  test("what was deleted by hand comes back with --refresh", async () => {
    const gone = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "nvidia" } };
    await cluster.delete(gone, signal);
    expect(await one!.up({ refresh: true })).toMatchObject({ result: "succeeded" });
    expect((await read("RuntimeClass", "nvidia")).metadata?.annotations?.[OWNER]).toMatch(/^trial\/one\//);
  });

  const urn = (type: string, name: string): string => `urn:pulumi:one::trial::kubernetes:${type}::${name}`;
  const uid = (...of: Parameters<typeof read>): Promise<string | undefined> => read(...of).then((o) => o.metadata?.uid);

  test("--replace makes them anew under their own names", async () => {
    const uids = (): Promise<unknown[]> =>
      Promise.all([uid("RuntimeClass", "nvidia"), uid("ConfigMap", "s", "gpu-operator")]);
    const before = await uids();
    const replace = [urn("node.k8s.io/v1:RuntimeClass", "gpu-class"), urn("core/v1:ConfigMap", "gpu-settings")];
    expect(await one!.up({ replace })).toMatchObject({ result: "succeeded", changes: { replace: 2 } });
    const after = await uids();
    expect(after.filter((one) => one === undefined || before.includes(one))).toEqual([]);
  });

  test.each(["preview", "up"] as const)(
    "another class for a claim: its %s is refused, and the claim stays",
    async (verb) => {
      const before = await uid("PersistentVolumeClaim", "data", "gpu-operator");
      storageClass = "fast";
      const refused = await one![verb]();
      storageClass = "slow";
      expect(refused.result).toBe("failed");
      expect(errors(refused).join("\n")).toMatch(/PersistentVolumeClaim gpu-operator\/data: is to be replaced /);
      expect(await uid("PersistentVolumeClaim", "data", "gpu-operator")).toBe(before);
      expect(await one!.preview()).toMatchObject({ changes: { create: 0, update: 0, replace: 0, delete: 0 } });
    },
  );

  test.each(["preview", "up"] as const)(
    "--replace of a namespace that holds something: its %s is refused",
    async (verb) => {
      const before = await uid("Namespace", "gpu-operator");
      const refused = await one![verb]({ replace: [urn("core/v1:Namespace", "gpu-namespace")] });
      expect(refused.result).toBe("failed");
      expect(errors(refused).join("\n")).toMatch(
        /Namespace gpu-operator: is to be replaced \(--replace\), .*holds .*ConfigMap s/,
      );
      expect(await uid("Namespace", "gpu-operator")).toBe(before);
      expect(await one!.preview()).toMatchObject({ changes: { create: 0, update: 0, replace: 0, delete: 0 } });
    },
  );
});
