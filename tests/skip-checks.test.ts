import { GpuCluster, type GpuClusterArgs } from "../components/gpu-cluster";
import { type FixId } from "../components/recipe";
import { stackSpec } from "./support/stacks";

const credentials = { talosconfig: "x", machineSecrets: "x", kubeconfig: "x" };
const args = (more: object): GpuClusterArgs =>
  ({ ...stackSpec("rtx5070ti"), ...credentials, ...more }) as GpuClusterArgs;
const checked: FixId[] = ["modelsPull", "nodeSelector", "driverBranches", "cudaImage"];

test.each(checked)("without %s: refused, unless checks are skipped", (fix) => {
  expect(() => GpuCluster.plan(args({ without: [fix] }))).toThrow("the stack has a mistake");
  expect(GpuCluster.plan(args({ without: [fix], skipChecks: true })).without).toEqual([fix]);
});

test("mistakes of shape are refused all the same", () =>
  expect(() => GpuCluster.plan(args({ talosVersion: 1, skipChecks: true }))).toThrow("talosVersion"));
