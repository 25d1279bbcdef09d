import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { LabEngine, RunResult } from "../../../../lab/engine";
import { openTestLab, type TestLab } from "../../engine/lab";

jest.setTimeout(300_000);

let lab: TestLab;
let engine: LabEngine;
let program: (opts: pulumi.CustomResourceOptions) => pulumi.Resource[];

beforeAll(async () => {
  lab = await openTestLab();
  const kubeconfig = await readFile(lab.kubeconfig, "utf8");
  engine = await lab.engine("helm", () => {
    program({ provider: new k8s.Provider("cluster", { kubeconfig }) });
    return Promise.resolve({});
  });
}, 1_800_000);

afterAll(async () => {
  await lab.close();
});

afterEach(async () => {
  expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
});

const up = (register: typeof program): Promise<RunResult> => {
  program = register;
  return engine.up();
};
const errors = ({ diagnostics }: RunResult): string =>
  diagnostics.filter((line) => line.startsWith("error")).join("\n");

describe("a Helm release", () => {
  const values = { replicas: 0, password: "grandmothers-secret" };
  const release = (given: Record<string, unknown>) => (opts: pulumi.CustomResourceOptions) => [
    new k8s.helm.v3.Release(
      "app",
      {
        name: "app",
        chart: "app",
        version: "1.2.3",
        namespace: "apps",
        createNamespace: true,
        timeout: 4,
        repositoryOpts: { repo: "https://charts.example" },
        values: given,
      },
      opts,
    ),
  ];

  beforeAll(async () => {
    const chart = path.join(lab.dir, "chart");
    await mkdir(path.join(chart, "templates"), { recursive: true });
    const files = {
      "Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.2.3\nappVersion: v9\n",
      "values.yaml": "replicas: 0\n",
      "values.schema.json": JSON.stringify({
        type: "object",
        additionalProperties: false,
        properties: { replicas: { type: "integer" }, password: { type: "string" } },
      }),
      "templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: main, image: busybox}]}
`,
    };
    for (const [name, content] of Object.entries(files)) await writeFile(path.join(chart, name), content);
    lab.charts.set("https://charts.example app 1.2.3", chart);
  });

  test("installs, is the same, upgrades, and is uninstalled; its values are no file afterwards", async () => {
    const first = await up(release({ ...values, password: pulumi.secret(values.password) }));
    expect(errors(first)).toBe("");
    expect(first).toMatchObject({ result: "succeeded", changes: { create: 3 } });
    const state = await engine.stateText();
    expect(state).toMatch(/"revision": ?1/);
    expect(state).toMatch(/"appVersion": ?"v9"/);
    expect(state).not.toContain(values.password);
    expect(await engine.up()).toMatchObject({ changes: { update: 0, same: 3 } });
    const second = await up(release({ replicas: 0, password: "other-secret" }));
    expect(second).toMatchObject({ result: "succeeded", changes: { update: 1 } });
    expect(await engine.stateText()).toMatch(/"revision": ?2/);
    expect((await readdir(lab.dir)).filter((name) => name.startsWith("talos-gpu-helm-"))).toEqual([]);
  });

  test("a chart that is not there fails the preview, and an update that changes nothing", async () => {
    program = release(values);
    expect(await engine.up()).toMatchObject({ result: "succeeded" });
    const chart = lab.charts.get("https://charts.example app 1.2.3")!;
    lab.charts.set("https://charts.example app 1.2.3", `${chart}-gone`);
    const [preview, same] = [await engine.preview(), await engine.up()];
    lab.charts.set("https://charts.example app 1.2.3", chart);
    for (const run of [preview, same]) {
      expect(run.result).toBe("failed");
      expect(errors(run)).toContain("check the chart name and repository configuration.");
    }
  });

  test("a value that the chart does not have fails the update, and no preview", async () => {
    program = release({ replcias: 1 });
    expect(await engine.preview()).toMatchObject({ result: "succeeded", changes: { create: 3 } });
    const wrong = await engine.up();
    expect(wrong.result).toBe("failed");
    expect(errors(wrong)).toMatch(
      /additional propert\S+ 'replcias' not allowed|Additional property replcias is not allowed/i,
    );
  });

  test("a release that does not become ready says why and stays in the state", async () => {
    const stuck = await up(release({ replicas: 1 }));
    expect(stuck.result).toBe("failed");
    expect(errors(stuck)).toMatch(/Helm release apps\/app: helm install: .*(timed out|deadline exceeded)/s);
    expect(errors(stuck)).toMatch(/Pod apps\/app-\S+: not scheduled: Unschedulable/);
    expect(await up(release({ replicas: 0 }))).toMatchObject({
      result: "succeeded",
      changes: { update: 1, create: 0 },
    });
  });
});
