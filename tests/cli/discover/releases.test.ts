import { releasesOf } from "../../../cli/discover/releases";

/** A DaemonSet with labels, and an image. */
const workload = (labels: Record<string, string>, image: string) => ({
  metadata: { namespace: "gpu", name: "x", labels },
  spec: { selector: {}, template: { spec: { containers: [{ name: "main", image }] } } },
});

test("the DRA driver's former chart counts as a release of the driver", () => {
  const labels = { "helm.sh/chart": "nvidia-dra-driver-gpu-25.8.0" };
  expect(releasesOf([workload(labels, "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0")])).toEqual([
    { chart: "dra-driver-nvidia-gpu", namespace: "gpu", version: "25.8.0" },
  ]);
});

test("AMD's plugin does not count as NVIDIA's, although their images have the same name", () => {
  expect(releasesOf([workload({}, "docker.io/rocm/k8s-device-plugin:1.31.0")])).toEqual([]);
  expect(releasesOf([workload({}, "nvcr.io/nvidia/k8s-device-plugin:v0.17.4")])).toHaveLength(1);
});
