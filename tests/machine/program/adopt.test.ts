import { adopt, release, type AdoptBench, type Merger } from "../../../components/machine/program/adopt";
import { CallError } from "../../../components/clients/failure";
import type { AdoptResult } from "../../../components/machine/program/task";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe/merge";
import { FakeClock, FakeMachine, schematics } from "./fakes";
import { failure } from "./setup";

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

function setup(live = "type: worker\nsysctl: one\n") {
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  machine.active = machine.persistent = live;
  const lines: string[] = [];
  const report = (line: string): void => void lines.push(line);
  const bench: AdoptBench = { machine, merger: toy, clock, report, isAwaited: () => true };
  return { clock, machine, lines, bench };
}

describe("adopt", () => {
  test("stages what is missing, and remembers only that", async () => {
    const { machine, bench } = setup();
    const result = await adopt(task, undefined, bench);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one", modules: "nvidia" });
    expect(machine.active).toBe("type: worker\nsysctl: one\n");
    expect(result).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      added: { modules: "nvidia" },
      changed: true,
    });
  });

  test("run again it stages nothing and remembers the same", async () => {
    const { machine, bench } = setup();
    const first = await adopt(task, undefined, bench);
    const second = await adopt(task, first, bench);
    expect(second).toEqual({ ...first, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("killed after staging, the next run knows what was ours", async () => {
    const { machine, bench } = setup();
    machine.afterCall = () => {
      throw new Error("killed");
    };
    await expect(adopt(task, undefined, bench)).rejects.toThrow("killed");
    const result = await adopt(task, undefined, bench);
    expect(result).toMatchObject({ added: { modules: "nvidia" }, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("an edit whose answer was lost is told by the next run, and another edit is no conflict", async () => {
    const { machine, bench } = setup("version: v1alpha1\nmachine:\n  type: worker\n");
    const real = { ...bench, merger: { merge: mergeConfiguration, unmerge: unmergeConfiguration } };
    const part = (content: string): string =>
      `machine:\n  files:\n    - path: /etc/cri/conf.d/20-customization.part\n      op: create\n      permissions: 0o644\n      content: "${content}"\n`;
    const edit = (content: string, previous: AdoptResult | undefined): Promise<AdoptResult> =>
      adopt({ ...task, patches: [part(content)] }, previous, real);
    const first = await edit("a", undefined);
    machine.active = machine.persistent; // it boots
    await edit("b", first); // staged, and nobody has the answer
    const second = await edit("b", first);
    const third = await edit("c", second);
    expect(machine.persistent).toContain("content: c");
    await release(task, third, real);
    expect(machine.persistent).not.toContain("conf.d");
  });

  test("with nobody left to take the answer, it stages the configuration of before, and the next run begins again", async () => {
    const { machine, bench } = setup();
    // Released without a reboot: ours is active still, and no longer in what is staged.
    machine.active = "type: worker\nmodules: nvidia\n";
    machine.persistent = "type: worker\n";
    await expect(adopt(task, undefined, { ...bench, isAwaited: () => false })).rejects.toThrow("Pulumi no longer runs");
    expect(read(machine.persistent)).toEqual({ type: "worker" });
    const result = await adopt(task, undefined, bench);
    expect(result).toMatchObject({ added: { modules: "nvidia", sysctl: "one" }, changed: true });
  });

  test("takes out what an earlier stack wanted and this one does not", async () => {
    const { machine, bench } = setup();
    const first = await adopt(task, undefined, bench);
    await adopt({ ...task, patches: ["sysctl: one"] }, first, bench);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one" });
  });

  test("refuses every conflict at once and leaves the machine as it was", async () => {
    const { machine, bench } = setup("modules: other\nsysctl: two\n");
    const run = adopt(task, undefined, bench);
    await expect(run).rejects.toThrow(
      "modules: has another value; it is not ours; take it out\nsysctl: has another value",
    );
    expect(machine.calls).toEqual([]);
  });

  test.each(["adopt", "release"])(
    "%s keeps what somebody applies between its reading and its staging",
    async (verb) => {
      const { machine, bench, lines } = setup();
      const first = verb === "release" ? await adopt(task, undefined, bench) : undefined;
      const { configurations } = machine;
      let asked = 0;
      machine.configurations = async () => {
        if (++asked === 2) machine.persistent += "theirs: yes\n";
        return configurations.call(machine);
      };
      await (verb === "adopt" ? adopt(task, undefined, bench) : release(task, first, bench));
      expect(read(machine.persistent)).toMatchObject({ theirs: "yes" });
      expect("modules" in read(machine.persistent)).toBe(verb === "adopt");
      expect(lines).toContainEqual(expect.stringContaining("somebody changed the configuration of gpu-1 meanwhile"));
    },
  );

  test("gives up where somebody changes it again and again, and stages nothing", async () => {
    const { machine, bench } = setup();
    const { configurations } = machine;
    machine.configurations = async () => {
      machine.persistent += `theirs: ${machine.persistent.length}\n`;
      return configurations.call(machine);
    };
    expect(await failure(adopt(task, undefined, bench))).toContain(
      "machines.gpu-1: somebody changed its configuration 3 times",
    );
    expect(machine.calls).toEqual([]);
  });

  test("keeps what somebody else has staged", async () => {
    const { machine, bench } = setup();
    machine.persistent += "theirs: yes\n";
    await adopt(task, undefined, bench);
    expect(read(machine.persistent)).toMatchObject({ theirs: "yes", modules: "nvidia" });
  });

  test("says so when there is nothing to adopt", async () => {
    const { machine, bench } = setup();
    jest.spyOn(machine, "configurations").mockResolvedValue({});
    await expect(adopt(task, undefined, bench)).rejects.toThrow("machines.gpu-1.configuration");
  });
});

describe("release", () => {
  test("takes away what was added, nothing else, and does not reboot", async () => {
    const { machine, lines, bench } = setup();
    const added = await adopt(task, undefined, bench);
    machine.persistent += "theirs: later\n";
    expect(await release(task, added, bench)).toEqual({ changed: true });
    expect(lines.filter((line) => line.includes("stay"))).toEqual([]);
    expect(read(machine.persistent)).toEqual({ type: "worker", sysctl: "one", theirs: "later" });
    expect(machine.calls).toEqual(["stage", "stage"]);
    expect(machine.boots).toBe(1);
  });

  test("leaves the kernel modules where the image has services that wait for the driver at every boot, and says so", async () => {
    const { machine, lines, bench } = setup("type: worker\n");
    const added = await adopt(task, undefined, bench);
    machine.schematicId = schematics.gpu;
    expect(await release(task, added, bench)).toEqual({ changed: true });
    expect(read(machine.persistent)).toEqual({ type: "worker", modules: "nvidia" });
    expect(lines).toContainEqual(expect.stringMatching(/^release: the kernel modules stay in the configuration/));
  });

  test("does nothing when nothing is known", async () => {
    const { machine, bench } = setup();
    expect(await release(task, undefined, bench)).toEqual({ changed: false });
    expect(machine.calls).toEqual([]);
  });

  describe("of a machine that leaves the stack", () => {
    const added: AdoptResult = { hash: "", added: { modules: "nvidia" }, changed: true };

    test("waits for one that does not answer for a while", async () => {
      const { clock, machine, bench } = setup("type: worker\nmodules: nvidia\n");
      machine.down = true;
      clock.after(60, () => (machine.down = false));
      expect(await release(task, added, bench)).toEqual({ changed: true });
      expect(read(machine.persistent)).toEqual({ type: "worker" });
    });

    test.each<[string, (machine: FakeMachine) => void, string, number]>([
      [
        "that is broken",
        (machine) => (machine.down = true),
        "the machine at 10.0.0.1 did not answer within 4m (last: connection refused)",
        4 * 60_000,
      ],
      [
        "that was wiped, or is in another cluster",
        (machine) => {
          const stranger = new CallError(
            "refused",
            "talosctl get failed: x509: certificate signed by unknown authority",
          );
          jest.spyOn(machine, "configurations").mockRejectedValue(stranger);
        },
        "the machine at 10.0.0.1 cannot be asked: talosctl get failed: x509: certificate signed by unknown authority",
        0,
      ],
    ])("says of one %s how the stack forgets it", async (_, spoil, problem, milliseconds) => {
      const { clock, machine, bench } = setup();
      spoil(machine);
      const message = await failure(release(task, added, bench));
      const ways = ["make sure that it is on", "`pulumi stack --show-urns`", "`pulumi state delete 'URN'`"];
      for (const part of [`machines.gpu-1: ${problem}; `, ...ways]) expect(message).toContain(part);
      expect(clock.now()).toBe(milliseconds);
    });

    test("has nothing to take out of one without a configuration", async () => {
      const { machine, bench } = setup();
      jest.spyOn(machine, "configurations").mockResolvedValue({});
      expect(await release(task, added, bench)).toEqual({ changed: false });
      expect(machine.calls).toEqual([]);
    });
  });
});
