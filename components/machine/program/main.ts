import * as fs from "node:fs";
import { KubeConfig } from "@kubernetes/client-node";
import { z } from "zod";
import { mergeConfiguration, unmergeConfiguration } from "../../recipe/merge";
import { adopt, release, type Merger } from "./adopt";
import { systemClock } from "./clock";
import { credentialFindings, foreignCredentials } from "./certificates";
import { SecretFiles, secretValues } from "./credentials";
import { CallError, Failure, redact } from "./failure";
import { awaitTests } from "./gate/await-tests";
import { GateCluster } from "./gate/gate-cluster";
import { KubernetesCluster } from "./kubernetes/kubernetes";
import { applyToOmni, releaseFromOmni } from "./omni/apply";
import { OmniServer } from "./omni/server";
import { placesOf } from "./preflight/places";
import { RealAskedCluster } from "./preflight/cluster";
import { preflight } from "./preflight/preflight";
import { preflightResult, preflightTask } from "./preflight/task";
import { RealWeb } from "./preflight/web";
import { waitForOmni } from "./omni/wait";
import { LiveObjects } from "./kubernetes/applied-objects";
import { putBack } from "./kubernetes/put-back";
import { awaitFree } from "./kubernetes/runtime-class";
import { endWithPulumi } from "./orphan";
import { dropTaints, taint, untaint } from "./kubernetes/taint";
import {
  adoptResult,
  adoptTask,
  freeTask,
  gateTask,
  omniTask,
  omniWaitTask,
  putBackTask,
  taintResult,
  taintTask,
  upgradeResult,
  upgradeTask,
} from "./task";
import { TalosMachine } from "./talos/talos-machine";
import { Talosctl } from "./talos/talosctl";
import { upgrade } from "./upgrade/upgrade";

/**
 * The machine program, a child of `@pulumi/command`: task as JSON on standard input, progress on standard error, the answer
 * as one JSON line on standard output. Credentials by environment: TALOS_GPU_TALOSCONFIG and TALOS_GPU_KUBECONFIG
 * (contents), else TALOSCONFIG and KUBECONFIG (paths); for Omni TALOS_GPU_OMNI_ENDPOINT and
 * TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY, else the variables of the same names without our prefix. talosctl and omnictl from
 * PATH, or TALOS_GPU_TALOSCTL and TALOS_GPU_OMNICTL; talosctl connects to the talosconfig's endpoints, or to
 * TALOS_GPU_ENDPOINT.
 */
async function main(verb: string | undefined): Promise<void> {
  const input = fs.readFileSync(0, "utf8");
  const talosconfig = take("TALOS_GPU_TALOSCONFIG");
  const kubeconfig = take("TALOS_GPU_KUBECONFIG") ?? fileOf("KUBECONFIG");
  const omni = omniCredentials();
  const key = omni["OMNI_SERVICE_ACCOUNT_KEY"] ?? process.env["OMNI_SERVICE_ACCOUNT_KEY"] ?? "";
  const secrets = [...secretValues(talosconfig ?? ""), ...secretValues(kubeconfig ?? ""), key];
  let phase = "";
  const report = (line: string): void => {
    phase = /^\S+: (\w+): /.exec(line)?.[1] ?? phase;
    process.stderr.write(`${redact(line, secrets)}\n`);
  };
  // Whoever read it is gone; what was begun is brought to its end all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  endWithPulumi(
    () => onlyWaits.includes(verb ?? "") || (verb === "upgrade" && untouched.includes(phase)),
    () => {
      report(`${verb}: Pulumi is gone, so this ends too; nothing is left half done`);
      process.exit(1);
    },
  );

  const files = new SecretFiles();
  const talosctl = new Talosctl({
    binary: process.env["TALOS_GPU_TALOSCTL"] ?? "talosctl",
    talosconfig: talosconfig === undefined ? undefined : files.write("talosconfig", talosconfig),
    endpoint: process.env["TALOS_GPU_ENDPOINT"] || undefined,
    environment: omni, // talosctl signs its requests to Omni with the same key
    secrets,
  });
  const omnictl = new Talosctl({
    binary: process.env["TALOS_GPU_OMNICTL"] ?? "omnictl",
    name: "omnictl",
    talosconfig: undefined,
    environment: omni,
    secrets,
  });
  const close = (): void => {
    talosctl.stop();
    omnictl.stop();
    files.close();
  };
  process.once("exit", close);
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
    ["SIGHUP", 1],
  ] as const) {
    process.once(signal, () => process.exit(128 + number));
  }

  try {
    const server = new OmniServer(omnictl, files);
    if (verb === "omni-apply" || verb === "omni-release") {
      const task = read(omniTask, input);
      const act = verb === "omni-apply" ? applyToOmni : releaseFromOmni;
      const answer = await act(task, server, (line) => report(`${task.machine}: ${line}`));
      process.stdout.write(`${JSON.stringify(answer)}\n`);
      return;
    }
    if (verb === "put-back") {
      const access = kubeconfigOf(kubeconfig);
      if (access === undefined) throw withoutCluster("what of the stack's objects is gone is seen");
      const answer = await putBack(read(putBackTask, input), new LiveObjects(access, secrets), report);
      process.stdout.write(`${JSON.stringify(answer)}\n`);
      return;
    }
    if (verb === "gate") {
      const access = kubeconfigOf(kubeconfig);
      if (access === undefined) throw withoutCluster("whether the smoke tests passed is seen");
      const task = read(gateTask, input, pollFromEnvironment());
      const answer = await awaitTests(task, new GateCluster(access, secrets), systemClock, report);
      process.stdout.write(`${JSON.stringify(answer)}\n`);
      return;
    }
    const expired = credentialFindings(
      asksMachines.includes(verb ?? "") ? (talosconfig ?? readable("TALOSCONFIG")) : undefined,
      asksKubernetes.includes(verb ?? "") ? kubeconfig : undefined,
      new Date(),
    );
    if (expired.length > 0) throw new Failure(expired);
    const clientVersion = await talosctl.version();
    const machineAt = (address: string): TalosMachine => new TalosMachine(talosctl, address, clientVersion, files);
    const access = kubeconfigOf(kubeconfig);
    const answer = await run(verb, input, machineAt, clientVersion, access, secrets, server, report, {
      talosconfig,
      kubeconfig,
    });
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } catch (error) {
    report(describe(error, input));
    process.exitCode = 1;
  }
}

async function run(
  verb: string | undefined,
  input: string,
  machineAt: (address: string) => TalosMachine,
  clientVersion: string,
  access: KubeConfig | undefined,
  secrets: string[],
  omni: OmniServer,
  report: (line: string) => void,
  { talosconfig, kubeconfig }: { talosconfig: string | undefined; kubeconfig: string | undefined },
): Promise<unknown> {
  const prefixed = (name: string) => (line: string) => report(`${name}: ${line}`);
  const cluster = access && new KubernetesCluster(access, secrets);
  if (verb === "upgrade") {
    const task = read(upgradeTask, input, pollFromEnvironment());
    const bench = {
      machine: machineAt(task.address),
      others: new Map(task.otherControlPlanes.map((address) => [address, machineAt(address)])),
      cluster,
      clientVersion,
      clock: systemClock,
      report: prefixed(task.machine),
    };
    const previous = previousAnswer(upgradeResult);
    const answer = await upgrade(task, bench, previous);
    await dropTaints(task, previous?.taints, cluster, bench.report);
    return { ...answer, taints: task.taints };
  }
  if (verb === "adopt" || verb === "release") {
    const task = read(adoptTask, input);
    const act = verb === "adopt" ? adopt : release;
    return act(task, previousAnswer(adoptResult), machineAt(task.address), merger, prefixed(task.machine));
  }
  if (verb === "taint" || verb === "untaint") {
    const task = read(taintTask, input);
    if (cluster === undefined) throw noCluster(task.machine);
    const act = verb === "taint" ? taint : untaint;
    return act(task, previousAnswer(taintResult), cluster, prefixed(task.machine));
  }
  if (verb === "omni-wait") {
    const task = read(omniWaitTask, input, pollFromEnvironment());
    const [machine, named] = [machineAt(task.address), prefixed(task.machine)];
    const answer = await waitForOmni(task, { omni, machine, clock: systemClock, report: named });
    await dropTaints(task, previousAnswer(upgradeResult)?.taints, cluster, named);
    return { ...answer, taints: task.taints };
  }
  if (verb === "await-free") {
    const task = read(freeTask, input, pollFromEnvironment());
    if (cluster !== undefined) return awaitFree(task, cluster, systemClock, report);
    report(`no kubeconfig: whether RuntimeClass ${task.runtimeClass} is an operator's is not looked at`);
    return {};
  }
  if (verb === "preflight") {
    const task = read(preflightTask, input, pollFromEnvironment());
    const { env } = process;
    const around = {
      ...{ web: new RealWeb(systemClock, env), places: placesOf(env), omni, machineAt, clock: systemClock, report },
      cluster: task.kubernetes && access ? new RealAskedCluster(access, secrets) : undefined,
      talosconfig: talosconfig ?? readable("TALOSCONFIG"),
    };
    const expired = credentialFindings(
      task.machines.length > 0 ? around.talosconfig : undefined,
      task.kubernetes ? kubeconfig : undefined,
      new Date(),
    );
    return preflight(task, { ...around, expired }, previousAnswer(preflightResult));
  }
  const verbs =
    "preflight, upgrade, adopt, release, taint, untaint, await-free, put-back, gate, omni-apply, omni-release, omni-wait";
  throw new Error(`verb ${JSON.stringify(verb)} is not one of ${verbs}`);
}

/** Verbs that wait for what others do, and may end at any time. */
const onlyWaits = ["preflight", "gate", "await-free", "omni-wait"];

/** Phases of an upgrade before which nothing was done to the machine, and none. */
const untouched = ["", "reach", "join", "compare", "precheck", "pull"];

/** Verbs that ask machines, and those that ask Kubernetes. */
const asksMachines = ["upgrade", "adopt", "release", "omni-wait"];
const asksKubernetes = ["upgrade", "taint", "untaint", "await-free"];

const merger: Merger = { merge: mergeConfiguration, unmerge: unmergeConfiguration };

function noCluster(machine: string): Failure {
  return new Failure([
    {
      field: `machines.${machine}.taints`,
      problem: "there is no kubeconfig",
      why: "a worker may not change its own taints, so they go through the Kubernetes API",
      remedy: "give the kubeconfig, or name its file by KUBECONFIG",
    },
  ]);
}

function withoutCluster(what: string): Failure {
  return new Failure([
    {
      field: "kubeconfig",
      problem: "there is none",
      why: `${what} through the Kubernetes API`,
      remedy: "give the kubeconfig, or name its file by KUBECONFIG",
    },
  ]);
}

/** Access to Kubernetes, when there are credentials. `~/.kube/config` is left alone: it may be of any cluster. */
function kubeconfigOf(content: string | undefined): KubeConfig | undefined {
  if (content === undefined) return undefined;
  const config = new KubeConfig();
  config.loadFromString(content);
  return config;
}

/** Omni's credentials as its own clients expect them; those that the environment has already are inherited. */
function omniCredentials(): Record<string, string> {
  const names = ["OMNI_ENDPOINT", "OMNI_SERVICE_ACCOUNT_KEY"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = take(`TALOS_GPU_${name}`);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Takes a variable out of the environment, so that no child inherits it. */
function take(name: string): string | undefined {
  const value = process.env[name];
  delete process.env[name];
  return value === undefined || value === "" ? undefined : value;
}

/** The same, where it can be read: whoever is to read it says otherwise. */
function readable(name: string): string | undefined {
  try {
    return fileOf(name);
  } catch {
    return undefined;
  }
}

function fileOf(name: string): string | undefined {
  const path = process.env[name];
  return path === undefined || path === "" ? undefined : fs.readFileSync(path, "utf8");
}

/** What the last run of this resource answered; Pulumi's command provider hands it back by this variable. */
function previousAnswer<T extends z.ZodType>(type: T): z.infer<T> | undefined {
  const text = process.env["PULUMI_COMMAND_STDOUT"]?.trim().split("\n").at(-1);
  return text === undefined || text === "" ? undefined : read(type, text);
}

/** A lab whose time runs faster looks more often, without its tasks being others than a real stack's. */
function pollFromEnvironment(): object {
  const seconds = Number(process.env["TALOS_GPU_POLL_SECONDS"]);
  return seconds > 0 ? { pollSeconds: seconds } : {};
}

function read<T extends z.ZodType>(type: T, text: string, defaults: object = {}): z.infer<T> {
  const parsed = type.safeParse({ ...defaults, ...(JSON.parse(text) as object) });
  if (parsed.success) return parsed.data;
  throw new Error(
    `task: it does not have the shape this release of talos-gpu writes: ${z.prettifyError(parsed.error)}`,
  );
}

/** A failed call that no phase made sense of is one that trying again does not help: credentials, mostly. */
function describe(error: unknown, input: string): string {
  if (!(error instanceof CallError)) return error instanceof Error ? error.message : String(error);
  const foreign = foreignCredentials(error.message);
  if (foreign !== undefined) return new Failure([foreign]).message;
  const name = /"machine":"([^"]+)"/.exec(input)?.[1] ?? "unknown";
  return new Failure([
    {
      field: `machines.${name}`,
      problem: error.message,
      why: "the program cannot go on",
      remedy:
        "check the credentials (talosconfig, kubeconfig, OMNI_ENDPOINT and OMNI_SERVICE_ACCOUNT_KEY) and the client, then run again: the program goes on from what it finds",
    },
  ]).message;
}

void main(process.argv.at(-1));
