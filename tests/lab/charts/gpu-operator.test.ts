import { readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { folder, named, render, withHelm } from "./render";

withHelm("gpu-operator", () => {
  test("the operator's one hostPath volume is what Pod Security baseline refuses", async () => {
    const operator = named(await render("gpu-operator", "v25.10.1"), "Deployment", "gpu-operator");
    const { containers, volumes } = operator["spec"].template.spec;
    expect(containers[0].image).toBe("nvcr.io/nvidia/gpu-operator:v25.10.1");
    expect(volumes).toEqual([{ name: "host-os-release", hostPath: { path: "/etc/os-release" } }]);
  });

  test("values become the ClusterPolicy", async () => {
    const rendered = await render("gpu-operator", "v25.10.1", {
      driver: { enabled: false },
      toolkit: { enabled: false },
      cdi: { enabled: false },
      hostPaths: { driverInstallDir: "/usr/local" },
      devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] },
      daemonsets: { tolerations: [{ key: "gpu", operator: "Exists" }], labels: { team: "ml" } },
      validator: { driver: { env: [{ name: "DISABLE_DEV_CHAR_SYMLINK_CREATION", value: "true" }] } },
      operator: { runtimeClass: "gpus" },
      dcgmExporter: { enabled: false },
    });
    const policy = named(rendered, "ClusterPolicy", "cluster-policy");
    expect(policy).toMatchObject({
      apiVersion: "nvidia.com/v1",
      spec: {
        driver: {
          enabled: false,
          version: "580.105.08",
          useNvidiaDriverCRD: false,
          upgradePolicy: { podDeletion: {} },
        },
        toolkit: { enabled: false, version: "v1.18.1" },
        cdi: { enabled: false },
        hostPaths: { rootFS: "/", driverInstallDir: "/usr/local" },
        devicePlugin: {
          enabled: true,
          version: "v0.18.1",
          env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }],
        },
        daemonsets: { tolerations: [{ key: "gpu", operator: "Exists" }], labels: { team: "ml" } },
        validator: {
          version: "v25.10.1",
          plugin: { env: [] },
          driver: { env: [{ name: "DISABLE_DEV_CHAR_SYMLINK_CREATION", value: "true" }] },
        },
        operator: { runtimeClass: "gpus" },
        dcgmExporter: { enabled: false },
        gfd: { enabled: true },
        ccManager: { defaultMode: "off" },
        migManager: { enabled: true, config: { default: "all-disabled" } },
      },
    });
    expect(policy["spec"].devicePlugin).not.toHaveProperty("config");
  });

  test("older releases leave validator.plugin without a value, newer ones with an empty list", async () => {
    const plugin = async (version: string): Promise<unknown> =>
      named(await render("gpu-operator", version), "ClusterPolicy", "cluster-policy")["spec"].validator.plugin;
    expect(await plugin("v25.3.4")).toBeNull();
    expect(await plugin("v26.3.1")).toEqual({ env: [] });
  });

  test("a configuration of the device plugin is made, and named in the ClusterPolicy", async () => {
    const config = { create: true, name: "sharing", default: "any", data: { any: "version: v1\n" } };
    const rendered = await render("gpu-operator", "v26.3.1", { devicePlugin: { config } });
    expect(named(rendered, "ConfigMap", "sharing")).toMatchObject({
      metadata: { namespace: "gpu" },
      data: { any: "version: v1\n" },
    });
    const { spec } = named(rendered, "ClusterPolicy", "cluster-policy") as any;
    expect(spec.devicePlugin.config).toEqual({ name: "sharing", default: "any" });
  });

  test("node feature discovery comes along unless it is switched off", async () => {
    const rendered = await render("gpu-operator", "v25.10.1");
    named(rendered, "Deployment", "it-node-feature-discovery-master");
    const { spec } = named(rendered, "DaemonSet", "it-node-feature-discovery-worker")["spec"].template;
    expect(spec.containers[0].image).toBe("registry.k8s.io/nfd/node-feature-discovery:v0.18.2");
    expect(spec.tolerations).toContainEqual(expect.objectContaining({ key: "nvidia.com/gpu" }));
    const volumes = spec.volumes.filter((volume: any) => volume.hostPath).map((volume: any) => volume.name);
    expect(volumes).toContain("host-os-release");
    const without = await render("gpu-operator", "v25.10.1", { nfd: { enabled: false } });
    expect(without.objects.filter((object) => object.metadata.name.includes("feature-discovery"))).toEqual([]);
  });

  test("brings the definition of ClusterPolicy, with a status of its own", async () => {
    const file = path.join(await folder("gpu-operator", "v25.10.1"), "crds", "nvidia.com_clusterpolicies.yaml");
    const definition = parse(readFileSync(file, "utf8"));
    expect(definition).toMatchObject({
      spec: { scope: "Cluster", versions: [{ name: "v1", subresources: { status: {} } }] },
    });
    expect(named(await render("gpu-operator"), "CustomResourceDefinition", "clusterpolicies.nvidia.com")).toEqual(
      definition,
    );
  });

  test("from 26.7 on, the policy may be left out and objects added", async () => {
    const extra = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" } };
    const rendered = await render("gpu-operator", "v26.7.0", {
      clusterPolicy: { deployCR: false },
      extraObjects: [extra],
    });
    named(rendered, "ConfigMap", "mine");
    expect(rendered.objects.some((object) => object.kind === "ClusterPolicy")).toBe(false);
  });
});
