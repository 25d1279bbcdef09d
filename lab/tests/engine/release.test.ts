import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { gpuRelease } from "../../../components/kubernetes/release";
import { Cluster } from "../../kubernetes/cluster";
import { planOf } from "../../../tests/support/plans";
import { openTestLab, type TestLab } from "./lab";

// The real device plugin's chart, Helm and API server: what the chart no longer says, its objects no longer have.

jest.setTimeout(300_000);

const { signal } = new AbortController();
let lab: TestLab;
let cluster: Cluster;

beforeAll(async () => {
  lab = await openTestLab();
  cluster = Cluster.of(lab.kubeconfig);
}, 1_800_000);

afterAll(async () => {
  cluster?.close();
  await lab?.close();
});

const sliced = planOf("rtx3090").kubernetes.release;
const { config: _config, ...whole } = sliced.values;
const wanted = { ...sliced };

async function program(): Promise<Record<string, unknown>> {
  const kubeconfig = pulumi.secret(readFileSync(lab.kubeconfig, "utf8"));
  const provider = new k8s.Provider("cluster", { kubeconfig, clusterIdentifier: "cluster" });
  const namespace = new k8s.core.v1.Namespace("ns", { metadata: { name: wanted.namespace } }, { provider });
  gpuRelease("gpu", wanted, 60, { provider, dependsOn: namespace });
  return Promise.resolve({});
}

test("a DaemonSet whose service account goes with time slicing does not go on asking for it", async () => {
  const { namespace, name } = sliced;
  const engine = await lab.engine("sliced", program);
  const account = async (): Promise<string[]> => {
    const key = { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name, namespace } };
    const { spec } = (await cluster.get(key, signal)) as { spec?: any };
    const { serviceAccountName, serviceAccount } = spec.template.spec;
    return [serviceAccountName, serviceAccount].filter((one) => one !== undefined);
  };
  expect(await engine.up()).toMatchObject({ result: "succeeded" });
  expect(await account()).toEqual(Array(2).fill("nvidia-device-plugin-service-account"));
  wanted.values = whole;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await account()).toEqual([]);
  expect(await engine.preview()).toMatchObject({ changes: { create: 0, update: 0, replace: 0, delete: 0 } });
  wanted.values = sliced.values;
  expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { update: 1 } });
  expect(await account()).toEqual(Array(2).fill("nvidia-device-plugin-service-account"));
});
