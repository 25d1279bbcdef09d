import * as path from "node:path";
import { planCluster } from "../../components/recipe";
import { bundle } from "../bundle/bundle";
import type { Lab } from "../cluster/lab";
import {
  type Changes,
  LabEngine,
  type LabEngineOptions,
  type Program,
  type Progress,
  programFromFile,
  type RunOptions,
  type RunResult,
} from "../engine";
import { installLanguageHost } from "../language-host";
import { makeCheckout } from "../language-host/checkout";
import { predictedReboots } from "./predicted-reboots";
import { countCallsAndReboots, countSince } from "./gather";
import { addRequestedMachines } from "../omni";
import type { Say } from "../phases";
import { CommandProvider } from "../providers/command";
import { serveProvider } from "../providers/serve";
import { TalosProvider } from "../providers/talos";
import type { PreviewReport, UpdateReport } from "./report";
import { repository, stackNameOf, stacksDir } from "../../stacks/stack-file";
import * as fs from "node:fs";

const project = "talos-gpu";

/**
 * Opens Pulumi's engine on the stack's own program, with the lab's providers or the installed ones.
 *
 * @param main the program's main file. Default: that of the stacks.
 * @param checkpoints when the engine writes its state. Default: at the end; a test that kills the engine needs more.
 */
export async function openEngine(
  lab: Lab,
  main = mainFileOf(lab.options),
  checkpoints: LabEngineOptions["checkpoints"] = "end",
): Promise<LabEngine> {
  const { session, options } = lab;
  const read = (file: string): string => fs.readFileSync(file, "utf8");
  return LabEngine.open({
    pulumi: lab.tools.pulumi,
    dir: session.dir("engine"),
    project,
    stack: stackNameOf(options.stack),
    program: await programOf(lab, main),
    config: engineConfig(lab),
    secrets:
      lab.existing === undefined
        ? {} // the stack makes them
        : {
            [`${project}:talosconfig`]: read(session.dir("talosconfig")),
            [`${project}:machineSecrets`]: read(lab.existing.secrets),
            [`${project}:kubeconfig`]: read(lab.controlPlane.adminKubeconfig),
            ...(lab.omni === undefined
              ? {}
              : {
                  [`${project}:omniEndpoint`]: lab.omni.endpoint,
                  [`${project}:omniServiceAccountKey`]: lab.omni.serviceAccountKey,
                }),
          },
    plugins: options.pulumi === "installed" ? "real" : await servePlugins(lab),
    environment: await environmentOf(lab),
    checkpoints,
  });
}

/** Main file of the stacks' program. With `--without`, one that removes these fixes from the plan. */
const mainFileOf = ({ without }: Lab["options"]): string =>
  without.length > 0
    ? path.join(repository, "lab", "without", "program.ts")
    : path.join(stacksDir, "index.ts");

/** The stack's program: a function in this process, or a checkout for the language host. */
async function programOf({ options, session }: Lab, main: string): Promise<Program | string> {
  if (options.pulumi === "lab") return programFromFile(await bundle(main));
  const checkout = await makeCheckout(session.dir("checkout"));
  // The engine gets the stack's configuration from the lab, with the lab's limits, so the checkout's file goes.
  fs.rmSync(
    path.join(programFolder({ options, session }), `Pulumi.${stackNameOf(options.stack)}.yaml`),
    {
      force: true,
    },
  );
  return checkout;
}

/**
 * Environment of the engine, which finds the language host on PATH. The API server of a virtual machine may need longer
 * than the provider's 32 s to send its schema.
 */
async function environmentOf(lab: Lab): Promise<Record<string, string>> {
  const environment: Record<string, string> = {
    ...commandEnvironment(lab),
    ...(lab.options.machines === "real" ? { PULUMI_K8S_CLIENT_TIMEOUT: "300" } : {}),
  };
  if (lab.options.pulumi === "lab") return environment;
  const hosts = await installLanguageHost(lab.session.dir("language-host"), lab.tools.pulumi);
  return { ...environment, PATH: [hosts, environment["PATH"]].join(path.delimiter) };
}

/**
 * The engine's configuration, by full key. Also makes the lab's chart repositories offer the release that the stack
 * installs.
 */
export function engineConfig({
  config,
  spec,
  without,
  options,
  factoryUrl,
  charts,
}: Lab): Record<string, unknown> {
  const { chart, version, repository } = planCluster(spec).kubernetes.release;
  charts?.offer(chart, version, repository);
  const entries = Object.entries(config).map(([key, value]) => [`${project}:${key}`, value]);
  return {
    ...Object.fromEntries(entries),
    ...(without.length > 0 ? { "lab:without": without } : {}),
    // For the installed Talos provider. If the stack names a Factory, its program uses that one (TALOS_GPU_FACTORY).
    ...(options.pulumi === "installed" ? { "talos:imageFactoryUrl": factoryUrl } : {}),
  };
}

/**
 * Serves the lab's own providers. Gives the port of each, and the path of the real Kubernetes provider's program.
 *
 * @param directory working directory of commands. Default: the folder of the stacks' program.
 */
export async function servePlugins(
  lab: Lab,
  directory = programFolder(lab),
): Promise<Record<string, number | string>> {
  const { tools, session } = lab;
  const kubernetesProvider = tools["pulumi-resource-kubernetes"];
  const providers = {
    command: new CommandProvider({ directory, environment: commandEnvironment(lab) }),
    talos: new TalosProvider({
      talosctl: tools.talosctl,
      factory: lab.factoryUrl,
      machineApi: lab.machines.api,
      maintenance: lab.machines.maintenance,
      tempDir: session.dir("talos"),
      timeScale: lab.options.timeScale,
      kubeconfig: lab.machines.kubeconfig,
    }),
  };
  const plugins: Record<string, number | string> = {
    kubernetes: (await lab.charts?.redirect(kubernetesProvider)) ?? kubernetesProvider,
  };
  for (const [name, provider] of Object.entries(providers)) {
    const served = await serveProvider(provider);
    session.onClose(() => served.close());
    plugins[name] = served.port;
  }
  return plugins;
}

/**
 * Folder of the program's main file. The engine starts plugins there (pulumi/pulumi v3.259.0,
 * sdk/go/common/resource/plugin, `NewProvider` with the context's `Pwd`, which `ProjectInfoContext` takes from the
 * project's `main`), so it is where the command plugin runs commands.
 */
const programFolder = ({ options, session }: Pick<Lab, "options" | "session">): string =>
  options.pulumi === "lab" ? stacksDir : session.dir("checkout", "stacks");

/**
 * Environment for commands: the lab's talosctl and omnictl come first on PATH, and the user's credentials are removed.
 */
export function commandEnvironment(lab: Lab): Record<string, string> {
  const {
    TALOSCONFIG: _t,
    KUBECONFIG: _k,
    OMNI_ENDPOINT: _e,
    OMNI_SERVICE_ACCOUNT_KEY: _s,
    ...inherited
  } = process.env as Record<string, string>;
  // The stack's talosconfig names addresses of control planes, which this computer reaches only through the lab's
  // endpoint.
  const endpoint = lab.existing === undefined ? { TALOS_GPU_ENDPOINT: lab.machines.api } : {};
  // Preflight and provider fetch charts from the lab's repository, which has a folder for each public address.
  const charts = lab.charts === undefined ? {} : { TALOS_GPU_CHARTS: lab.charts.addressOf("") };
  const leadingFolders = [
    ...(lab.omni === undefined ? [] : [lab.omni.bin]),
    path.dirname(lab.tools.talosctl),
  ];
  return {
    ...inherited,
    ...endpoint,
    ...charts,
    PATH: [...leadingFolders, inherited.PATH ?? ""].join(path.delimiter),
  };
}

/** Result of an update or a preview: its report, and the engine's output. */
interface EngineRun<Report> {
  report: Report;
  diagnostics: string[];
}

/** Runs the stack's program once. */
export async function update(
  lab: Lab,
  engine: LabEngine,
  say: Say,
): Promise<EngineRun<UpdateReport>> {
  const { reboots, seconds, ...engineRun } = await countDuring(lab, (options) =>
    engine.up({ ...options, onEvent: addRequestedMachines(lab.omni, say, narrate(say)) }),
  );
  const report = { ...engineRun.report, seconds: Math.round(seconds * 10) / 10, reboots };
  return { report, diagnostics: engineRun.diagnostics };
}

/** Runs a preview of the stack's program. */
export async function preview(
  lab: Lab,
  engine: LabEngine,
  say: Say,
): Promise<EngineRun<PreviewReport>> {
  const onEvent = narrate((line, weight) => say(`preview: ${line}`, weight));
  const { report, diagnostics } = await countDuring(lab, (options) =>
    engine.preview({ ...options, onEvent }),
  );
  return {
    report: { ...report, foretold: predictedReboots(diagnostics, stackNameOf(lab.options.stack)) },
    diagnostics,
  };
}

/** Runs the engine, and counts the machines' calls and reboots during the run. */
async function countDuring(
  { machines, session }: Lab,
  run: (options: RunOptions) => Promise<RunResult>,
) {
  const earlierCounts = await countCallsAndReboots(machines);
  const { result, changes, seconds, diagnostics } = await run({ signal: session.signal });
  const { requests: machineRequests, reboots } = await countSince(earlierCounts, machines);
  const succeeded = result === "succeeded" ? result : ("failed" as const);
  return {
    report: { result: succeeded, changes, machineRequests },
    reboots,
    seconds,
    diagnostics: [...diagnostics],
  };
}

/** `2 created, 1 updated, …`. */
export function describeChanges({
  create,
  update: changed,
  replace,
  delete: deleted,
  same,
}: Changes): string {
  const counts = [
    `${create} created`,
    `${changed} updated`,
    `${replace} replaced`,
    `${deleted} deleted`,
  ];
  return [
    ...counts.filter((count) => deleted > 0 || !count.endsWith("deleted")),
    `${same} the same`,
  ].join(", ");
}

/**
 * Prints the engine's events as lines: begun, done and failed operations, and messages of long steps. A terminal keeps
 * only warnings and errors. Provider resources are left out, since a reader does not know them.
 */
export function narrate(say: Say): (progress: Progress) => void {
  let doneCount = 0;
  let lastMessage = "";
  return (progress) => {
    if (progress.kind === "message") {
      const prefix = progress.urn ? `${progress.urn.split("::").pop()}: ` : "";
      if (progress.message === lastMessage) return; // the engine reports a program's error twice
      lastMessage = progress.message;
      const weight = progress.severity === "info" || progress.ephemeral ? "event" : "kept";
      for (const line of progress.message.split("\n"))
        if (line.trim() !== "") say(`${prefix}${markLabTime(line)}`, weight);
    } else if (progress.type.startsWith("pulumi:providers:")) {
      return;
    } else if (progress.state === "done" && progress.op !== "same") {
      say(`${progress.op} ${progress.name} (${++doneCount} done)`, "event");
    } else if (progress.state === "failed") {
      say(`${progress.name} failed`);
    } else if (progress.state === "started" && isLong(progress.type) && progress.op !== "same") {
      say(`${progress.op} ${progress.name} …`, "beginning");
    }
  };
}

/** Adds "of lab time" to limits, which are shorter than those of the plan (`labTimeouts`). */
const markLabTime = (line: string): string =>
  line.replace(/\b(?:for at most|up to|within) (?:\d+[hms])+(?!\w)/g, "$& of lab time");

/** Types of resources that take long, so their beginning is announced. */
const isLong = (type: string): boolean =>
  /Command$|:Release$|:Job$|:Deployment$|:LeaderWorkerSet$|:DaemonSet$|:Pod$/.test(type);
