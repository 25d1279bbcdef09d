import { parse, stringify } from "yaml";
import { adopt, release, type AdoptContext } from "../../components/program/adopt";
import { CallError } from "../../components/clients/failure";
import type { AdoptResult } from "../../components/program/task";
import { mergeConfiguration } from "../../components/recipe/merge";
import { FakeClock, FakeMachine, schematics } from "./fakes";
import { errorMessageOf } from "./setup";

const machineSection = (text: string): unknown => (parse(text) as { machine: unknown }).machine;
const kernel = { modules: [{ name: "nvidia" }] };
const sysctls = { one: "1" };
const configurationText = (machine: object): string => stringify({ version: "v1alpha1", machine });

const task = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: [configurationText({ kernel }), configurationText({ sysctls })],
};

/** The patches' settings that a machine with the sysctl lacks. */
const { added } = mergeConfiguration(configurationText({ type: "worker", sysctls }), task.patches);

function setupAdopt(configuration = configurationText({ type: "worker", sysctls })) {
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  machine.active = machine.persistent = configuration;
  const logLines: string[] = [];
  const report = (line: string): void => void logLines.push(line);
  const context: AdoptContext = { machine, clock, report, isAwaited: () => true };
  return { clock, machine, logLines, context };
}

describe("adopt", () => {
  test("stages the missing settings, and its answer records only these", async () => {
    const { machine, context } = setupAdopt();
    const result = await adopt(task, undefined, context);
    expect(machineSection(machine.persistent)).toEqual({ type: "worker", sysctls, kernel });
    expect(machineSection(machine.active)).toEqual({ type: "worker", sysctls });
    expect(result).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      added,
      changed: true,
    });
  });

  test("stages nothing at the next run, and its answer records the same settings", async () => {
    const { machine, context } = setupAdopt();
    const firstResult = await adopt(task, undefined, context);
    const secondResult = await adopt(task, firstResult, context);
    expect(secondResult).toEqual({ ...firstResult, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("after a kill, the next run still knows which settings the stack added", async () => {
    const { machine, context } = setupAdopt();
    machine.afterCall = () => {
      throw new Error("killed");
    };
    await expect(adopt(task, undefined, context)).rejects.toThrow("killed");
    const result = await adopt(task, undefined, context);
    expect(result).toMatchObject({ added, changed: false });
    expect(machine.calls).toEqual(["stage"]);
  });

  test("after an edit whose answer was lost, another edit is no conflict", async () => {
    const { machine, context } = setupAdopt(configurationText({ type: "worker" }));
    const customizationFile = (content: string): string =>
      `machine:\n  files:\n    - path: /etc/cri/conf.d/20-customization.part\n      op: create\n      permissions: 0o644\n      content: "${content}"\n`;
    const adoptPart = (content: string, previous: AdoptResult | undefined): Promise<AdoptResult> =>
      adopt({ ...task, patches: [customizationFile(content)] }, previous, context);
    const firstResult = await adoptPart("a", undefined);
    machine.active = machine.persistent; // it boots
    await adoptPart("b", firstResult); // the configuration is staged, and the answer is lost
    const secondResult = await adoptPart("b", firstResult);
    const thirdResult = await adoptPart("c", secondResult);
    expect(machine.persistent).toContain("content: c");
    await release(task, thirdResult, context);
    expect(machine.persistent).not.toContain("conf.d");
  });

  test("restores the previous configuration if Pulumi has ended and cannot get the answer", async () => {
    const { machine, context } = setupAdopt();
    // Released without a reboot: the stack's settings are still active, but no longer staged.
    machine.active = configurationText({ type: "worker", kernel });
    machine.persistent = configurationText({ type: "worker" });
    await expect(adopt(task, undefined, { ...context, isAwaited: () => false })).rejects.toThrow(
      "Pulumi no longer runs",
    );
    expect(machineSection(machine.persistent)).toEqual({ type: "worker" });
    const result = await adopt(task, undefined, context);
    expect(result.added).toEqual(
      mergeConfiguration(configurationText({ type: "worker" }), task.patches).added,
    );
  });

  test("removes settings that the stack no longer lists", async () => {
    const { machine, context } = setupAdopt();
    const firstResult = await adopt(task, undefined, context);
    await adopt({ ...task, patches: [configurationText({ sysctls })] }, firstResult, context);
    expect(machineSection(machine.persistent)).toEqual({ type: "worker", sysctls });
  });

  test("reports all conflicts in one error and stages nothing", async () => {
    const { machine, context } = setupAdopt(
      configurationText({ type: "worker", kernel: "theirs", sysctls: "theirs" }),
    );
    await expect(adopt(task, undefined, context)).rejects.toThrow(
      /^machine\.kernel: .* has a value here, .*\nmachine\.sysctls: .* has a value here, /,
    );
    expect(machine.calls).toEqual([]);
  });

  test.each(["adopt", "release"])(
    "%s keeps a change that another tool applies between reading and staging",
    async (verb) => {
      const { machine, context, logLines } = setupAdopt();
      const firstResult = verb === "release" ? await adopt(task, undefined, context) : undefined;
      const { configurations } = machine;
      let requestCount = 0;
      machine.configurations = async () => {
        if (++requestCount === 2) machine.persistent += "  theirs: yes\n";
        return configurations.call(machine);
      };
      await (verb === "adopt"
        ? adopt(task, undefined, context)
        : release(task, firstResult, context));
      expect(machineSection(machine.persistent)).toMatchObject({ theirs: "yes" });
      expect(machine.persistent.includes("nvidia")).toBe(verb === "adopt");
      expect(logLines).toContainEqual(
        expect.stringContaining("another tool changed the configuration of gpu-1"),
      );
    },
  );

  test("fails and stages nothing if the configuration keeps changing", async () => {
    const { machine, context } = setupAdopt();
    const { configurations } = machine;
    machine.configurations = async () => {
      machine.persistent += `  theirs${machine.persistent.length}: ${machine.persistent.length}\n`;
      return configurations.call(machine);
    };
    expect(await errorMessageOf(adopt(task, undefined, context))).toContain(
      "machines.gpu-1: another tool changed the machine's configuration 3 times",
    );
    expect(machine.calls).toEqual([]);
  });

  test("keeps what another tool has staged", async () => {
    const { machine, context } = setupAdopt();
    machine.persistent += "  theirs: yes\n";
    await adopt(task, undefined, context);
    expect(machineSection(machine.persistent)).toMatchObject({ theirs: "yes", kernel });
  });

  test("refuses a machine that has no configuration", async () => {
    const { machine, context } = setupAdopt();
    jest.spyOn(machine, "configurations").mockResolvedValue({});
    await expect(adopt(task, undefined, context)).rejects.toThrow("machines.gpu-1.configuration");
  });
});

describe("release", () => {
  test("removes only the settings that the stack added, without a reboot", async () => {
    const { machine, logLines, context } = setupAdopt();
    const adoptResult = await adopt(task, undefined, context);
    machine.persistent += "  theirs: later\n";
    expect(await release(task, adoptResult, context)).toEqual({ changed: true });
    expect(logLines.filter((line) => line.includes("stay"))).toEqual([]);
    expect(machineSection(machine.persistent)).toEqual({
      type: "worker",
      sysctls,
      theirs: "later",
    });
    expect(machine.calls).toEqual(["stage", "stage"]);
    expect(machine.bootCount).toBe(1);
  });

  test("keeps the kernel modules if services of the image wait for the driver, and reports that", async () => {
    const { machine, logLines, context } = setupAdopt(configurationText({ type: "worker" }));
    const adoptResult = await adopt(task, undefined, context);
    machine.schematicId = schematics.gpu;
    expect(await release(task, adoptResult, context)).toEqual({ changed: true });
    expect(machineSection(machine.persistent)).toEqual({ type: "worker", kernel });
    expect(logLines).toContainEqual(
      expect.stringMatching(/^release: the kernel modules stay in the configuration/),
    );
  });

  test("does nothing without a record of added settings", async () => {
    const { machine, context } = setupAdopt();
    expect(await release(task, undefined, context)).toEqual({ changed: false });
    expect(machine.calls).toEqual([]);
  });

  describe("of a machine that leaves the stack", () => {
    const adoptResult: AdoptResult = { hash: "", added, changed: true };

    test("waits for a machine that does not answer for a while", async () => {
      const { clock, machine, context } = setupAdopt(configurationText({ type: "worker", kernel }));
      machine.isDown = true;
      clock.after(60, () => (machine.isDown = false));
      expect(await release(task, adoptResult, context)).toEqual({ changed: true });
      expect(machineSection(machine.persistent)).toEqual({ type: "worker" });
    });

    test.each<[string, (machine: FakeMachine) => void, string, number]>([
      [
        "is broken",
        (machine) => (machine.isDown = true),
        "the machine at 10.0.0.1 did not answer within 4m (last: connection refused)",
        4 * 60_000,
      ],
      [
        "was wiped, or is in another cluster",
        (machine) => {
          const certificateError = new CallError(
            "refused",
            "talosctl get failed: x509: certificate signed by unknown authority",
          );
          jest.spyOn(machine, "configurations").mockRejectedValue(certificateError);
        },
        "the request to the machine at 10.0.0.1 failed: talosctl get failed: x509: certificate signed by unknown authority",
        0,
      ],
    ])(
      "if the machine %s, the message explains how the stack forgets it",
      async (_, breakMachine, problem, milliseconds) => {
        const { clock, machine, context } = setupAdopt();
        breakMachine(machine);
        const message = await errorMessageOf(release(task, adoptResult, context));
        const remedies = [
          "make sure that it answers",
          "`pulumi stack --show-urns`",
          "`pulumi state delete 'URN'`",
        ];
        for (const part of [`machines.gpu-1: ${problem}; `, ...remedies])
          expect(message).toContain(part);
        expect(clock.now()).toBe(milliseconds);
      },
    );

    test("changes nothing on a machine without a configuration", async () => {
      const { machine, context } = setupAdopt();
      jest.spyOn(machine, "configurations").mockResolvedValue({});
      expect(await release(task, adoptResult, context)).toEqual({ changed: false });
      expect(machine.calls).toEqual([]);
    });
  });
});
