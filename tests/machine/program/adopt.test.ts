import { adopt, release, type Merger } from "../../../components/machine/program/adopt";
import type { AdoptResult } from "../../../components/machine/program/task";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe/merge";
import { FakeClock, FakeMachine, schematics } from "./fakes";

/** A merge by key that is small enough to see through: a patch is one `key: value`; a key with another value is a conflict. */
const toy: Merger<Record<string, string>> = {
  merge: (live, patches, previous = {}) => {
    const config = read(live);
    const wanted = Object.assign({}, ...patches.map(read)) as Record<string, string>;
    const rest = Object.fromEntries(Object.entries(config).filter(([key]) => !(key in previous)));
    const conflicts = Object.keys(wanted)
      .filter((key) => key in rest && rest[key] !== wanted[key])
      .map((key) => ({
        check: "toy",
        field: key,
        problem: "has another value",
        why: "it is not ours",
        remedy: "take it out",
      }));
    const added = Object.fromEntries(Object.entries(wanted).filter(([key]) => !(key in rest)));
    return { configuration: write({ ...rest, ...wanted }), added, changed: true, conflicts };
  },
  unmerge: (live, added, modules) =>
    write(
      Object.fromEntries(
        Object.entries(read(live)).filter(([key]) => !(key in added) || (key === "modules" && !modules)),
      ),
    ),
};
const read = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .trim()
      .split("\n")
      .map((line) => line.split(": ") as [string, string]),
  );
const write = (config: Record<string, string>): string =>
  Object.entries(config)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join("");

const task = { machine: "gpu-1", address: "10.0.0.1", patches: ["modules: nvidia", "sysctl: one"] };

const awaited = (): boolean => true;

function setup(live = "type: worker\nsysctl: one\n") {
  const machine = new FakeMachine(new FakeClock());
  machine.active = machine.persistent = live;
  const lines: string[] = [];
  return { machine, lines, report: (line: string) => void lines.push(line) };
}

describe("adopt", () => {
  test("stages what is missing, and remembers only that", async () => {
    const { machine, report } = setup();
    const result = await adopt(task, undefined, machine, toy, report, awaited);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one", modules: "nvidia" });
    expect(machine.active).toBe("type: worker\nsysctl: one\n");
    expect(result).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      added: { modules: "nvidia" },
      changed: true,
    });
  });

  test("run again it stages nothing and remembers the same", async () => {
    const { machine, report } = setup();
    const first = await adopt(task, undefined, machine, toy, report, awaited);
    const second = await adopt(task, first, machine, toy, report, awaited);
    expect(second).toEqual({ ...first, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("killed after staging, the next run knows what was ours", async () => {
    const { machine, report } = setup();
    machine.afterCall = () => {
      throw new Error("killed");
    };
    await expect(adopt(task, undefined, machine, toy, report, awaited)).rejects.toThrow("killed");
    const result = await adopt(task, undefined, machine, toy, report, awaited);
    expect(result).toMatchObject({ added: { modules: "nvidia" }, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("an edit whose answer was lost is told by the next run, and another edit is no conflict", async () => {
    const { machine, report } = setup("version: v1alpha1\nmachine:\n  type: worker\n");
    const merger = { merge: mergeConfiguration, unmerge: unmergeConfiguration };
    const part = (content: string): string =>
      `machine:\n  files:\n    - path: /etc/cri/conf.d/20-customization.part\n      op: create\n      permissions: 0o644\n      content: "${content}"\n`;
    const edit = (content: string, previous: AdoptResult | undefined): Promise<AdoptResult> =>
      adopt({ ...task, patches: [part(content)] }, previous, machine, merger, report, awaited);
    const first = await edit("a", undefined);
    machine.active = machine.persistent; // it boots
    await edit("b", first); // staged, and nobody has the answer
    const second = await edit("b", first);
    const third = await edit("c", second);
    expect(machine.persistent).toContain("content: c");
    await release(task, third, machine, merger, report);
    expect(machine.persistent).not.toContain("conf.d");
  });

  test("with nobody left to take the answer, it stages the configuration of before, and the next run begins anew", async () => {
    const { machine, report } = setup();
    // Released without a reboot: ours is active still, and no longer in what is staged.
    machine.active = "type: worker\nmodules: nvidia\n";
    machine.persistent = "type: worker\n";
    await expect(adopt(task, undefined, machine, toy, report, () => false)).rejects.toThrow("Pulumi is gone");
    expect(read(machine.persistent)).toEqual({ type: "worker" });
    const result = await adopt(task, undefined, machine, toy, report, awaited);
    expect(result).toMatchObject({ added: { modules: "nvidia", sysctl: "one" }, changed: true });
  });

  test("takes out what an earlier stack wanted and this one does not", async () => {
    const { machine, report } = setup();
    const first = await adopt(task, undefined, machine, toy, report, awaited);
    await adopt({ ...task, patches: ["sysctl: one"] }, first, machine, toy, report, awaited);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one" });
  });

  test("refuses every conflict at once and leaves the machine as it was", async () => {
    const { machine, report } = setup("modules: other\nsysctl: two\n");
    const run = adopt(task, undefined, machine, toy, report, awaited);
    await expect(run).rejects.toThrow(
      "modules: has another value; it is not ours; take it out\nsysctl: has another value",
    );
    expect(machine.calls).toEqual([]);
  });

  test("keeps what somebody else has staged", async () => {
    const { machine, report } = setup();
    machine.persistent += "theirs: yes\n";
    await adopt(task, undefined, machine, toy, report, awaited);
    expect(read(machine.persistent)).toMatchObject({ theirs: "yes", modules: "nvidia" });
  });

  test("says so when there is nothing to adopt", async () => {
    const { machine, report } = setup();
    jest.spyOn(machine, "configurations").mockResolvedValue({});
    await expect(adopt(task, undefined, machine, toy, report, awaited)).rejects.toThrow("machines.gpu-1.configuration");
  });
});

describe("release", () => {
  test("takes away what was added, nothing else, and does not reboot", async () => {
    const { machine, lines, report } = setup();
    const added = await adopt(task, undefined, machine, toy, report, awaited);
    machine.persistent += "theirs: later\n";
    expect(await release(task, added, machine, toy, report)).toEqual({ changed: true });
    expect(lines.filter((line) => line.includes("stay"))).toEqual([]);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one", theirs: "later" });
    expect(machine.calls).toEqual(["stage", "stage"]);
    expect(machine.boots).toBe(1);
  });

  test("leaves the kernel modules where the image has services that wait for the driver at every boot, and says so", async () => {
    const { machine, lines, report } = setup("type: worker\n");
    const added = await adopt(task, undefined, machine, toy, report, awaited);
    machine.schematicId = schematics.gpu;
    expect(await release(task, added, machine, toy, report)).toEqual({ changed: true });
    expect(read(machine.persistent)).toEqual({ type: "worker", modules: "nvidia" });
    expect(lines).toContainEqual(expect.stringMatching(/^release: the kernel modules stay in the configuration/));
  });

  test("does nothing when nothing is known", async () => {
    const { machine, report } = setup();
    expect(await release(task, undefined, machine, toy, report)).toEqual({ changed: false });
    expect(machine.calls).toEqual([]);
  });
});
