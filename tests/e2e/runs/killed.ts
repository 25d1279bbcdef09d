import { gunzipSync, gzipSync } from "node:zlib";
import type { V1Deployment, V1Job, V1Secret } from "@kubernetes/client-node";
import type { LabEngine, Progress } from "../../../lab/engine";
import type { RunningLab } from "../../../lab/run/running-lab";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import { findLeftovers } from "../../../lab/run/take-down";
import type { Session } from "../../../lab/session/session";
import {
  type StackTestBed,
  type Moment,
  startStackTestBed,
  runUntilStopped,
} from "./stack-test-bed";
import { runAsProgram } from "./run-as-program";

/** Result of one case. */
export interface KilledCase {
  signal: "SIGINT" | "SIGKILL";
  phase: string;
  /** Commands of the troubleshooting page that ran before the next update. */
  commands: string[];
  /** Result of the next update: `succeeded`, `killed in a later phase`, or its errors. */
  nextUpdate: string;
  /** Reboots of the machine since the round began. */
  reboots: number;
}

/** The whole run. */
export interface KilledRun {
  cases: KilledCase[];
  /** Objects and settings that each destroy left behind. */
  leftovers: string[];
}

const namespace = "gpu-operator";

/** Matches a progress line of the machine program. */
const matchesMessage =
  (pattern: RegExp) =>
  (progress: Progress): boolean =>
    progress.kind === "message" && pattern.test(progress.message);

/** Whether Helm's record of the release has this status. */
const releaseHasStatus =
  (status: string) =>
  async ({ kubernetes }: RunningLab): Promise<boolean> => {
    const labels = encodeURIComponent(`owner=helm,name=gpu-operator,status=${status}`);
    const path = `/api/v1/namespaces/${namespace}/secrets?labelSelector=${labels}`;
    return (await kubernetes.all<V1Secret>(path)).length > 0;
  };

const jobsIn = ({ kubernetes }: RunningLab, jobNamespace: string): Promise<V1Job[]> =>
  kubernetes.all(`/apis/batch/v1/namespaces/${jobNamespace}/jobs`);

/** Moments in the order of an update. Each update continues where the last one was killed, so one round covers all. */
const moments: [string, Moment][] = [
  ["configuration", { isReachedBy: matchesMessage(/: stage: /) }],
  ["reboot", { isReachedBy: matchesMessage(/: reboot: /) }],
  ["release installed", { isReachedIn: releaseHasStatus("pending-install") }],
  [
    "smoke test",
    {
      isReachedIn: async (lab) =>
        (await jobsIn(lab, namespace)).some(({ status }) => (status?.active ?? 0) > 0),
    },
  ],
  [
    "workload",
    {
      isReachedIn: async (lab) => {
        killedDeployment = await deploymentOf(lab);
        return killedDeployment !== undefined;
      },
    },
  ],
];

const modelIsPulled: Moment = {
  isReachedIn: async (lab) =>
    (await jobsIn(lab, "ollama")).some(({ status }) => status?.active === 1),
};

/** UID of the workload's Deployment when the update was killed. */
let killedDeployment: string | undefined;

const deploymentOf = async ({ kubernetes }: RunningLab): Promise<string | undefined> =>
  (await kubernetes.all<V1Deployment>("/apis/apps/v1/namespaces/ollama/deployments"))[0]?.metadata
    ?.uid;

const deploymentIsCreatedAgain: Moment = {
  isReachedIn: async (lab) => ![undefined, killedDeployment].includes(await deploymentOf(lab)),
};

const releaseIsUpgraded: Moment = { isReachedIn: releaseHasStatus("pending-upgrade") };
const releaseIsUninstalled: Moment = { isReachedIn: releaseHasStatus("uninstalling") };

/**
 * Makes the last record of the release as an interrupted Helm sometimes leaves it (clusterObjects describes why): its
 * label says `failed`, and its text says `pending-upgrade`. In one of five runs Helm did so by itself.
 */
async function contradictLabel({ kubernetes }: RunningLab): Promise<void> {
  const labels = encodeURIComponent("owner=helm,name=gpu-operator");
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const secrets = await kubernetes.all<V1Secret>(`${path}?labelSelector=${labels}`);
  const revisionOf = ({ metadata }: V1Secret): number => Number(metadata?.labels?.["version"]);
  const last = secrets.sort((one, other) => revisionOf(one) - revisionOf(other)).at(-1)!;
  const encoded = Buffer.from(last.data!["release"]!, "base64").toString();
  const release = JSON.parse(gunzipSync(Buffer.from(encoded, "base64")).toString()) as {
    info: { status: string };
  };
  release.info.status = "pending-upgrade";
  const text = gzipSync(JSON.stringify(release)).toString("base64");
  await kubernetes.patch(`${path}/${last.metadata!.name!}`, {
    metadata: { labels: { status: "failed" } },
    data: { release: Buffer.from(text).toString("base64") },
  });
}

async function runRound(
  testBed: StackTestBed,
  signal: KilledCase["signal"],
  run: KilledRun,
): Promise<void> {
  const { lab } = testBed;
  const rebootsBefore = await testBed.reboots();
  let openCase: KilledCase | undefined;
  const closeCase = async (nextUpdate: string): Promise<void> => {
    if (openCase === undefined) return;
    openCase.nextUpdate = nextUpdate;
    openCase.reboots = (await testBed.reboots()) - rebootsBefore;
    console.error(`${signal} ${openCase.phase}: ${openCase.commands.join(", ")} → ${nextUpdate}`);
    openCase = undefined;
  };
  const kill = async (phase: string, verb: "up" | "destroy", moment: Moment): Promise<void> => {
    let { result, reached } = await runUntilStopped(testBed, verb, signal, moment);
    while (!reached && (await applyRemedy(result.diagnostics)))
      ({ result, reached } = await runUntilStopped(testBed, verb, signal, moment));
    await closeCase(reached ? "killed in a later phase" : result.diagnostics.join("\n"));
    if (!reached) throw new Error(`the ${verb} ended before it came to: ${phase}`);
    openCase = { signal, phase, commands: [], nextUpdate: "", reboots: 0 };
    run.cases.push(openCase);
  };
  /**
   * Runs the command that the troubleshooting page names for these messages, each once per kill; false if it names
   * none.
   */
  const applyRemedy = async (messages: readonly string[]): Promise<boolean> => {
    const commands = openCase?.commands;
    const remedy = remedies.find(
      ({ command, message }) =>
        !commands?.includes(command) && messages.some((line) => message.test(line)),
    );
    if (commands === undefined || remedy === undefined) return false;
    commands.push(remedy.command);
    await remedy.run(lab.engine);
    return true;
  };
  const runUntilSuccess = async (verb: "up" | "destroy"): Promise<void> => {
    let result = await lab.engine[verb]();
    while (await applyRemedy(result.diagnostics)) result = await lab.engine[verb]();
    await closeCase(result.result === "succeeded" ? "succeeded" : result.diagnostics.join("\n"));
    if (result.result !== "succeeded") throw new Error(`${verb} did not end well`);
  };

  for (const [phase, moment] of moments) await kill(phase, "up", moment);
  if (signal === "SIGKILL") {
    await kill("workload, imported", "up", deploymentIsCreatedAgain);
    const cluster = "urn:pulumi:life::talos-gpu::talos-gpu:index:GpuCluster";
    const urn = `${cluster}$talos-gpu:index:Ollama$kubernetes:apps/v1:Deployment::life-ollama-deployment`;
    const importDeployment = (): Promise<string[]> =>
      lab.engine.importPending(urn, "ollama/ollama").then(
        () => [],
        (error: Error) => [error.message],
      );
    let errors = await importDeployment();
    while (await applyRemedy(errors)) errors = await importDeployment();
    if (errors.length > 0) throw new Error(errors[0]);
    openCase!.commands.push("pulumi refresh --import-pending-creates");
  }
  await kill("model", "up", modelIsPulled);
  await runUntilSuccess("up");
  // A kill leaves pending operations in the state; every update warns of them until they are removed.
  await lab.engine.refresh();
  const { gpuOperator } = lab.config as { gpuOperator: object };
  const setLogLevel = (level: string): Promise<void> =>
    testBed.edit({ gpuOperator: { ...gpuOperator, values: { operator: { logging: { level } } } } });
  await setLogLevel(signal);
  await kill("release upgraded", "up", releaseIsUpgraded);
  await runUntilSuccess("up");
  if (signal === "SIGINT") {
    await setLogLevel("info");
    await kill("release upgraded, contradictory record", "up", releaseIsUpgraded);
    await contradictLabel(lab);
    await runUntilSuccess("up");
  }
  await lab.engine.refresh();
  const { changes, diagnostics } = await lab.engine.preview();
  const { same: _same, ...otherChanges } = changes;
  if (Object.values(otherChanges).some((count) => count > 0))
    throw new Error(`not unchanged: ${JSON.stringify(otherChanges)}`);
  const pending = diagnostics.filter((line) => line.includes("pending operations"));
  if (pending.length > 0) throw new Error(pending.join("\n"));
  const snapshot = await takeSnapshot(lab);
  await kill("destroy", "destroy", releaseIsUninstalled);
  await runUntilSuccess("destroy");
  run.leftovers.push(
    ...(await findLeftovers(lab, snapshot)).faults.map((line) => `${signal}: ${line}`),
  );
}

/** Messages that keep the next update from starting, with the troubleshooting page's command for each. */
const remedies: { message: RegExp; command: string; run: (engine: LabEngine) => Promise<void> }[] =
  [
    {
      // The lock file may be half written.
      message: /currently locked|^error: ((unexpected )?EOF|unexpected end of JSON input)$/m,
      command: "pulumi cancel",
      run: (engine) => engine.unlock(),
    },
    {
      message: /failed to load checkpoint: (.*unexpected )?EOF/,
      command: "rm STACK.json.attrs",
      run: (engine) => engine.forgetAttributes(),
    },
  ];

/** Both rounds in one lab. A round that fails ends the run; its cases say where. */
async function run(session: Session, stack: string): Promise<KilledRun> {
  const testBed = await startStackTestBed(session, stack, [], "each");
  const results: KilledRun = { cases: [], leftovers: [] };
  try {
    await runRound(testBed, "SIGKILL", results);
    // Until a reboot, the running configuration still contains the keys that the destroy removed. If the next update
    // stages them again and is killed before Pulumi records that, `adopt.ts` takes them for another tool's.
    await testBed.reboot("gpu");
    // The image of the first round would stay, and Talos would apply the rest of the configuration without a reboot.
    // Then no phase of the second round would reboot.
    const { machines } = testBed.lab.config as { machines: { gpu: object } };
    await testBed.edit({ machines: { gpu: { ...machines.gpu, kernelArgs: ["panic=10"] } } });
    await runRound(testBed, "SIGINT", results);
  } catch (error) {
    console.error(error);
  }
  return results;
}

runAsProgram(run);
