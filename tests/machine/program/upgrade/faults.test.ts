import { CallError } from "../../../../components/clients/failure";
import { CORDONED_BY } from "../../../../components/machine/program/kubernetes/cordon-mark";
import { upgrade } from "../../../../components/machine/program/upgrade/upgrade";
import { FakeMachine, pod, schematics } from "../fakes";
import { failure, setup } from "../setup";

describe("faults", () => {
  test("a pod that may not go stops it before the upgrade, and it says what is left", async () => {
    const { clock, machine, cluster, run } = setup();
    cluster.podList = [pod("db"), pod("app")];
    cluster.budgets["db"] = "Cannot evict pod as it would violate the pod's disruption budget.";
    const message = await failure(run());
    expect(message).toContain(
      "pod default/db did not go within 5m: Cannot evict pod as it would violate the pod's disruption budget.",
    );
    expect(message).not.toContain("default/app");
    expect(message).toContain("node gpu-1 is left cordoned");
    expect(machine.calls.filter((call) => call.startsWith("upgrade"))).toEqual([]);
    expect(cluster.state?.annotations[CORDONED_BY]).toBeDefined();
    expect(clock.now()).toBeLessThan(6 * 60_000);
  });

  test("a pod on a node that is not ready is gone once it was told to go; one that may not go still stops it", async () => {
    const { machine, cluster, run } = setup();
    cluster.state!.ready = false;
    cluster.podList = [pod("app")];
    machine.afterCall = (call) =>
      void (call === "upgrade" && machine.clock.after(180, () => (cluster.state!.ready = true)));
    expect(await run()).toMatchObject({ rebooted: true });
    expect(cluster.calls).toContain("evict app");

    const strict = setup();
    strict.cluster.state!.ready = false;
    strict.cluster.podList = [pod("db")];
    strict.cluster.budgets["db"] = "Cannot evict pod";
    expect(await failure(strict.run())).toContain("pod default/db did not go within 5m: Cannot evict pod");
  });

  test("volumes of the pods that went are waited for, for two minutes", async () => {
    const { clock, machine, cluster, lines, run } = setup();
    cluster.volumes = ["pvc-1"];
    clock.after(60, () => (cluster.volumes = []));
    machine.afterCall = (call) => void (call === "upgrade" && expect(clock.now()).toBeGreaterThanOrEqual(60_000));
    expect(await run()).toMatchObject({ rebooted: true });
    expect(lines).toContain("node gpu-1 is drained");

    const stays = setup();
    stays.cluster.volumes = ["pvc-2"];
    expect(await stays.run()).toMatchObject({ rebooted: true });
    expect(stays.lines).toContainEqual(expect.stringContaining("warning: pvc-2 still attached to it"));
  });

  test("an installer that cannot be pulled stops it before anything is disturbed", async () => {
    const { machine, cluster, run } = setup();
    machine.fail("pull", "refused");
    expect(await failure(run())).toContain(
      `machines.gpu-1: it could not pull factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`,
    );
    expect(cluster.calls).toEqual([]);
  });

  test("a pull that hangs once leaves time for another", async () => {
    const { clock, machine, run } = setup();
    machine.hangingPulls = 1;
    expect(await run()).toMatchObject({ rebooted: true });
    expect(clock.now()).toBeGreaterThan(5 * 60_000); // half of the limit
  });

  test("pulls that hang end at the limit, and nothing was disturbed", async () => {
    const { clock, machine, cluster, run } = setup();
    machine.hangingPulls = 99;
    expect(await failure(run())).toMatch(
      /could not pull \S+: waited 10m for installer .*Talos tells of no error: the registry does not answer it.*nothing drained/,
    );
    expect(clock.now()).toBeLessThan(11 * 60_000);
    expect(cluster.calls).toEqual([]);
  });

  test("pulls that a registry fails are not begun again, and what the machine's console says of them is told at once", async () => {
    const { bench, clock, machine, lines, run } = setup();
    let toldAt = Infinity;
    bench.report = (line) => {
      lines.push(line);
      if (line.startsWith("pull: Talos tries again")) toldAt = Math.min(toldAt, clock.now());
    };
    machine.hangingPulls = 99;
    const why = `failed to pull image "factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6": connection refused`;
    machine.lines = [why];
    expect(await failure(run())).toMatch(
      /it could not pull \S+: waited 10m for .*\(last: failed to pull image .*connection refused\)/,
    );
    expect(machine.hangingPulls).toBe(98);
    const told = `pull: Talos tries again, since it could not pull the installer: ${why}`;
    expect(lines.filter((line) => line === told)).toHaveLength(1);
    expect(toldAt).toBeLessThan(60_000);
  });

  test("a release that cannot pull ahead is upgraded all the same", async () => {
    const { machine, run } = setup();
    machine.fail("pull", "unimplemented");
    expect(await run()).toMatchObject({ rebooted: true });
  });

  test.each([true, false])(
    "a connection that drops when the upgrade is asked for (taken on: %s) costs no second reboot",
    async (effect) => {
      const { machine, run } = setup();
      machine.fail("upgrade", "unreachable", 1, effect);
      expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.12.6" });
      expect(machine.boots).toBe(2);
      expect(machine.calls.filter((call) => call.startsWith("upgrade"))).toHaveLength(effect ? 1 : 2);
    },
  );

  test("a machine that loses its power while it installs is asked again, and nobody speaks of a rollback", async () => {
    const { machine, lines, run } = setup();
    const upgrade = machine.upgrade.bind(machine);
    machine.upgrade = () => {
      machine.upgrade = upgrade;
      machine.boots++;
      return Promise.reject(new CallError("unreachable", "EOF"));
    };
    expect(await run()).toMatchObject({ rebooted: true, talosVersion: "v1.12.6" });
    expect(lines).toContain("reboot: the machine began again before it took the request on; it is asked once more");
  });

  test("a connection that always drops is given up after three tries", async () => {
    const { machine, run } = setup();
    machine.fail("upgrade", "unreachable", 99);
    expect(await failure(run())).toContain("the connection dropped 3 times");
    expect(machine.calls.filter((call) => call.startsWith("upgrade"))).toHaveLength(3);
  });

  test.each(["version", "schematic", "configurations", "bootId", "read", "services", "status"])(
    "one lost answer of %s does no harm",
    async (call) => {
      const { machine, run } = setup();
      machine.fail(call, "unreachable", 2);
      expect(await run()).toMatchObject({ rebooted: true });
      expect(machine.boots).toBe(2);
    },
  );

  test("a refusal is told at once", async () => {
    const { clock, machine, run } = setup();
    machine.fail("upgrade", "refused");
    expect(await failure(run())).toContain("upgrade: refused");
    expect(clock.now()).toBeLessThan(60_000);
    expect(machine.boots).toBe(1);
  });

  test("a rollback is called one", async () => {
    const { machine, cluster, run } = setup();
    machine.rollback = true;
    const message = await failure(run());
    expect(message).toContain("Talos rolled back");
    expect(message).toContain("v1.12.4");
    expect(cluster.state?.unschedulable).toBe(true);
  });

  test("a boot that never gets done is given up at its limit, with Talos' own reason", async () => {
    const { clock, machine, run } = setup();
    machine.afterCall = (call) => call === "upgrade" && machine.unmet.push("services: EtcFileSpecs already exists");
    const message = await failure(run());
    expect(message).toContain("it did not run within 30m");
    expect(message).toContain("EtcFileSpecs already exists");
    expect(clock.now()).toBeLessThan(32 * 60_000);
  });

  test("a machine that never comes back is given up at its limit", async () => {
    const { clock, machine, run } = setup();
    machine.timing.boot = 1e9;
    expect(await failure(run())).toMatch(
      /last: connection refused.*chooses the other entry of the boot menu.*rollback/,
    );
    expect(clock.now()).toBeLessThan(32 * 60_000);
  });

  test("a machine that does not answer at all is given up soon", async () => {
    const { clock, machine, bench, wanted } = setup();
    machine.down = true;
    expect(await failure(upgrade(wanted, { ...bench, cluster: undefined }))).toContain("machines.gpu-1.address");
    expect(clock.now()).toBe(5 * 60_000);
  });
});

describe("refused before anything is disturbed", () => {
  const refused = async (setUp: ReturnType<typeof setup>, ...parts: string[]): Promise<void> => {
    const message = await failure(setUp.run());
    for (const part of parts) expect(message).toContain(part);
    expect([...setUp.machine.calls, ...setUp.cluster.calls]).toEqual([]);
  };

  test("a downgrade", () => refused(setup({ talosVersion: "v1.12.3" }), "newer than the wanted v1.12.3"));
  test("two minors at once, with the way to go", () =>
    refused(setup({ talosVersion: "v1.14.0" }), "2 minor releases", "v1.13 release first"));
  test("no credentials to drain with", async () => {
    const made = setup();
    expect(await failure(upgrade(made.wanted, { ...made.bench, cluster: undefined }))).toContain(
      "talos-gpu:kubeconfig",
    );
    expect(made.machine.calls).toEqual([]);
  });
  test.each([
    ["a machine", {}],
    ["an owned machine", { configuration: "owned" }],
  ] as const)("%s that is another node than the one that would be drained", async (_, said) => {
    const made = setup(said);
    const nodes = async () => [
      { name: "gpu-1", bootId: "boot-7", addresses: ["10.0.0.2"] },
      { name: "gpu-2", bootId: "boot-1", addresses: ["10.0.0.1"] },
    ];
    Object.assign(made.bench, { nodes });
    await refused(made, "machines.gpu-1.address: the machine at 10.0.0.1 is node gpu-2");
  });
  test("an owned machine whose node gets its name by this update is brought there", async () => {
    const { bench, run } = setup({ configuration: "owned" });
    const nodes = async () => [{ name: "talos-abc-123", bootId: "boot-1", addresses: ["10.0.0.1"] }];
    Object.assign(bench, { nodes });
    expect(await run()).toMatchObject({ rebooted: true });
  });
  test.each(["v1.10.0", "v1.16.0", "none"])("talosctl %s", async (clientVersion) => {
    const made = setup();
    made.bench.clientVersion = clientVersion;
    await refused(made, "talosctl:");
  });
  test("a control plane of two, with a learner, a sick member and another one down, all at once", async () => {
    const made = setup({ role: "controlplane" });
    made.machine.members = [
      { id: "1", hostname: "cp-1", learner: false, urls: ["https://10.0.0.1:2380"] },
      { id: "2", hostname: "cp-2", learner: true, urls: ["https://10.0.0.2:2380"] },
    ];
    made.machine.etcdComplaints = ["NOSPACE"];
    const upgrading = new FakeMachine(made.clock);
    upgrading.stageName = "upgrading";
    const gone = new FakeMachine(made.clock);
    gone.down = true;
    made.bench.others = new Map([
      ["10.0.0.2", upgrading],
      ["10.0.0.3", gone],
    ]);
    await refused(
      made,
      "etcd has two members",
      "cp-2 is a learner",
      "NOSPACE",
      "10.0.0.2 is in stage upgrading",
      "10.0.0.3 does not answer",
    );
  });
  test.each<CallError["problem"]>(["unreachable", "refused"])(
    "nodes that cannot be listed (%s) stop nothing",
    async (problem) => {
      const { bench, lines, run } = setup();
      Object.assign(bench, { nodes: () => Promise.reject(new CallError(problem, "Kubernetes: nodes: forbidden")) });
      expect(await run()).toMatchObject({ rebooted: true });
      expect(lines).toContainEqual(
        expect.stringMatching(/precheck: not known whether the machine is node gpu-1 \(.*forbidden/),
      );
    },
  );
  test("the same etcd does not matter to a worker", async () => {
    const { machine, run } = setup();
    machine.members = [];
    expect(await run()).toMatchObject({ rebooted: true });
  });
});
