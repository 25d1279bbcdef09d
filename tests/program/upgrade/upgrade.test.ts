import { CallError } from "../../../components/clients/failure";
import { costOf, holding } from "../../../components/program/upgrade/leaving-pods";
import { Killed, nodeState, pod, schematics } from "../fakes";
import { errorMessageOf, setupUpgrade, STAGED } from "../setup";

describe("an upgrade", () => {
  const phases = ["reach", "compare", "precheck", "pull", "drain", "reboot", "verify", "uncordon"];
  const calls = ["pull", "cordon", "evict", "upgrade", "uncordon"];

  test.each([
    ...phases.map((name) => ({ name, kind: "phase" })),
    ...calls.map((name) => ({ name, kind: "call" })),
  ])(
    "ends with one reboot and a schedulable node if it is killed at the $kind $name",
    async ({ name, kind }) => {
      const { machine, cluster, logLines, context, run } = setupUpgrade();
      cluster.podList = [pod("app")];
      let isKilled = false;
      const kill = (reachedName: string): void => {
        if (isKilled || reachedName !== name) return;
        isKilled = true;
        throw new Killed();
      };
      if (kind === "phase")
        context.report = (line) => (logLines.push(line), kill(line.split(":")[0]!));
      else machine.afterCall = cluster.afterCall = kill;
      await expect(run()).rejects.toThrow(Killed);
      await run();
      expect(machine).toMatchObject({
        bootCount: 2,
        talosVersion: "v1.12.6",
        schematicId: schematics.gpu,
        active: STAGED,
      });
      expect(cluster.state).toEqual(nodeState());
    },
  );

  test("sets the taints before it uncordons the node", async () => {
    const { cluster, context, run } = setupUpgrade();
    context.taint = () => Promise.resolve(cluster.calls.push("taint"));
    await run();
    expect(cluster.calls).toEqual(["cordon", "taint", "uncordon"]);
  });

  test("waits longer for a machine that a killed run is upgrading than for a wrong address", async () => {
    const { machine, cluster, run } = setupUpgrade();
    machine.timing.boot = 900;
    machine.afterCall = (call) => {
      if (call === "upgrade") throw new Killed();
    };
    await expect(run()).rejects.toThrow(Killed);
    machine.afterCall = () => {};
    await machine.clock.sleep(60_000);
    expect(machine.isDown).toBe(true);
    const startTime = machine.clock.now();
    await run();
    const waitingTime = machine.clock.now() - startTime;
    expect(machine.bootCount).toBe(2);
    expect(cluster.state?.unschedulable).toBe(false);

    const setupWithWrongAddress = setupUpgrade();
    setupWithWrongAddress.machine.status = () =>
      Promise.reject(new CallError("unreachable", "no route"));
    const wrongStartTime = setupWithWrongAddress.clock.now();
    await expect(setupWithWrongAddress.run()).rejects.toThrow("was not up");
    expect(setupWithWrongAddress.clock.now() - wrongStartTime).toBeLessThan(waitingTime);
  });
});

test("the next run boots an image that is already installed, and does not overwrite the running image", async () => {
  const { machine, run } = setupUpgrade({ talosVersion: "v1.13.1" });
  Object.assign(machine, { talosVersion: "v1.13.0", connectionBreaksInUpgrade: true });
  const installerImage = `factory.talos.dev/metal-installer/${schematics.gpu}:v1.13.1`;
  await machine.upgrade(installerImage, "disk", "lifecycle").catch(() => undefined); // the state that a killed run leaves
  expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.13.1" });
  expect(machine.calls).toEqual(["upgrade lifecycle", "reboot"]);
  expect(machine.diskImages).toContain(`${schematics.plain}:v1.13.0`);
});

test("a pull that the registry refuses is not repeated, and the console's error is reported at once", async () => {
  const { context, clock, machine, logLines, run } = setupUpgrade();
  let reportTime = Infinity;
  context.report = (line) => {
    logLines.push(line);
    if (line.startsWith("pull: Talos could not pull the installer"))
      reportTime = Math.min(reportTime, clock.now());
  };
  machine.hangingPulls = 99;
  const pullError = `failed to pull image "factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6": connection refused`;
  machine.linesOfHangingPull = [pullError];
  expect(await errorMessageOf(run())).toMatch(
    /the machine could not pull \S+: waited 10m for .*\(last: failed to pull image .*connection refused\)/,
  );
  expect(machine.hangingPulls).toBe(98);
  const expectedLine = `pull: Talos could not pull the installer, and retries: ${pullError}`;
  expect(logLines.filter((line) => line === expectedLine)).toHaveLength(1);
  expect(reportTime).toBeLessThan(60_000);
});

test("a full disk ends a pull as soon as the console reports it, since no further try finds more room", async () => {
  const { clock, machine, run } = setupUpgrade();
  const startTime = clock.now();
  machine.hangingPulls = 99;
  machine.linesOfHangingPull = [
    `retrying error: failed to pull image "factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6": no space left on device`,
  ];
  expect(await errorMessageOf(run())).toMatch(
    /its disk has no room for the installer: .*no space left on device; .*the update stopped before/,
  );
  expect(machine.hangingPulls).toBe(98);
  expect(clock.now() - startTime).toBeLessThan(120_000);
});

test("a pull goes on although an earlier run found the disk full, since the user has freed it", async () => {
  const { machine, run } = setupUpgrade();
  machine.hangingPulls = 1;
  machine.consoleLines = [
    `retrying error: failed to pull image "factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6": no space left on device`,
  ];
  expect(await run()).toMatchObject({ rebooted: true });
});

test("a finding of the Image Factory stops the upgrade before the drain", async () => {
  const { context, machine, run } = setupUpgrade();
  context.askFactory = (next, _, release) =>
    Promise.resolve([
      {
        field: `machines.${next.machine}.secureBoot`,
        problem: `no key for ${next.installerImage} on ${release}`,
        why: "it would not start",
        remedy: "set factoryUrl",
      },
    ]);
  expect(await errorMessageOf(run())).toContain("machines.gpu-1.secureBoot: no key for");
  expect(machine.calls).toEqual([]);
});

test("an installation without room in the boot partition fails, and the error says how to make room", async () => {
  const { machine, run } = setupUpgrade({ talosVersion: "v1.13.1" });
  machine.talosVersion = "v1.13.0";
  const bootLoaderError =
    "failed to install bootloader: write /boot/EFI/EFI/Linux/Talos-v1.13.1.efi: no space left on device";
  machine.upgrade = () => Promise.reject(new CallError("refused", bootLoaderError));
  expect(await errorMessageOf(run())).toMatch(
    /the machine was not rebooted: failed to install bootloader: .*; its boot partition has no room for the new image .*; remove extensions .*, then run again/,
  );
});

test("a machine that loses power during the installation gets a second request, and no report of a rollback", async () => {
  const { machine, logLines, run } = setupUpgrade();
  const upgrade = machine.upgrade.bind(machine);
  machine.upgrade = () => {
    machine.upgrade = upgrade;
    machine.bootCount++;
    return Promise.reject(new CallError("unreachable", "EOF"));
  };
  expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.12.6" });
  expect(logLines).toContain(
    "reboot: the machine rebooted by itself before it accepted the request, so the program requests the reboot again",
  );
});

test("after the older upgrade call, a reboot into the old image is reported as a rollback or a failed installation", async () => {
  const { machine, run } = setupUpgrade();
  machine.upgrade = () => Promise.resolve(void machine.bootCount++);
  expect(await errorMessageOf(run())).toMatch(
    /Talos rolled back, or did not install the image: .*\. Or the installation failed because of an installer error, a power loss or a reset; look at/,
  );
});

test("if a paused boot ends by itself, the run does not change the machine", async () => {
  const { machine, run } = setupUpgrade();
  const wantedImage = { talosVersion: "v1.12.6", schematicId: schematics.gpu };
  Object.assign(machine, {
    active: "broken",
    stageName: "booting",
    unmetConditions: ["services"],
    ...wantedImage,
  });
  const bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
  machine.bootErrors = () => {
    // The machine rebooted by itself, so the staged configuration is active.
    Object.assign(machine, {
      stageName: "running",
      unmetConditions: [],
      active: machine.persistent,
    });
    machine.bootCount++;
    machine.bootErrors = () => Promise.resolve([]);
    return Promise.resolve(bootProblems);
  };
  await run();
  expect(machine.calls).toEqual([]);
});

test.each([
  ["of a ReplicaSet", pod("web", { controller: "ReplicaSet" }), []],
  [
    "without a controller",
    pod("shell"),
    ["has no controller, so nothing recreates it after the eviction"],
  ],
  [
    "with an emptyDir volume",
    pod("db", { controller: "StatefulSet", localStorage: true }),
    ["loses the content of its emptyDir volumes"],
  ],
  [
    "with GPUs",
    pod("train", { controller: "Job", gpus: 2 }),
    ["holds 2 GPUs: its computation is interrupted"],
  ],
  [
    "without a controller, with an emptyDir volume and a GPU",
    pod("notebook", { localStorage: true, gpus: 1 }),
    ["has no controller", "emptyDir", "holds a GPU"],
  ],
])("the drain lists what the eviction of a pod %s loses", (_, evictedPod, expectedLosses) => {
  const costs = costOf(evictedPod);
  expect(costs).toHaveLength(expectedLosses.length);
  expectedLosses.forEach((part, index) => expect(costs[index]).toContain(part));
  for (const cost of costs) expect(cost).toContain(`default/${evictedPod.name}`);
});

test.each([
  [
    "the owner of its disruption budget",
    "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently",
    {},
    "the owner of the disruption budget default/web must add replicas",
  ],
  [
    "the owner of its namespace, if a webhook denies the eviction",
    "admission webhook denied the request",
    {},
    "the owner of the namespace default must allow the eviction",
  ],
  [
    "the controller that set its finalizer",
    undefined,
    { finalizers: ["example.com/hold"] },
    "the controller that set the finalizer must remove it",
  ],
  [
    "the user, who must raise timeouts.drain above its grace period",
    undefined,
    { grace: 3600 },
    "raise timeouts.drain above the pod's grace period",
  ],
])("the remedy for a pod that does not end names %s", (_, refusal, podFields, expectedRemedy) => {
  expect(holding(pod("web", podFields), refusal).decides).toContain(expectedRemedy);
});
