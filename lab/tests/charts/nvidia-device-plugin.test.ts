import { planCluster } from "../../../components/recipe";
import { validStack } from "../../../tests/recipe/stacks";
import { findObject, render, type Rendered, describeWithHelm } from "./render";

// The real chart, from the plugin's Go module. The recipe and the lab's kubelet rely on what is asserted here.
describeWithHelm("nvidia-device-plugin", () => {
  const pluginPodSpec = (rendered: Rendered): any =>
    findObject(rendered, "DaemonSet", "it-nvidia-device-plugin")["spec"].template.spec;
  const pluginEnvironment = (rendered: Rendered): Record<string, string> => {
    const container = pluginPodSpec(rendered).containers.find(
      ({ name }: any) => name === "nvidia-device-plugin-ctr",
    );
    return Object.fromEntries(container.env.map(({ name, value }: any) => [name, value]));
  };

  test("by default, the chart has three node affinities, two tolerations and no runtime class", async () => {
    const rendered = await render("nvidia-device-plugin", "0.17.4");
    const spec = pluginPodSpec(rendered);
    const terms =
      spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
    expect(terms.map((term: any) => term.matchExpressions[0].key)).toEqual([
      "feature.node.kubernetes.io/pci-10de.present",
      "feature.node.kubernetes.io/cpu-model.vendor_id",
      "nvidia.com/gpu.present",
    ]);
    expect(spec.tolerations.map((toleration: any) => toleration.key)).toEqual([
      "CriticalAddonsOnly",
      "nvidia.com/gpu",
    ]);
    expect(spec).not.toHaveProperty("runtimeClassName");
    expect(spec.priorityClassName).toBe("system-node-critical");
    expect(spec.containers[0].image).toBe("nvcr.io/nvidia/k8s-device-plugin:v0.17.4");
    expect(pluginEnvironment(rendered)).not.toHaveProperty("DEVICE_LIST_STRATEGY");
    const daemon = findObject(rendered, "DaemonSet", "it-nvidia-device-plugin-mps-control-daemon");
    expect(daemon["spec"].template.spec.nodeSelector).toEqual({ "nvidia.com/mps.capable": "true" });
  });

  /**
   * Containers that request MIG monitors without the right to them, so that the toolkit refuses them
   * (gpu-operator#322).
   */
  const refusedContainers = (rendered: Rendered): string[] =>
    rendered.objects
      .filter(({ kind }) => kind === "DaemonSet")
      .flatMap((object) => object["spec"].template.spec.containers)
      .filter(({ env }: any) => env.some(({ name }: any) => name === "NVIDIA_MIG_MONITOR_DEVICES"))
      .filter(
        ({ securityContext: { privileged, capabilities } }: any) =>
          !privileged && !capabilities?.add?.includes("SYS_ADMIN"),
      )
      .map(({ name }: any) => name);

  test("a hardened container requests MIG monitors only without the package's MIG strategy", async () => {
    const { release } = planCluster(validStack("rtx3090-timeslicing")).kubernetes;
    const hardened = {
      ...release.values,
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    };
    const hardenedWithoutMigStrategy = { ...hardened, migStrategy: null };
    expect(
      refusedContainers(
        await render("nvidia-device-plugin", release.version, hardenedWithoutMigStrategy),
      ),
    ).toEqual(["nvidia-device-plugin-ctr"]);
    expect(
      refusedContainers(await render("nvidia-device-plugin", release.version, hardened)),
    ).toEqual([]);
  });

  test("a list as deviceListStrategy is refused", async () => {
    const { code, error } = await render("nvidia-device-plugin", "0.18.2", {
      deviceListStrategy: ["envvar"],
    });
    expect(code).not.toBe(0);
    expect(error).toContain("expected string; got []interface {}");
  });

  test.each([
    [{}, "default", "Running in the 'default' namespace is not recommended"],
    [{ namespace: "gpu" }, "gpu", "no longer supported"],
    [{ config: { name: "a", map: { b: "" } } }, "gpu", "Only one of 'config.name' or 'config.map'"],
    [{ config: { map: { a: "x", b: "y" } } }, "gpu", "A default config must be provided"],
  ])("refuses the values %j in the namespace %s", async (values, namespace, message) => {
    const { code, error } = await render("nvidia-device-plugin", "0.17.4", values, namespace);
    expect(code).not.toBe(0);
    expect(error).toContain(message);
  });
});
