import { FakeMachine, schematics } from "../fakes";
import { failure, setup, STAGED } from "../setup";

const member = (id: string, ...urls: string[]) => ({ id, hostname: `cp-${id}`, learner: false, urls });
const at = (address: string): string => `https://${address}:2380`;

/** A control plane of a cluster of three, the only one in the stack. */
function alone() {
  const parts = setup({ role: "controlplane" });
  const { clock, machine } = parts;
  const strangers = { "10.0.0.2": new FakeMachine(clock), "10.0.0.3": new FakeMachine(clock) };
  machine.members = [member("1", at("10.0.0.1")), member("2", at("10.0.0.2")), member("3", at("10.0.0.3"))];
  Object.assign(machine.network, strangers);
  return { ...parts, second: strangers["10.0.0.2"], third: strangers["10.0.0.3"] };
}

describe("control planes that are not in the stack", () => {
  test("are asked: it goes on where they are well", async () => {
    const { lines, run } = alone();
    expect(await run()).toMatchObject({ rebooted: true });
    expect(lines.filter((line) => line.includes("not in the stack"))).toEqual([]);
  });

  test.each<[string, (third: FakeMachine) => void, string]>([
    [
      "down",
      (third) => (third.down = true),
      "machines.gpu-1: control plane 10.0.0.3 (etcd member cp-3, not in the stack) does not answer (connection refused); two control planes down at a time may lose etcd's quorum; bring it up and run again; where it is gone for good",
    ],
    [
      "in an upgrade",
      (third) => (third.stageName = "upgrading"),
      "10.0.0.3 (etcd member cp-3, not in the stack) is in stage upgrading",
    ],
    [
      "unwell",
      (third) => (third.etcdComplaints = ["NOSPACE"]),
      "10.0.0.3 (etcd member cp-3, not in the stack) complains: NOSPACE",
    ],
    ["without etcd", (third) => third.fail("etcdProblems", "unimplemented"), "complains: etcdProblems: unimplemented"],
  ])("stop it before anything is disturbed where one is %s", async (_, change, problem) => {
    const { machine, cluster, third, run } = alone();
    change(third);
    expect(await failure(run())).toContain(problem);
    expect([...machine.calls, ...cluster.calls]).toEqual([]);
  });

  test("are told of and stop nothing where their health cannot be known", async () => {
    const { machine, second, lines, run } = alone();
    machine.members = [machine.members[0]!, machine.members[1]!, member("3", "https://:2380"), member("4")];
    second.fail("status", "refused");
    expect(await run()).toMatchObject({ rebooted: true });
    expect(lines.filter((line) => line.includes("its health is not known"))).toEqual([
      "precheck: etcd member cp-2, not in the stack: its health is not known, it cannot be asked (status: refused)",
      "precheck: etcd member cp-3, not in the stack: its health is not known, it gives no address (https://:2380)",
      "precheck: etcd member cp-4, not in the stack: its health is not known, it gives no address (no URL)",
    ]);
  });

  test("are asked at the next of their addresses where the first does not answer", async () => {
    const { machine, run } = alone();
    machine.members[2]!.urls = [at("192.0.2.3"), at("10.0.0.3"), "https://10.0.0.3:2379"];
    expect(await run()).toMatchObject({ rebooted: true });
  });

  test("are not those of the stack, which give etcd another address than the stack", async () => {
    const { clock, machine, bench, run } = alone();
    const others = [2, 3].map((id) => Object.assign(new FakeMachine(clock), { memberId: String(id) }));
    bench.others = new Map([
      ["fd00:0:0::2", others[0]!],
      ["cp-3.example", others[1]!],
    ]);
    // Nothing answers at 192.0.2.x.
    machine.members = [member("1", at("192.0.2.1")), member("2", at("[fd00::2]")), member("3", at("192.0.2.3"))];
    expect(await run()).toMatchObject({ rebooted: true });
  });
});

describe("a control plane whose boot is paused", () => {
  const paused = () => {
    const parts = alone();
    const { clock, machine, cluster, bench } = parts;
    Object.assign(machine, {
      ...{ talosVersion: "v1.12.6", schematicId: schematics.gpu, active: "broken", persistent: STAGED },
      ...{ stageName: "booting", unmet: ["services"], etcdState: "Waiting" },
    });
    machine.bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
    machine.fail("etcdMembers", "unreachable", 999);
    machine.fail("etcdProblems", "unreachable", 999);
    machine.afterCall = () => void Object.assign(machine, { unmet: [], bootProblems: [] });
    const other = new FakeMachine(clock);
    bench.others = new Map([["10.0.0.2", other]]);
    cluster.alone = true;
    return { ...parts, other };
  };

  test("is rebooted into its staged correction, though its etcd is not up", async () => {
    const { clock, machine, run } = paused();
    expect(await run()).toMatchObject({ rebooted: true });
    expect(machine.calls).toEqual(["reboot"]);
    expect(clock.now()).toBeLessThan(5 * 60_000);
  });

  test("is left alone where another control plane is down", async () => {
    const { machine, other, run } = paused();
    other.down = true;
    expect(await failure(run())).toContain("control plane 10.0.0.2 does not answer");
    expect(machine.calls).toEqual([]);
  });

  test("is asked as ever where its etcd is up: its boot waits for a driver, and its member counts", async () => {
    const { machine, third, run } = paused();
    Object.assign(machine, { etcdState: "Running", active: "machine: {}\n", bootProblems: [] });
    machine.etcdMembers = () => Promise.resolve(machine.members);
    machine.etcdProblems = () => Promise.resolve([]);
    third.down = true;
    expect(await failure(run())).toContain("10.0.0.3 (etcd member cp-3, not in the stack) does not answer");
    expect(machine.calls).toEqual([]);
  });
});
