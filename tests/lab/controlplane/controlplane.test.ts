import { createPrivateKey, X509Certificate } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import { type ControlPlane, startControlPlane } from "../../../lab/controlplane";
import { spawnGuarded } from "../../../lab/session/process";
import { provideTools } from "../../../lab/tools";
import { type Answer, kubernetesOf } from "../../e2e/support/kubernetes";
import { processesOf, until } from "./processes";

/** A cold build of the binary; a warm one takes no time. */
const BUILD_LIMIT = 900_000;

describe("the control plane", () => {
  let binary: string;
  let parent: string;
  let dir: string;

  beforeAll(async () => {
    ({ controlplane: binary } = await provideTools({ only: ["controlplane"] }));
  }, BUILD_LIMIT);

  beforeEach(() => {
    parent = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-controlplane-"));
    dir = path.join(parent, "cluster");
  });
  afterEach(() => {
    expect(processesOf(parent)).toEqual([]);
    fs.rmSync(parent, { recursive: true, force: true });
  });

  describe("that runs", () => {
    let running: ControlPlane;
    const api = (method: string, where: string, body?: unknown): Promise<Answer> =>
      kubernetesOf(running.adminKubeconfig).answer(method, where, body);
    const pod = (spec: object): object => ({
      metadata: { name: "probe" },
      spec: { containers: [{ name: "probe", image: "registry.k8s.io/pause:3.10", ...spec }] },
    });
    const privileged = pod({ securityContext: { privileged: true } });

    // One cluster for all of these: each only looks, asks for a dry run, or has a namespace of its own.
    let folder: string;
    beforeAll(async () => {
      folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-controlplane-")), "cluster");
      running = await startControlPlane({ dir: folder, binary });
    });
    afterAll(async () => {
      await running.stop();
      fs.rmSync(path.dirname(folder), { recursive: true, force: true });
    });

    test("is of the stamped Kubernetes version", async () => {
      expect((await api("GET", "/version")).body).toMatchObject({ gitVersion: "v1.36.3", major: "1", minor: "36" });
    });

    test("admits a pod as soon as it says that it is ready", async () => {
      const answer = await api("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod({}));
      expect(answer).toMatchObject({ status: 201 });
    });

    test.each([
      ["default", 403],
      ["kube-system", 201],
    ])("holds Talos' Pod Security default: a privileged pod in %s gets %d", async (namespace, status) => {
      const answer = await api("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, privileged);
      expect(answer.status).toBe(status);
      if (status === 403) expect(answer.body.message).toContain('violates PodSecurity "baseline:latest"');
    });

    test("has the priority classes of system pods", async () => {
      const answer = await api("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical");
      expect(answer).toMatchObject({ status: 200, body: { value: 2000001000 } });
    });

    test("hands out the authority that clients are checked against, with its key", () => {
      const authority = new X509Certificate(fs.readFileSync(running.caCert));
      expect(authority.ca).toBe(true);
      expect(authority.checkPrivateKey(createPrivateKey(fs.readFileSync(running.caKey)))).toBe(true);
      expect(fs.statSync(running.caKey).mode & 0o077).toBe(0);
    });

    test("refuses who shows no certificate of it", async () => {
      await expect(fetch(`${running.server}/version`)).rejects.toThrow();
    });
  });

  test("other controllers follow on request, which work, and it stops with every component and its folder", async () => {
    const { restartControllers, adminKubeconfig, stop, ended } = await startControlPlane({ dir, binary });
    const managers = (): string[] =>
      processesOf(dir).filter((line) => line.includes(" child kube-controller-manager "));
    const [first] = managers();
    await restartControllers();
    expect(managers()).toHaveLength(1);
    expect(managers()).not.toEqual([first]);
    await kubernetesOf(adminKubeconfig).answer("POST", "/api/v1/namespaces", { metadata: { name: "probe" } });
    const account = "/api/v1/namespaces/probe/serviceaccounts/default";
    const made = async (): Promise<boolean> =>
      (await kubernetesOf(adminKubeconfig).answer("GET", account)).status === 200;
    await until(made, "the namespace has its service account", 20_000);
    expect(processesOf(dir).length).toBeGreaterThanOrEqual(5);
    await Promise.all([stop(), stop()]);
    expect(processesOf(dir)).toEqual([]);
    expect(fs.existsSync(dir)).toBe(false);
    expect(await ended).toMatchObject({ code: 0, wanted: true });
  });

  test("a component that dies ends it, named, with the end of its log", async () => {
    const { ended, stop } = await startControlPlane({ dir, binary });
    const etcd = processesOf(dir).find((line) => line.includes(" child etcd "));
    process.kill(Number.parseInt(etcd ?? ""), "SIGKILL");
    const { code, wanted, tail } = await ended;
    expect({ code, wanted }).toEqual({ code: 1, wanted: false });
    expect(tail).toMatch(/^etcd died \(signal: killed\), and a control plane without it cannot serve; read the end/);
    expect(fs.existsSync(dir)).toBe(false);
    await stop();
  });

  test("when it is killed, its components end by themselves", async () => {
    const { pid, ended, stop } = await startControlPlane({ dir, binary });
    process.kill(pid, "SIGKILL");
    expect(await ended).toMatchObject({ signal: "SIGKILL", wanted: false });
    await until(() => processesOf(dir).length === 0, "no component runs any more");
    await stop();
    expect(fs.existsSync(dir)).toBe(false);
  });

  test("abort while it starts leaves nothing either", async () => {
    const stop = new AbortController();
    const starting = startControlPlane({ dir, binary, signal: stop.signal });
    const rejected = expect(starting).rejects.toThrow("stopped by the user");
    await until(() => processesOf(dir).length > 1, "a component runs");
    stop.abort(new Error("stopped by the user"));
    await rejected;
    expect(processesOf(dir)).toEqual([]);
    expect(fs.existsSync(dir)).toBe(false);
  });

  test("a folder with something in it is refused, and left alone", async () => {
    fs.mkdirSync(dir);
    const precious = path.join(dir, "precious");
    fs.writeFileSync(precious, "kept");
    const up = spawnGuarded(binary, ["up", "--dir", dir], { name: "control plane" });
    await expect(up).rejects.toThrow(
      /is not empty, and it would be removed when the control plane stops; name a new folder/,
    );
    expect(fs.readFileSync(precious, "utf8")).toBe("kept");
  });
});
