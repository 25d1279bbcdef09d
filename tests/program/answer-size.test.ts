import { execFileSync } from "node:child_process";
import { stringify, parse } from "yaml";
import { adopt, release, type AdoptContext } from "../../components/program/adopt";
import { BoundedProgress } from "../../components/program/progress";
import type { AdoptResult } from "../../components/program/task";
import { FakeClock, FakeMachine } from "./fakes";
import { errorMessageOf } from "./setup";

/** Starts a program with the previous run's output in its environment, as Pulumi's command provider does. */
function startProgramWithOutput(stdout: string, stderr: string): void {
  const environment = { PULUMI_COMMAND_STDOUT: stdout, PULUMI_COMMAND_STDERR: stderr };
  execFileSync("/bin/sh", ["-c", "true"], { env: { ...process.env, ...environment } });
}

const configurationText = (machine: object): string => stringify({ version: "v1alpha1", machine });

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
  patches: [configurationText({ files, certSANs, sysctls: { one: "1" } })],
};

function setupAdopt() {
  const machine = new FakeMachine(new FakeClock());
  const configuration = configurationText({ type: "worker" });
  machine.active = machine.persistent = configuration;
  const context: AdoptContext = {
    machine,
    clock: machine.clock,
    report: () => {},
    isAwaited: () => true,
  };
  return { machine, context, configuration };
}

/** The answer in the form in which the next run gets it. */
const asHandedOver = (answer: AdoptResult): AdoptResult =>
  JSON.parse(JSON.stringify(answer)) as AdoptResult;

test("the answer to patches of 160 KB fits into the next run's environment", async () => {
  const { machine, context } = setupAdopt();
  expect(task.patches[0]!.length).toBeGreaterThan(160_000);
  const firstResult = await adopt(task, undefined, context);
  startProgramWithOutput(JSON.stringify(firstResult), "");
  const secondResult = await adopt(task, asHandedOver(firstResult), context);
  expect(secondResult).toEqual({ ...firstResult, changed: false });
  expect(machine.calls).toEqual(["stage"]);
});

test("settings from patches of 160 KB are changed by the next patches, and removed by the release", async () => {
  const { machine, context, configuration } = setupAdopt();
  const firstResult = await adopt(task, undefined, context);
  const [firstFile, ...otherFiles] = files;
  const changedTask = {
    ...task,
    patches: [
      configurationText({ files: [{ ...firstFile, content: "other" }, ...otherFiles.slice(1)] }),
    ],
  };
  const secondResult = await adopt(changedTask, asHandedOver(firstResult), context);
  const { machine: machineSection } = parse(machine.persistent) as {
    machine: { files: { content: string }[] };
  };
  expect(machineSection.files.map(({ content }) => content)).toEqual([
    "other",
    ...otherFiles.slice(1).map(({ content }) => content),
  ]);
  expect(machineSection).not.toHaveProperty("certSANs");
  await release(changedTask, asHandedOver(secondResult), context);
  expect(parse(machine.persistent)).toEqual(parse(configuration));
});

test("an answer in the longer form of an earlier release of the package is understood", async () => {
  const { machine, context, configuration } = setupAdopt();
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
  const formerResult = { hash: "0", added: { additions }, changed: true };
  await adopt(task, undefined, context);
  const secondResult = await adopt(task, asHandedOver(formerResult), context);
  expect(secondResult.changed).toBe(false);
  startProgramWithOutput(JSON.stringify(secondResult), "");
  await release(task, asHandedOver(formerResult), context);
  expect(parse(machine.persistent)).toEqual(parse(configuration));
});

test("if the record of the additions is empty, adopt and release change nothing", async () => {
  const { machine, context } = setupAdopt();
  await adopt(task, undefined, context);
  const activeConfiguration = (machine.active = machine.persistent); // it has booted since
  const secondResult = await adopt(task, undefined, context);
  expect(secondResult.changed).toBe(false);
  await release(task, asHandedOver(secondResult), context);
  expect(machine.persistent).toBe(activeConfiguration);
});

test("patches whose record is too long in any form are refused, and nothing is staged", async () => {
  const { machine, context } = setupAdopt();
  const sysctls = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, number) => [`net.ipv4.conf.e${number}`, "1"]),
  );
  const message = await errorMessageOf(
    adopt({ ...task, patches: [configurationText({ sysctls })] }, undefined, context),
  );
  expect(message).toMatch(
    /^machines\.gpu-1\.patches: the record .* Nothing was changed; set fewer values in the patches$/,
  );
  expect(machine.calls).toEqual([]);
});

test("the output of a run over a thousand machines, with warnings, fits into the next run's environment", () => {
  let output = "";
  const progress = new BoundedProgress((line) => (output += `${line}\n`));
  for (let number = 0; number < 1_000; number++)
    progress.report(
      `gpu-${number}: not known what the upgrade would remove from the machine (${"no answer ".repeat(10)}); the machine's own update checks that again`,
    );
  progress.report("warning: gpu-7: the machine is node old now");
  progress.report("gpu-7: warning: it runs and is not ready");
  startProgramWithOutput("", output);
  expect(output).toMatch(/^gpu-0: .*$/m);
  expect(output.match(/no further lines are printed/g)).toHaveLength(1);
  expect(output).toMatch(/^warning: gpu-7: .*\ngpu-7: warning: it runs and is not ready\n$/m);
});
