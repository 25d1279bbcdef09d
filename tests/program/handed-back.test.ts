import { execFileSync } from "node:child_process";
import { stringify, parse } from "yaml";
import { adopt, release, type AdoptBench } from "../../components/program/adopt";
import { BoundedProgress } from "../../components/program/progress";
import type { AdoptResult } from "../../components/program/task";
import { FakeClock, FakeMachine } from "./fakes";
import { errorMessageOf } from "./setup";

/** Starts a program with the previous run's output in its environment, as Pulumi's command provider does. */
function startWith(stdout: string, stderr: string): void {
  const before = { PULUMI_COMMAND_STDOUT: stdout, PULUMI_COMMAND_STDERR: stderr };
  execFileSync("/bin/sh", ["-c", "true"], { env: { ...process.env, ...before } });
}

const text = (machine: object): string => stringify({ version: "v1alpha1", machine });

/** Long files and a list of long texts, as large as Talos accepts in a patch. */
const files = Array.from({ length: 40 }, (_, number) => ({
  path: `/etc/cri/conf.d/${number}.part`,
  op: "create",
  permissions: 0o644,
  content: `${number} ${"x".repeat(4_000)}`,
}));
const certSANs = [`${"long.".repeat(40)}example`];
const task = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: [text({ files, certSANs, sysctls: { one: "1" } })],
};

function setup() {
  const machine = new FakeMachine(new FakeClock());
  const live = text({ type: "worker" });
  machine.active = machine.persistent = live;
  const bench: AdoptBench = {
    machine,
    clock: machine.clock,
    report: () => {},
    isAwaited: () => true,
  };
  return { machine, bench, live };
}

/** The answer in the form in which the next run gets it. */
const handed = (answer: AdoptResult): AdoptResult =>
  JSON.parse(JSON.stringify(answer)) as AdoptResult;

test("the answer to patches of 160 KB fits into the next run's environment", async () => {
  const { machine, bench } = setup();
  expect(task.patches[0]!.length).toBeGreaterThan(160_000);
  const first = await adopt(task, undefined, bench);
  startWith(JSON.stringify(first), "");
  const second = await adopt(task, handed(first), bench);
  expect(second).toEqual({ ...first, changed: false });
  expect(machine.calls).toEqual(["stage"]);
});

test("settings from patches of 160 KB are changed by the next patches, and removed by the release", async () => {
  const { machine, bench, live } = setup();
  const first = await adopt(task, undefined, bench);
  const [changed, ...others] = files;
  const next = {
    ...task,
    patches: [text({ files: [{ ...changed, content: "other" }, ...others.slice(1)] })],
  };
  const second = await adopt(next, handed(first), bench);
  const { machine: said } = parse(machine.persistent) as {
    machine: { files: { content: string }[] };
  };
  expect(said.files.map(({ content }) => content)).toEqual([
    "other",
    ...others.slice(1).map(({ content }) => content),
  ]);
  expect(said).not.toHaveProperty("certSANs");
  await release(next, handed(second), bench);
  expect(parse(machine.persistent)).toEqual(parse(live));
});

test("an answer in the longer form of an earlier release of the package is understood", async () => {
  const { machine, bench, live } = setup();
  const additions = [
    { what: "container", document: "config", path: ["machine", "files"], value: [] },
    ...files.map((file) => ({
      what: "value",
      document: "config",
      path: ["machine", "files", { key: "path", id: file.path }],
      value: file,
    })),
    { what: "container", document: "config", path: ["machine", "certSANs"], value: [] },
    ...certSANs.map((member) => ({
      what: "value",
      document: "config",
      path: ["machine", "certSANs", { member }],
      value: member,
    })),
    { what: "container", document: "config", path: ["machine", "sysctls"], value: {} },
    { what: "value", document: "config", path: ["machine", "sysctls", "one"], value: "1" },
  ];
  const former = { hash: "0", added: { additions }, changed: true };
  await adopt(task, undefined, bench);
  const again = await adopt(task, handed(former), bench);
  expect(again.changed).toBe(false);
  startWith(JSON.stringify(again), "");
  await release(task, handed(former), bench);
  expect(parse(machine.persistent)).toEqual(parse(live));
});

test("if the record of the additions is empty, adopt and release change nothing", async () => {
  const { machine, bench } = setup();
  await adopt(task, undefined, bench);
  const configured = (machine.active = machine.persistent); // it has booted since
  const again = await adopt(task, undefined, bench);
  expect(again.changed).toBe(false);
  await release(task, handed(again), bench);
  expect(machine.persistent).toBe(configured);
});

test("patches whose record is too long in any form are refused, and nothing is staged", async () => {
  const { machine, bench } = setup();
  const sysctls = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, number) => [`net.ipv4.conf.e${number}`, "1"]),
  );
  const refused = await errorMessageOf(
    adopt({ ...task, patches: [text({ sysctls })] }, undefined, bench),
  );
  expect(refused).toMatch(
    /^machines\.gpu-1\.patches: the record .* Nothing was changed; set fewer values in the patches$/,
  );
  expect(machine.calls).toEqual([]);
});

test("the output of a run over a thousand machines, with warnings, fits into the next run's environment", () => {
  let said = "";
  const progress = new BoundedProgress((line) => (said += `${line}\n`));
  for (let number = 0; number < 1_000; number++)
    progress.report(
      `gpu-${number}: not known what the upgrade would remove from the machine (${"no answer ".repeat(10)}); the machine's own update checks that again`,
    );
  progress.report("warning: gpu-7: the machine is node old now");
  progress.report("gpu-7: warning: it runs and is not ready");
  startWith("", said);
  expect(said).toMatch(/^gpu-0: .*$/m);
  expect(said.match(/no further lines are printed/g)).toHaveLength(1);
  expect(said).toMatch(/^warning: gpu-7: .*\ngpu-7: warning: it runs and is not ready\n$/m);
});
