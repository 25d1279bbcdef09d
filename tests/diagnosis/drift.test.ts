import type { Observations } from "../../components/diagnosis";
import { differences, inOneLine } from "../../components/diagnosis/unlike/index";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";
import { changed, machine, namespace, plan, plugin } from "./changed";

/** What somebody changed by hand, and what the doctor calls it. */
const drifts: [string, (seen: Required<Observations>) => void, string][] = [
  [
    "another schematic, as after an upgrade by hand",
    ({ machines }) => (machines[0]!.schematicId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
    "runs the image of schematic 376567988ad3, the plan says",
  ],
  ["another release", ({ machines }) => (machines[0]!.talosVersion = "v1.10.1"), "runs Talos v1.10.1, the plan says"],
  [
    "a machine that was installed anew, without extensions",
    ({ machines }) => Object.assign(machines[0]!, { extensions: [], schematicId: "0" }),
    "its image lacks the extensions nvidia-container-toolkit-production, nvidia-open-gpu-kernel-modules-production",
  ],
  [
    "a driver that is gone",
    ({ machines }) => (machines[0]!.driverVersion = null),
    "no NVIDIA driver is loaded, the plan",
  ],
  ["a module that is gone", ({ machines }) => machines[0]!.modules!.shift(), "kernel modules are not loaded: nvidia"],
  [
    "a service that waits",
    ({ machines }) => (machines[0]!.services = { "ext-nvidia-persistenced": "Waiting" }),
    "service ext-nvidia-persistenced is Waiting, the plan says Running",
  ],
  ["a boot that does not end", ({ machines }) => (machines[0]!.stage = "booting"), "is booting, not running"],
  ["a node that is not ready", ({ nodes }) => (nodes[0]!.ready = false), `node ${machine}: is not ready`],
  ["a node that is cordoned", ({ nodes }) => (nodes[0]!.unschedulable = true), "is cordoned"],
  ["a node that is gone", (seen) => (seen.nodes = []), `node ${machine}: is not in the cluster`],
  [
    "slices by another name",
    ({ nodes }) => (nodes[0]!.allocatable!["nvidia.com/gpu.shared"] = "8"),
    "offers 8 of nvidia.com/gpu.shared, the plan says none",
  ],
  ["a release that is gone", (seen) => (seen.releases = []), `Helm release ${namespace}/${plugin}: is not installed`],
  [
    "a release whose upgrade was killed",
    ({ releases }) => (releases[0]!.status = "pending-upgrade"),
    "is pending-upgrade in revision 1, not deployed",
  ],
  [
    "a release of another chart",
    ({ daemonSets }) => (daemonSets[0]!.labels = { "helm.sh/chart": "nvidia-device-plugin-0.14.0" }),
    "is of chart nvidia-device-plugin-0.14.0, the plan says nvidia-device-plugin-",
  ],
  [
    "a namespace without its label",
    ({ namespaces }) => (namespaces.find(({ name }) => name === namespace)!.labels = {}),
    `namespace ${namespace}: lacks the label pod-security.kubernetes.io/enforce=privileged`,
  ],
  [
    "a RuntimeClass with another handler",
    ({ runtimeClasses }) => (runtimeClasses[0]!.handler = "runc"),
    "RuntimeClass nvidia: has the handler runc, the plan says nvidia",
  ],
  [
    "a smoke test that is gone",
    (seen) => (seen.jobs = []),
    `Job of the smoke test of ${machine}: is not in namespace ${namespace}`,
  ],
  [
    "a smoke test that has not passed",
    ({ jobs }) => (jobs[0]!.succeeded = 0),
    `Job ${namespace}/gpu-smoke-test-${machine}-abcdef-12345678: the smoke test has not passed`,
  ],
  [
    "a power limit that is gone",
    (seen) => (seen.daemonSets = seen.daemonSets.filter(({ name }) => !name.includes("power"))),
    `DaemonSet of the power limit of 300 W: is not in namespace ${namespace}`,
  ],
  ["a workload that is gone", (seen) => (seen.pods = seen.pods.filter((pod) => pod.owner)), ": is not there"],
];

test.each(drifts)("drift: %s", (_, change, expected) => {
  const found = differences(changed(change), plan).map(inOneLine);
  expect(found.some((line) => line.includes(expected)) ? expected : found).toBe(expected);
});

test("a stale containerd part is named by the keys that it lacks; what its owner adds is none of it", () => {
  const { machines } = plan.spec;
  const withPart = planOf("rtx3090", {
    machines: { rtx3090: { ...machines["rtx3090"], containerd: { cdiSpecDirs: ["/var/cdi"] } } },
  });
  const part = withPart.machines[0]!.containerdPart!;
  const seen = (containerdPart: string): string[] => {
    const found = asPlanned(withPart) as Required<Observations>;
    found.machines[0]!.containerdPart = containerdPart;
    return differences(found, withPart).map(({ problem }) => problem);
  };
  expect(seen(`${part}\n[debug]\nlevel = "info"\n`)).toEqual([]);
  expect(seen("")).toEqual([
    "/etc/cri/conf.d/20-customization.part is stale: it lacks plugins.io.containerd.cri.v1.runtime.cdi_spec_dirs",
  ]);
});

test("of a release that is newer than the tables only the driver's branch is told", () => {
  const newer = planOf("rtx5070ti", { talosVersion: "v1.12.99" });
  const seen = (driverVersion: string): string[] => {
    const found = asPlanned(newer) as Required<Observations>;
    found.machines[0]!.driverVersion = driverVersion;
    return differences(found, newer).map(({ problem }) => problem);
  };
  expect(seen("570.999.01")).toEqual([]);
  expect(seen("535.1.1")).toEqual([expect.stringContaining("NVIDIA driver 535.1.1 is loaded, the plan says 570.")]);
});
