import { applyToOmni, releaseFromOmni } from "../../../../components/machine/program/omni/apply";
import { CallError } from "../../../../components/machine/program/failure";
import { waitForOmni } from "../../../../components/machine/program/omni/wait";
import { omniWaitTask, type OmniTask, type OmniWaitTask } from "../../../../components/machine/program/task";
import { customizationPath, omniResources } from "../../../../components/recipe";
import { FakeOmni } from "./fake-omni";
import { FakeClock, FakeMachine } from "../fakes";
import { failure } from "../setup";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const part = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: "x"}\n`;
const task = (patches = [part]): OmniTask => ({
  machine: "gpu-1",
  uuid,
  cluster: "frank",
  resources: omniResources({ cluster: "frank", uuid, patches, extensions: ["siderolabs/x"] }),
});

const quiet = (): void => {};

describe("omni-apply", () => {
  test("writes what differs, extensions first; a second run writes nothing", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    expect(omni.calls).toEqual([
      `apply ExtensionsConfigurations 510-talos-gpu-${uuid}`,
      `apply ConfigPatches 510-talos-gpu-${uuid}`,
    ]);
    omni.calls.length = 0;
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [] });
    expect(omni.calls).toEqual([]);
  });

  test("a patch of ours that is not wanted any more goes; those of others stay", async () => {
    const omni = new FakeOmni();
    const theirs = { "omni.sidero.dev/cluster": "frank" };
    omni.put("500-theirs", theirs, "machine: {sysctls: {a: b}}\n");
    omni.put("510-talos-gpu-another", theirs, "machine: {}\n");
    await applyToOmni(task(["machine: {}\n", part]), omni, quiet);
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [`5010-talos-gpu-${uuid}`] });
    expect([...omni.held.values()].map(({ metadata }) => metadata.id)).toEqual(
      expect.arrayContaining(["500-theirs", "510-talos-gpu-another"]),
    );
  });

  test("a patch that comes or goes leaves the containerd part where it is; what moved is taken away before it comes back", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    omni.calls.length = 0;
    const two = ["machine: {}\n", part];
    expect(await applyToOmni(task(two), omni, quiet)).toMatchObject({ written: [`5010-talos-gpu-${uuid}`] });
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [`5010-talos-gpu-${uuid}`] });
    // As this package once numbered them.
    omni.put(`511-talos-gpu-${uuid}`, {}, part);
    omni.calls.length = 0;
    await applyToOmni(task(two), omni, quiet);
    expect(omni.calls).toEqual([
      `delete ConfigPatches 511-talos-gpu-${uuid}`,
      `apply ConfigPatches 5010-talos-gpu-${uuid}`,
    ]);
  });

  test("a cluster-wide patch with the same file is refused before anything is written", async () => {
    const omni = new FakeOmni();
    omni.put("300-cdi-containerd", { "omni.sidero.dev/cluster": "frank" }, part);
    const message = await failure(applyToOmni(task(), omni, quiet));
    expect(message).toContain(
      "machines.gpu-1.containerd: the patch 300-cdi-containerd in Omni, for the whole cluster frank",
    );
    expect(message).toContain("omnictl delete ConfigPatches.omni.sidero.dev 300-cdi-containerd");
    expect(omni.calls).toEqual([]);
  });

  test("extensions that its image has and the stack's list lacks are named; nothing is written", async () => {
    const omni = new FakeOmni();
    omni.seen!.extensions = ["siderolabs/iscsi-tools", "siderolabs/util-linux-tools", "siderolabs/x"];
    const message = await failure(applyToOmni(task(), omni, quiet));
    expect(message).toMatch(
      /^machines\.gpu-1\.extensions: the machine runs siderolabs\/iscsi-tools, siderolabs\/util-linux-tools, /,
    );
    expect(omni.calls).toEqual([]);
    const drop = ["siderolabs/iscsi-tools", "util-linux-tools"];
    await applyToOmni({ ...task(), drop }, omni, quiet);
    expect(omni.calls).toHaveLength(2);
  });

  test("what our own list brought may be taken out of the stack", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    omni.seen!.extensions = ["siderolabs/iscsi-tools", "siderolabs/x"];
    expect(await applyToOmni(task(["machine: {}\n", part]), omni, quiet)).toMatchObject({
      written: [`5010-talos-gpu-${uuid}`],
    });
  });

  test("a machine without a containerd part has no rival", async () => {
    const omni = new FakeOmni();
    omni.put("300-cdi-containerd", { "omni.sidero.dev/cluster": "frank" }, part);
    await applyToOmni(task(["machine: {}\n"]), omni, quiet);
    expect(omni.calls).toHaveLength(2);
  });

  test.each<[string, (omni: FakeOmni) => void, string]>([
    ["unknown to Omni", (omni) => (omni.seen = omni.state = undefined), "machines.gpu-1.uuid: Omni knows no machine"],
    ["of another cluster", (omni) => (omni.state!.cluster = "other"), "is of the cluster other, not frank"],
    [
      "meant for no cluster that is there",
      (omni) => ((omni.state = undefined), (omni.clusters = [])),
      "clusterName: Omni has no cluster frank",
    ],
  ])("a machine that is %s is refused", async (_, spoil, part) => {
    const omni = new FakeOmni();
    spoil(omni);
    expect(await failure(applyToOmni(task(), omni, quiet))).toContain(part);
    expect(omni.calls).toEqual([]);
  });

  test("one that waits to be added to the cluster gets its patches before", async () => {
    const omni = new FakeOmni();
    omni.state = undefined;
    const said: string[] = [];
    await applyToOmni(task(), omni, (line) => said.push(line));
    expect(omni.calls).toHaveLength(2);
    expect(said.join()).toContain("Omni keeps them until the machine joins");
    omni.put("300-of-a-set", { "omni.sidero.dev/cluster": "frank", "omni.sidero.dev/machine-set": "gpus" }, part);
    expect(await failure(applyToOmni(task(), omni, quiet))).toContain("for the machine set gpus"); // it may join that one
  });
});

test("omni-release takes away what is ours and nothing else; a second one finds nothing", async () => {
  const omni = new FakeOmni();
  omni.put("500-theirs", { "omni.sidero.dev/cluster": "frank" }, "machine: {}\n");
  await applyToOmni(task(), omni, quiet);
  expect((await releaseFromOmni(task(), omni, new FakeClock(), quiet)).removed).toHaveLength(2);
  expect([...omni.held.values()].map(({ metadata }) => metadata.id)).toEqual(["500-theirs"]);
  expect(await releaseFromOmni(task(), omni, new FakeClock(), quiet)).toEqual({ removed: [] });
});

test("omni-release waits for Omni, and says how the stack forgets the machine where there is no Omni any more", async () => {
  const omni = new FakeOmni();
  const clock = new FakeClock();
  await applyToOmni(task(), omni, quiet);
  const { ids } = omni;
  omni.ids = () => Promise.reject(new CallError("unreachable", "omnictl get failed: connection refused"));
  clock.after(60, () => (omni.ids = ids));
  expect((await releaseFromOmni(task(), omni, clock, quiet)).removed).toHaveLength(2);

  omni.ids = () => Promise.reject(new CallError("refused", "omnictl get failed: no such host"));
  const message = await failure(releaseFromOmni(task(), omni, clock, quiet));
  expect(message).toContain("machines.gpu-1: Omni cannot be asked: omnictl get failed: no such host; ");
  expect(message).toContain("`pulumi state delete 'URN'`");
});

describe("omni-wait", () => {
  const wanted = (more: Partial<OmniWaitTask> = {}): OmniWaitTask =>
    omniWaitTask.parse({
      machine: "gpu-1",
      address: "192.0.2.1",
      uuid,
      cluster: "frank",
      talosVersion: "v1.12.6",
      configurationHash: "h",
      extensions: ["siderolabs/x"],
      modules: [],
      extensionServices: [],
      files: {},
      timeouts: { reboot: "10m", verify: "5m" },
      ...more,
    });
  const bench = () => {
    const clock = new FakeClock();
    return { omni: new FakeOmni(), machine: new FakeMachine(clock), clock, report: quiet };
  };

  test("ends once release, extensions and configuration are there", async () => {
    const parts = bench();
    parts.omni.changes = true;
    parts.clock.after(120, () => (parts.omni.changes = false));
    expect(await waitForOmni(wanted(), parts)).toMatchObject({ talosVersion: "v1.12.6", schematicId: "s" });
    expect(parts.clock.now()).toBeGreaterThanOrEqual(120_000);
  });

  test("asks, once, for a machine to be added to its cluster, and goes on when it was", async () => {
    const said: string[] = [];
    const parts = { ...bench(), report: (line: string) => said.push(line) };
    const { state } = parts.omni;
    parts.omni.state = undefined;
    parts.clock.after(600, () => (parts.omni.state = state));
    await waitForOmni(wanted(), parts);
    expect(parts.clock.now()).toBeGreaterThanOrEqual(600_000);
    expect(said.filter((line) => line.includes(`add the machine ${uuid} to the cluster frank in Omni`))).toHaveLength(
      1,
    );
  });

  describe("a boot that does not go on", () => {
    const looping = () => {
      const said: string[] = [];
      const parts = { ...bench(), report: (line: string) => said.push(line) };
      parts.machine.stageName = "booting";
      parts.machine.bootProblems = ["writeUserFiles failed, rebooting in 35 minutes … already exists"];
      return { parts, said, told: () => said.filter((line) => line.includes("its boot does not go on")) };
    };

    test("is told, and ends the wait when the next boot does not either", async () => {
      const { parts, told } = looping();
      parts.clock.after(300, () => parts.machine.boots++);
      const message = await failure(waitForOmni(wanted({ driverVersion: "570.211.01" }), parts));
      expect(message).toContain("machines.gpu-1: its boot does not go on: writeUserFiles failed");
      expect(message).toContain("again and again");
      expect(told()).toHaveLength(1);
      expect(parts.clock.now()).toBeLessThan(310_000);
    });

    test("does not end the wait when somebody corrects the patch in the pause", async () => {
      const { parts, told } = looping();
      const files = { "/proc/modules": "overlay 1 0 - Live 0x0\n" };
      parts.omni.state!.ready = false;
      parts.clock.after(300, () => {
        parts.machine.boots++;
        parts.machine.stageName = "running";
        parts.machine.bootProblems = [];
        parts.omni.state!.ready = true;
      });
      parts.machine.read = async () => (parts.machine.boots > 1 ? files["/proc/modules"] : undefined);
      await waitForOmni(wanted({ files }), parts);
      expect(told()).toHaveLength(1);
    });
  });

  test.each<[string, (omni: FakeOmni) => void, Partial<OmniWaitTask>, string]>([
    ["membership", (omni) => (omni.state = undefined), {}, "it is in no cluster: add the machine"],
    ["machine", (omni) => (omni.seen = undefined), {}, "Omni knows no machine"],
    ["release", (omni) => (omni.seen!.talosVersion = "v1.12.4"), {}, "it runs v1.12.4, not v1.12.6"],
    ["extensions", (omni) => (omni.seen!.extensions = []), {}, "its image has no siderolabs/x"],
    ["configuration", (omni) => (omni.state!.configUpToDate = false), {}, "Omni still has changes for it"],
    [
      "refusal",
      (omni) => (omni.state!.configError = "not allowed"),
      {},
      "could not apply its configuration: not allowed",
    ],
    ["driver", () => {}, { driverVersion: "570.211.01" }, "no NVIDIA driver is loaded"],
    ["file", () => {}, { files: { [customizationPath]: "x" } }, `${customizationPath} is not as configured`],
    ["readiness", (omni) => (omni.state!.ready = false), {}, "Omni does not call it ready"],
  ])("says what is missing at its limit: %s", async (_, spoil, more, part) => {
    const parts = bench();
    spoil(parts.omni);
    const message = await failure(waitForOmni(wanted(more), parts));
    expect(message).toContain(part);
    expect(message).toContain("25m");
  });
});
