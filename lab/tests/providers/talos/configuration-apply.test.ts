import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { parse } from "yaml";
import { limitOf } from "../../../providers/talos/machine";
import type { Properties } from "../../../providers/serve";
import { UNKNOWN } from "../../../providers/values";
import { Bench, client, open, TestClock, types } from "./fixture";

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

describe("ConfigurationApply", () => {
  const inputs = (more: Properties = {}): Properties => ({
    node: "10.0.0.1",
    clientConfiguration: client,
    machineConfigurationInput: "machine: {}\n",
    configPatches: ["machine: {sysctls: {a: '1'}}\n"],
    ...more,
  });

  test("sends the whole configuration once, by files that nobody else can read and that are gone afterwards", async () => {
    const { calls, ...tool } = bench.fake("plain", "");
    const it = bench.provider({ ...tool, machineApi: "127.0.0.1:4242" });
    const made = await it.create(types.apply, inputs({ applyMode: "no_reboot" }), false, "", 0, bench.context());
    const sent = calls().filter(({ args }) => args[0] === "apply-config");
    expect(sent).toHaveLength(1);
    const { args, modes, texts } = sent[0]!;
    expect(args.join(" ")).toMatch(
      /^apply-config --talosconfig \S+ --endpoints 127.0.0.1:4242 --nodes 10.0.0.1 --file \S+ --mode no-reboot$/,
    );
    expect(modes).toEqual([0o600, 0o600]);
    expect(parse(texts[0]!)).toEqual({
      context: "dynamic",
      contexts: { dynamic: { endpoints: [], ca: "Y2E=", crt: "Y3J0", key: "a2V5" } },
    });
    const { values, secrets: marks } = open(made.outputs);
    expect(made.id).toBe("machine_configuration_apply");
    expect(values).toMatchObject({ applyMode: "no_reboot", resolvedApplyMode: "no_reboot", endpoint: "10.0.0.1" });
    expect(values.machineConfiguration).toBe(texts[1]);
    expect(values.machineConfigurationHash).toBe(createHash("sha256").update(texts[1]!).digest("hex"));
    expect(marks.sort()).toEqual(["clientConfiguration.clientKey", "machineConfiguration"]);
    for (const call of calls()) expect(call.args.join(" ")).not.toContain("a2V5");
    expect(readdirSync(bench.dir).filter((name) => name.startsWith("talos-gpu-"))).toEqual([]);
  });

  test("tries again on every error, with longer pauses", async () => {
    const clock = new TestClock();
    const body = `if (count < 4) fail("error applying new configuration: rpc error: code = Unavailable desc = connection refused");`;
    const { calls, ...tool } = bench.fake("late", body);
    await bench.create(types.apply, inputs(), { ...tool, clock });
    expect(calls().filter(({ args }) => args[0] === "apply-config")).toHaveLength(4);
    expect(clock.pauses).toEqual([500, 1000, 2000]);
  });

  test("but not when the configuration is wrong", async () => {
    const body = `fail("rpc error: code = InvalidArgument desc = configuration is invalid");`;
    const { calls, ...tool } = bench.fake("wrong", body);
    const wrong = bench.create(types.apply, inputs(), tool);
    await expect(wrong).rejects.toThrow("configuration is invalid");
    expect(calls().filter(({ args }) => args[0] === "apply-config")).toHaveLength(1);
  });

  test.each([
    ["ten minutes", {}, 0, 1, 600],
    ["its own limit", { timeouts: { create: "90s" } }, 30, 1, 90],
    ["the engine's", {}, 30, 1, 30],
    ["the lab's time", {}, 0, 60, 10],
  ])("may take %s", (_why, more, engine, timeScale, seconds) => {
    expect(limitOf({ timeScale }, inputs(more), "create", engine)).toBe(seconds * 1000);
  });

  test("gives up then, and says what it waited for", async () => {
    const clock = new TestClock();
    const body = `fail("rpc error: code = Unimplemented desc = no such mode");`;
    const { calls: _calls, ...tool } = bench.fake("never", body);
    const never = bench.create(types.apply, inputs(), { ...tool, clock, timeScale: 60 });
    await expect(never).rejects.toThrow(
      "applying the configuration (machine 10.0.0.1): gave up after 10 s: talosctl apply-config: rpc error: code = Unimplemented",
    );
    expect(clock.pauses).toEqual([500, 1000, 2000, 4000]);
  });

  test("a preview merges, and contacts nobody", async () => {
    const { calls, ...tool } = bench.fake("preview", "");
    const { outputs } = await bench.create(types.apply, inputs(), tool, true);
    expect(calls().map(({ args }) => args[0])).toEqual(["machineconfig"]);
    expect(open(outputs).values.machineConfigurationHash).toMatch(/^[0-9a-f]{64}$/);
    const unknown = await bench.create(types.apply, inputs({ configPatches: [UNKNOWN] }), tool, true);
    expect(unknown.outputs).toMatchObject({ machineConfiguration: UNKNOWN, resolvedApplyMode: UNKNOWN });
  });

  test.each([
    ["Applied configuration with a reboot (skipped in dry-run)", "staged"],
    ["Applied configuration without a reboot (skipped in dry-run)", "auto"],
  ])("staged_if_needing_reboot: %s -> %s", async (answer, mode) => {
    const { calls, ...tool } = bench.fake(`dry-${mode}`, `console.error(${JSON.stringify(answer)});`);
    const wanted = inputs({ applyMode: "staged_if_needing_reboot" });
    const { outputs } = await bench.create(types.apply, wanted, tool);
    expect(outputs).toMatchObject({ applyMode: "staged_if_needing_reboot", resolvedApplyMode: mode });
    const [dry, real] = calls().filter(({ args }) => args[0] === "apply-config");
    expect(dry!.args).toContain("--dry-run");
    expect(real!.args.slice(-2)).toEqual(["--mode", mode]);
  });

  test("staged_if_needing_reboot falls back to auto when nobody answers, with a warning", async () => {
    const { calls: _calls, ...tool } = bench.fake("dry-dead", `fail("rpc error: code = Unavailable desc = dead");`);
    const wanted = inputs({ applyMode: "staged_if_needing_reboot" });
    const { outputs } = await bench.create(types.apply, wanted, tool, true);
    expect(outputs["resolvedApplyMode"]).toBe("auto");
    expect(bench.warnings.at(-1)).toContain("10.0.0.1 would reboot");
  });

  test.each([
    ["10.0.0.1", ["--insecure", "--nodes", "127.0.0.1:99"]],
    ["10.0.0.9", ["--nodes", "10.0.0.1"]],
  ])("maintenance mode is looked for at the endpoint alone: %s", async (endpoint, expected) => {
    const { calls, ...tool } = bench.fake("maintenance", "");
    const it = bench.provider({ ...tool, maintenance: { "10.0.0.1": "127.0.0.1:99" } });
    await it.create(types.apply, inputs({ endpoint }), false, "", 0, bench.context());
    const sent = calls().findLast(({ args }) => args[0] === "apply-config")!;
    expect(sent.args).toEqual(expect.arrayContaining(expected));
    expect(sent.args.includes("--insecure")).toBe(expected.includes("--insecure"));
  });

  // talos v1.12.6, internal/app/maintenance/server.go, and v1.13.0, v1alpha1_server.go: ApplyConfiguration.
  test.each([
    ["1.12", "Node is running in maintenance mode and does not have a config yet.", "staged"],
    ["1.13", "Applied configuration without a reboot (skipped in dry-run).", "auto"],
  ])("what the maintenance mode of Talos %s says of a dry run decides how it is applied", async (minor, says, mode) => {
    const { calls, ...tool } = bench.fake(`dry-${minor}`, `if (args.includes("--dry-run")) console.log("${says}");`);
    const it = bench.provider({ ...tool, maintenance: { "10.0.0.1": "127.0.0.1:99" } });
    const asked = inputs({ endpoint: "10.0.0.1", applyMode: "staged_if_needing_reboot" });
    const { outputs } = await it.create(types.apply, asked, false, "", 0, bench.context());
    const sent = calls().filter(({ args }) => args[0] === "apply-config");
    expect(sent.map(({ args }) => args.includes("--insecure"))).toEqual([true, true]);
    expect(sent.at(-1)!.args).toEqual(expect.arrayContaining(["--mode", mode]));
    expect(outputs["resolvedApplyMode"]).toBe(mode);
  });

  test("checks its arguments, those of a value all at once", async () => {
    const check = (more: Properties) => bench.provider().check(types.apply, {}, inputs(more), bench.context());
    const { failures } = await check({ node: undefined, applyMode: "now", timeouts: { create: "soon" } });
    expect(failures.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("'node'"),
      expect.stringContaining("it.timeouts.create"),
      expect.stringContaining("it.applyMode"),
    ]);
    expect((await check({ applyMode: UNKNOWN })).failures).toEqual([]);
  });

  test("never asks the machine for differences", async () => {
    const { calls, ...tool } = bench.fake("quiet", "");
    const context = bench.context({ oldOutputs: inputs() });
    const diff = await bench.provider(tool).diff(types.apply, "id", inputs(), inputs(), context);
    expect(diff).toEqual({ changes: false, replaces: [] });
    expect(() => calls()).toThrow("ENOENT");
  });
});
