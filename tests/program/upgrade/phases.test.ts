import { changesSomething, longestRun, upgradePhases } from "../../../components/recipe/effect";
import { killedPhases } from "../../e2e/runs/faults-phases";
import { schematics, webhookService } from "../fakes";
import { setupUpgrade, STAGED } from "../setup";

// The lab kills an upgrade in each phase of this list. If no upgrade had a phase, the lab would silently not test
// it.
test("every phase of the list occurs in an upgrade, in the order of the list", async () => {
  const liveChange = setupUpgrade({
    modules: [],
    driverVersion: undefined,
    extensionServices: [],
    schematicId: schematics.plain,
  });
  liveChange.machine.talosVersion = "v1.12.6"; // only a configuration is staged
  const kubernetesUpdate = setupUpgrade({
    ...liveChange.task,
    configuration: "owned",
    otherControlPlanes: ["cp"],
  });
  const configurationWithKubelet = (release: string): string =>
    `machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:${release}"}}`;
  Object.assign(kubernetesUpdate.machine, {
    talosVersion: "v1.12.6",
    active: configurationWithKubelet("v1.35.0"),
    persistent: configurationWithKubelet("v1.36.0"),
  });
  const addonUpdate = setupUpgrade({ ...kubernetesUpdate.task, addons: true });
  const proxyOf = (release: string) => ({
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "kube-proxy", namespace: "kube-system" },
    spec: { template: { spec: { containers: [{ name: "kube-proxy", image: `p:${release}` }] } } },
  });
  addonUpdate.machine.kubernetesManifests = [
    { id: "10-kube-proxy", objects: [proxyOf("v1.36.0")] },
  ];
  addonUpdate.cluster.addonObjects.set("kube-proxy", proxyOf("v1.35.0"));
  const webhookWait = setupUpgrade();
  webhookWait.cluster.webhooks = [webhookService(true)];
  webhookWait.cluster.afterCall = (call) => {
    if (call !== "uncordon") return;
    webhookWait.cluster.webhooks = [webhookService(false)];
    webhookWait.clock.after(30, () => (webhookWait.cluster.webhooks = [webhookService(true)]));
  };
  const runs = [
    setupUpgrade(),
    webhookWait,
    setupUpgrade({ installs: true }),
    liveChange,
    kubernetesUpdate,
    addonUpdate,
  ];
  const phasesOfRuns = new Set<string>();
  for (const { run } of runs) {
    const names = (await run()).phases.map(({ name }) => name);
    expect(names).toEqual(upgradePhases.filter((phase) => names.includes(phase)));
    names.forEach((name) => phasesOfRuns.add(name));
  }
  expect(upgradePhases.filter((phase) => !phasesOfRuns.has(phase))).toEqual([]);
});

test("the phases at which the lab kills the program are those of an upgrade of a machine with a card", async () => {
  const { phases } = await setupUpgrade().run();
  expect(killedPhases).toEqual(phases.map(({ name }) => name));
});

// If Pulumi ends before the first change, the program ends too.
test("a run reports its first change just before its drain, and no phase before that changes something", async () => {
  const { context, run } = setupUpgrade();
  const events: string[] = [];
  context.report = (line) => events.push(line.split(":")[0]!);
  context.touches = () => events.push("first change");
  await run();
  const firstChange = events.indexOf("first change");
  expect(events[firstChange + 1]).toBe("drain");
  expect(events.slice(0, firstChange).filter((name) => changesSomething(name as "drain"))).toEqual(
    [],
  );
});

test("a run's limit is longer than all of its waits together", () => {
  const minutes = (count: number): number => count * 60_000;
  const limits = { pull: minutes(10), drain: minutes(5), reboot: minutes(30), verify: minutes(5) };
  // reach, join, cordoned or not, images, pull, drains, reboots, verify, uncordon, kubernetes, health, webhooks, addons
  const waits = 30 + 30 + 5 + 10 + 10 + 2 * 5 + 2 * 30 + 5 + 5 + 10 + 6 + 5 + 10;
  expect(longestRun(limits)).toBeGreaterThan(minutes(waits));
});

test("a machine with NVIDIA's modules is not rebooted if only its installer's name changes", async () => {
  const { machine, cluster, run } = setupUpgrade();
  const configuration = (image: string): string => `${STAGED}  install: {image: "${image}"}\n`;
  Object.assign(machine, {
    talosVersion: "v1.12.6",
    schematicId: schematics.gpu,
    active: configuration("theirs"),
  });
  machine.persistent = configuration("ours");
  expect(await run()).toMatchObject({ rebooted: false, bootId: "boot-1" });
  expect(machine.calls).toEqual(["activate"]);
  expect(machine.active).toBe(configuration("ours"));
  expect(cluster.calls).toEqual([]);
});
