import { planCluster } from "../../../components/recipe";
import { gpuProviders } from "../../../components/recipe/facts/gpu-provider";
import { validStack } from "../../../tests/recipe/stacks";
import { findObject, render, describeWithHelm } from "./render";

// The real chart, from the driver's Go module. The recipe and the lab's kubelet rely on what is asserted here.
describeWithHelm("dra-driver-nvidia-gpu", () => {
  const { release, nodeSelector, resourceName, tolerations } = planCluster(
    validStack("dra"),
  ).kubernetes;

  test("with the package's values, the chart has one container per machine, Talos' driver folder and the device class", async () => {
    const rendered = await render(gpuProviders.dra.chart, release.version, release.values);
    const kinds = rendered.objects.map(({ kind }) => kind);
    expect(kinds).not.toContain("Deployment");
    const { metadata, spec } = rendered.objects.find(({ kind }) => kind === "DaemonSet")!;
    expect(metadata.name).toMatch(gpuProviders.dra.offers.pods);
    const pod = spec.template.spec;
    expect(pod).toMatchObject({ nodeSelector, tolerations });
    expect(pod.containers.map(({ name }: any) => name)).toEqual(["gpus"]);
    const mountsOf = (container: any): string =>
      container.volumeMounts.map(({ name, mountPath }: any) => `${name} ${mountPath}`).join(", ");
    expect(mountsOf(pod.initContainers[0])).toBe("driver-root-parent /driver-root-parent");
    expect(mountsOf(pod.containers[0])).toContain("driver-root /driver-root");
    const paths = Object.fromEntries(
      pod.volumes.map(({ name, hostPath }: any) => [name, hostPath.path]),
    );
    expect(paths).toMatchObject({ "driver-root-parent": "/usr", "driver-root": "/usr/local" });
    const { selectors } = findObject(rendered, "DeviceClass", resourceName)["spec"];
    expect(selectors[0].cel.expression).toContain(
      "device.attributes['gpu.nvidia.com'].type == 'gpu'",
    );
  });

  test("without the package's values, Helm refuses the chart", async () => {
    const { code, error } = await render(gpuProviders.dra.chart, release.version);
    expect(code).not.toBe(0);
    expect(error).toContain("--set 'gpuResourcesEnabledOverride=true'");
  });
});
