import { stripVTControlCharacters } from "node:util";
import type { Terminal } from "../../cli/terminal/terminal";
import { widthOf } from "../../cli/terminal/wrap";
import { runPhases, type Phase } from "../phases";
import { emptyReport, type LabReport, renderReport, totalOf } from "../run/report";
import { narrate } from "../run/updates";
import { frames, showOn, type Weight } from "../show";

const terminal: Terminal = { columns: 60, colour: true, moves: true };

/** Output of a step that prints lines of every weight. */
async function outputOfStep(options: {
  terminal: Terminal | undefined;
  verbose?: boolean;
}): Promise<string> {
  let text = "";
  const write = (chunk: string): void => void (text += chunk);
  const phase: Phase<object> = {
    title: "update 1 of 1",
    run: async (_, say) => {
      say("create pod …", "beginning");
      say("create pod (1 done)", "event");
      say("warning: something to keep");
      return "succeeded";
    },
  };
  await runPhases([phase], { show: showOn({ verbose: false, ...options, write }) });
  return text;
}

/** Lines that stay in a terminal: of each line the part that was written last. */
const visibleLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => stripVTControlCharacters(line.split("\r\u001b[2K").at(-1)!))
    .filter((line) => line !== "");

/** Lines without the duration of the step, which differs in each run. */
const withoutDurations = (lines: string[]): string[] =>
  lines.map((line) => line.replace(/\[\d+\.\d s\]/, "[T s]"));

test("in a terminal one line is redrawn, and only warnings and the step's result stay", async () => {
  const text = await outputOfStep({ terminal });
  expect(withoutDurations(visibleLines(text))).toEqual([
    "    warning: something to keep",
    "✔ update 1 of 1: succeeded [T s]",
  ]);
  expect(text).toContain("update 1 of 1 [0 s] create pod (1 done)");
  expect(text).toContain("\u001b[32m✔\u001b[39m");
});

test("the redrawn line fits the terminal, with each frame of its mark", () => {
  const drawn: string[] = [];
  const narrow = showOn({
    terminal: { ...terminal, columns: 20 },
    verbose: false,
    write: (text) => void drawn.push(stripVTControlCharacters(text.replace("\r\u001b[2K", ""))),
  });
  narrow.begin("update 1 of 1");
  for (const _ of frames.slice(1)) narrow.say("create pod …", "event");
  expect(drawn.map((line) => line.charAt(0))).toEqual(frames);
  expect(drawn.map(widthOf)).toEqual(frames.map(() => 19));
  narrow.end({ title: "update 1 of 1", ok: true, detail: "", seconds: 1 });
});

test("with --verbose each event is printed once", async () => {
  expect(withoutDurations(visibleLines(await outputOfStep({ terminal, verbose: true })))).toEqual([
    "    create pod …",
    "    create pod (1 done)",
    "    warning: something to keep",
    "✔ update 1 of 1: succeeded [T s]",
  ]);
});

test.each<[string, Terminal | undefined]>([
  ["in a pipe", undefined],
  ["in a terminal without control codes", { columns: 80, colour: false, moves: false }],
])("%s lines are plain, and each resource is printed once", async (_, outputTerminal) => {
  const text = await outputOfStep({ terminal: outputTerminal });
  expect(stripVTControlCharacters(text)).toBe(text);
  expect(withoutDurations(text.trimEnd().split("\n"))).toEqual([
    "· update 1 of 1",
    "    create pod (1 done)",
    "    warning: something to keep",
    "✔ update 1 of 1: succeeded [T s]",
  ]);
});

test("a failed step leaves no redrawn line", async () => {
  let text = "";
  const show = showOn({ write: (chunk) => void (text += chunk), terminal, verbose: false });
  const failing: Phase<object> = { title: "machines", run: () => Promise.reject(new Error("no")) };
  await expect(runPhases([failing], { show })).rejects.toThrow("no");
  expect(withoutDurations(visibleLines(text))).toEqual(["✖ machines [T s]"]);
});

test('provider resources are hidden, time limits get the words "of lab time", and a warning is kept', () => {
  const lines: [string, Weight | undefined][] = [];
  const printEvent = narrate((line, weight) => void lines.push([line, weight]));
  const createdResource = (type: string, name: string) =>
    ({ kind: "resource", state: "done", op: "create", urn: "", type, name }) as const;
  printEvent(createdResource("pulumi:providers:kubernetes", "default_4_34_2"));
  printEvent(createdResource("kubernetes:core/v1:Namespace", "nvidia"));
  const message = { kind: "message", ephemeral: false } as const;
  printEvent({ ...message, severity: "info", message: "it is then drained for at most 29s" });
  printEvent({ ...message, severity: "warning", message: "takes no pods for at most 2m5s" });
  expect(lines).toEqual([
    ["create nvidia (1 done)", "event"],
    ["it is then drained for at most 29s of lab time", "event"],
    ["takes no pods for at most 2m5s of lab time", "kept"],
  ]);
});

describe("the report", () => {
  const report: LabReport = {
    ...emptyReport("rtx5070ti", true),
    updates: [
      {
        result: "succeeded",
        changes: { create: 28, update: 0, replace: 0, delete: 0, same: 0 },
        seconds: 20.7,
        machineRequests: 86,
        reboots: { "k8s-worker4": 1 },
      },
    ],
    machines: {
      "k8s-worker4": {
        talosVersion: "v1.12.6",
        schematicId: "6698d6f136c5",
        driverVersion: "570.211.01",
        reboots: 1,
        allocatable: { "nvidia.com/gpu": "1" },
        taints: [],
      },
    },
    workloads: [{ namespace: "ollama", name: "ollama", kind: "Deployment", ready: true }],
  };

  test.each([120, 80, 60, 40])("fits %i columns", (columns) => {
    const lines = renderReport(report, { ...terminal, columns }).split("\n");
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines)
      expect(widthOf(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns);
  });

  test("has tables in 80 columns", () => {
    const text = renderReport(report, { ...terminal, columns: 80 });
    expect(text.match(/^\S*┌/gm)).toHaveLength(3);
    expect(stripVTControlCharacters(text)).toContain(
      "│ 1      │ succeeded │ 28 created │ 86            │ 20.7    │",
    );
  });

  test("has no colour codes if a program reads it", () => {
    const text = renderReport(report);
    expect(stripVTControlCharacters(text)).toBe(text);
    expect(text).toContain("│ k8s-worker4 │ v1.12.6 │ 6698d6f136c5 │ 570.211.01 │");
  });

  test("has a total of updates, created resources and reboots", () => {
    expect(totalOf(report)).toBe("1 update, 28 created, 1 reboot");
  });
});
