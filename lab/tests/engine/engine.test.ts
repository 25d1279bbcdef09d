import * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { Cluster } from "../../kubernetes/cluster";
import type { LabEngine, Progress } from "../../engine";
import { openTestLab, type TestLab } from "./lab";

const fiveMinutes = 300_000;
const secretValue = "correct-horse-battery-staple";

jest.setTimeout(fiveMinutes);

let lab: TestLab;
let cluster: Cluster;
const { signal } = new AbortController();

beforeAll(async () => {
  lab = await openTestLab();
  cluster = Cluster.of(lab.kubeconfig);
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "worker-1", labels: { keep: "me" } } };
  await cluster.apply(node, { fieldManager: "kubelet", force: false, signal });
}, 1_800_000);

afterAll(async () => {
  cluster.close();
  await lab.close();
});

/** What the program does differently from one update to the next. */
const wanted = { greeting: "hello", label: "one", trigger: 1, kubeconfig: "" };

function program(): Record<string, unknown> {
  const config = new pulumi.Config("trial");
  const provider = new k8s.Provider("cluster", {
    kubeconfig: pulumi.secret(wanted.kubeconfig),
    enableServerSideApply: true,
  });
  const opts = { provider };
  const namespace = new k8s.core.v1.Namespace("gpu", { metadata: { name: "gpu" } }, opts);
  const settings = new k8s.core.v1.ConfigMap(
    "settings",
    { metadata: { namespace: namespace.metadata.name }, data: { greeting: wanted.greeting } },
    opts,
  );
  const password = new k8s.core.v1.Secret(
    "password",
    { metadata: { namespace: "gpu" }, stringData: { password: config.requireSecret("password") } },
    { ...opts, dependsOn: namespace },
  );
  new k8s.core.v1.NodePatch("node", { metadata: { name: "worker-1", labels: { gpu: wanted.label } } }, opts);
  const said = new command.local.Command("said", {
    create: 'echo "$GREETING to $(cat)"',
    delete: 'echo "$PULUMI_COMMAND_STDOUT" > deleted.txt',
    stdin: settings.metadata.name,
    environment: { GREETING: wanted.greeting, TOKEN: config.requireSecret("password") },
    triggers: [wanted.trigger],
  });
  return { said: said.stdout, secretName: password.metadata.name, settings: settings.metadata.name };
}

const run = () => Promise.resolve(program());

describe("a program on the real engine", () => {
  let engine: LabEngine;
  const live = (kind: string, name: string, namespace?: string) =>
    cluster.get({ apiVersion: "v1", kind, metadata: { name, ...(namespace && { namespace }) } }, signal);

  beforeAll(async () => {
    wanted.kubeconfig = readFileSync(lab.kubeconfig, "utf8");
    engine = await lab.engine("first", run, { "trial:password": secretValue });
  });

  test("preview says what would be created and creates nothing", async () => {
    const preview = await engine.preview();
    expect(preview).toMatchObject({ result: "succeeded", changes: { create: 7, same: 0, delete: 0 } });
    await expect(live("Namespace", "gpu")).rejects.toMatchObject({ code: 404 });
  });

  test("up creates, with live progress", async () => {
    const events: Progress[] = [];
    const up = await engine.up({ onEvent: (event) => events.push(event) });
    expect(up.diagnostics).toEqual([]);
    expect(up).toMatchObject({ result: "succeeded", changes: { create: 7 } });
    expect(up.outputs["said"]?.value).toMatch(/^hello to settings-[0-9a-f]{8}$/);
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "resource", state: "done", op: "create", type: "kubernetes:core/v1:NodePatch" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "message", ephemeral: true, message: expect.stringMatching(/^hello to/) }),
    );
    const labels = (await live("Node", "worker-1")).metadata?.labels;
    expect(labels).toMatchObject({ keep: "me", gpu: "one" });
  });

  test("the secret is nowhere in the plain state, the settings or the outputs", async () => {
    const text = await engine.stateText();
    expect(text).toContain("kubernetes:core/v1:Secret");
    expect(text).not.toContain(secretValue);
    expect(text).not.toContain(Buffer.from(secretValue).toString("base64"));
    expect(text).not.toContain("client-key-data");
  });

  test("the same program changes nothing", async () => {
    const again = await engine.up();
    expect(again).toMatchObject({
      result: "succeeded",
      changes: { create: 0, update: 0, replace: 0, delete: 0, same: 7 },
    });
  });

  test("a change updates in place, or replaces what cannot change", async () => {
    Object.assign(wanted, { label: "two", greeting: "goodbye" });
    const preview = await engine.preview();
    // the ConfigMap's data replaces it, its name is unknown until then, and the command depends on it
    expect(preview).toMatchObject({ changes: { update: 2, replace: 1, same: 4 } });
    const before = (await engine.outputs())["settings"]?.value;
    const up = await engine.up();
    expect(up.diagnostics).toEqual([]);
    expect(up).toMatchObject({ result: "succeeded", changes: { update: 2, replace: 1, same: 4 } });
    expect(up.outputs["said"]?.value).toMatch(/^goodbye to settings-/);
    expect(up.outputs["settings"]?.value).not.toEqual(before);
    expect((await live("Node", "worker-1")).metadata?.labels).toMatchObject({ keep: "me", gpu: "two" });
    await expect(live("ConfigMap", before as string, "gpu")).rejects.toMatchObject({ code: 404 });
  });

  test("a changed trigger replaces the command", async () => {
    wanted.trigger = 2;
    expect(await engine.up()).toMatchObject({ result: "succeeded", changes: { replace: 1, same: 6 } });
    expect(readFileSync(`${lab.dir}/deleted.txt`, "utf8")).toMatch(/^goodbye to settings-/);
  });

  test("a kubeconfig of no cluster is noticed", async () => {
    const right = wanted.kubeconfig;
    wanted.kubeconfig = right.replace(/127\.0\.0\.1:\d+/, "127.0.0.1:1");
    const other = await lab.engine("elsewhere", run, { "trial:password": secretValue });
    const up = await other.up();
    expect(up.result).toBe("failed");
    expect(up.diagnostics.join("\n")).toContain("configured Kubernetes cluster is unreachable");
    wanted.kubeconfig = right;
  });

  test("destroy removes everything and gives the node back as it was", async () => {
    const destroyed = await engine.destroy();
    expect(destroyed.diagnostics).toEqual([]);
    expect(destroyed).toMatchObject({ result: "succeeded", changes: { delete: 7 } });
    await expect(live("Namespace", "gpu")).rejects.toMatchObject({ code: 404 });
    const labels = (await live("Node", "worker-1")).metadata?.labels;
    expect(labels).toEqual({ keep: "me" });
  });
});
