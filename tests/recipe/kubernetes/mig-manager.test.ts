import { planCluster, type ClusterSpec, type KubernetesRecipe } from "../../../components/recipe/index";
import { oneMachine } from "../stacks";

const kubernetes = (spec: ClusterSpec): KubernetesRecipe => planCluster(spec).kubernetes;
const gpu = { gpus: [{ model: "H200" }] };

describe("MIG manager", () => {
  const mig = { sharing: { mig: { strategy: "single", profile: "1g.18gb" } } } as const;
  const manager = (version: string, more: Partial<ClusterSpec> = {}): unknown =>
    kubernetes(oneMachine("v1.12.6", gpu, { gpuOperator: { version }, ...mig, ...more })).release.values["migManager"];
  const release = { enabled: true, version: "v0.12.3-ubuntu20.04" };
  const env = [{ name: "CONFIG_FILE", value: "/mig-parted-config/config-default.yaml" }];

  test("the release that does not wait for systemd, told its file by operators that leave that to newer ones", () => {
    expect(manager("v25.3.4")).toEqual(release);
    expect(manager("v25.10.1")).toEqual(release);
    expect(manager("v26.3.3")).toEqual({ ...release, env });
    expect(manager("v26.7.0")).toEqual({ ...release, env });
    expect(manager("v25.10.1", { sharing: {} })).toEqual({ enabled: false });
  });

  test("a configuration of the user's own is the operator's to name", () => {
    const config = { name: "my-mig-config" };
    const gpuOperator = { version: "v26.3.3", values: { migManager: { config } } };
    expect(manager("", { gpuOperator })).toEqual({ ...release, config });
  });

  test("is told that the driver is not the host's, where the marker files tell it", () => {
    const marker = (more: Partial<ClusterSpec>): string | undefined =>
      kubernetes(oneMachine("v1.12.6", gpu, { gpuOperator: { version: "v25.10.1" }, ...more })).markers.find(
        ({ file }) => file === "driver-ready",
      )?.content;
    expect(marker(mig)).toContain("IS_HOST_DRIVER=false");
    expect(marker({})).toContain("IS_HOST_DRIVER=true");
  });
});
