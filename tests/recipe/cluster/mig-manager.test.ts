import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  planCluster,
  type ClusterSpec,
  type KubernetesRecipe,
} from "../../../components/recipe/index";
import { stackOfOneMachine } from "../stacks";

const kubernetesPlan = (spec: ClusterSpec): KubernetesRecipe => planCluster(spec).kubernetes;
const gpu = { gpus: [{ model: "H200" }] };

describe("the MIG manager", () => {
  const migSharing = { sharing: { mig: { strategy: "single", profile: "1g.18gb" } } } as const;
  /** The values of the operator's MIG manager. */
  const migManagerValues = (version: string, stackFields: Partial<ClusterSpec> = {}): unknown =>
    kubernetesPlan(
      stackOfOneMachine("v1.12.6", gpu, {
        gpuOperator: { version },
        ...migSharing,
        ...stackFields,
      }),
    ).release.values["migManager"];
  const migManager = {
    enabled: true,
    version: "v0.12.3-ubuntu20.04",
    args: [expect.stringContaining("/bin/entrypoint.sh")],
  };
  const env = [{ name: "CONFIG_FILE", value: "/mig-parted-config/config-default.yaml" }];

  test("has the last release that does not wait for systemd", () => {
    expect(migManagerValues("v25.3.4")).toEqual(migManager);
    expect(migManagerValues("v25.10.1")).toEqual(migManager);
  });

  test("of a newer operator also gets the path of its configuration file", () => {
    expect(migManagerValues("v26.3.3")).toEqual({ ...migManager, env });
    expect(migManagerValues("v26.7.0")).toEqual({ ...migManager, env });
  });

  test("is disabled in a stack without MIG", () =>
    expect(migManagerValues("v25.10.1", { sharing: {} })).toEqual({ enabled: false }));

  test("uses the ConfigMap that the user sets in migManager.config", () => {
    const config = { name: "my-mig-config" };
    const gpuOperator = { version: "v26.3.3", values: { migManager: { config } } };
    expect(migManagerValues("", { gpuOperator })).toEqual({ ...migManager, config });
  });

  test.each(["v1.12.6", "v1.13.0"])(
    "does not stop GPU clients of the host on Talos %s",
    (talosVersion) => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-mig-"));
      const { release } = kubernetesPlan(
        stackOfOneMachine(talosVersion, gpu, {
          gpuOperator: { version: "v26.3.3" },
          ...migSharing,
        }),
      );
      const [managerScript] = (release.values["migManager"] as { args: string[] }).args;
      // The operator's own script without its wait (gpu-operator v26.3.3,
      // assets/state-mig-manager/0420_configmap.yaml).
      const operatorScript = [
        "set -o allexport",
        "IS_HOST_DRIVER=true",
        "    export WITH_SHUTDOWN_HOST_GPU_CLIENTS=$IS_HOST_DRIVER",
        `exec sh -c 'echo "$0 host $IS_HOST_DRIVER, clients $WITH_SHUTDOWN_HOST_GPU_CLIENTS"' manager`,
      ];
      fs.writeFileSync(path.join(folder, "entrypoint.sh"), operatorScript.join("\n"));
      const command = managerScript!
        .replaceAll("/bin/entrypoint.sh", "entrypoint.sh")
        .replaceAll("/tmp/entrypoint.sh", "without-wait.sh");
      expect(execFileSync("sh", ["-c", command], { cwd: folder, encoding: "utf8" })).toBe(
        "manager host true, clients false\n",
      );
      fs.rmSync(folder, { recursive: true });
    },
  );
});
