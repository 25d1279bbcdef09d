import type { V1Deployment, V1Job, V1Secret } from "@kubernetes/client-node";
import type { LabEngine, Progress } from "../../../lab/engine";
import type { RunningLab } from "../../../lab/run/running-lab";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import { findLeftovers } from "../../../lab/run/take-down";
import type { Session } from "../../../lab/session/session";
import { type LifeStand, type Moment, openLifeStand, stopped } from "./life-stand";
import { asProgram } from "./program";

/** Result of one case. */
export interface KilledCase {
  signal: "SIGINT" | "SIGKILL";
  phase: string;
  /** Commands of the troubleshooting page that ran before the next update. */
  commands: string[];
  /** End of the next update: `green`, `beyond` if it was killed in a later phase, or its errors. */
  next: string;
  /** Reboots of the machine since the round began. */
  reboots: number;
}

/** The whole run. */
export interface KilledRun {
  cases: KilledCase[];
  /** Objects and settings that each destroy left behind. */
  left: string[];
}

const namespace = "gpu-operator";

/** Matches a progress line of the machine program. */
const line =
  (pattern: RegExp) =>
  (progress: Progress): boolean =>
    progress.kind === "message" && pattern.test(progress.message);

/** Waits until Helm's record of the release has this status. */
const helm =
  (status: string) =>
  async ({ kubernetes }: RunningLab): Promise<boolean> => {
    const labels = encodeURIComponent(`owner=helm,name=gpu-operator,status=${status}`);
    const path = `/api/v1/namespaces/${namespace}/secrets?labelSelector=${labels}`;
    return (await kubernetes.all<V1Secret>(path)).length > 0;
  };

const jobsIn = ({ kubernetes }: RunningLab, where: string): Promise<V1Job[]> =>
  kubernetes.all(`/apis/batch/v1/namespaces/${where}/jobs`);

/** Moments in the order of an update. Each update continues where the last one was killed, so one round covers all. */
const moments: [string, Moment][] = [
  ["configuration", { said: line(/: stage: /) }],
  ["reboot", { said: line(/: reboot: /) }],
  ["release installed", { seen: helm("pending-install") }],
  [
    "smoke test",
    {
      seen: async (lab) =>
        (await jobsIn(lab, namespace)).some(({ status }) => (status?.active ?? 0) > 0),
    },
  ],
  [
    "workload",
    {
      seen: async (lab) => {
        deployment = await deploymentOf(lab);
        return deployment !== undefined;
      },
    },
  ],
];

const pulling: Moment = {
  seen: async (lab) => (await jobsIn(lab, "ollama")).some(({ status }) => status?.active === 1),
};

/** UID of the workload's Deployment when the update was killed. */
let deployment: string | undefined;

const deploymentOf = async ({ kubernetes }: RunningLab): Promise<string | undefined> =>
  (await kubernetes.all<V1Deployment>("/apis/apps/v1/namespaces/ollama/deployments"))[0]?.metadata
    ?.uid;

const madeAnew: Moment = {
  seen: async (lab) => ![undefined, deployment].includes(await deploymentOf(lab)),
};

const upgraded: Moment = { seen: helm("pending-upgrade") };
const uninstalled: Moment = { seen: helm("uninstalling") };

async function round(
  stand: LifeStand,
  signal: KilledCase["signal"],
  run: KilledRun,
): Promise<void> {
  const { lab } = stand;
  const before = await stand.reboots();
  let open: KilledCase | undefined;
  const ended = async (next: string): Promise<void> => {
    if (open === undefined) return;
    open.next = next;
    open.reboots = (await stand.reboots()) - before;
    console.error(`${signal} ${open.phase}: ${open.commands.join(", ")} → ${next}`);
    open = undefined;
  };
  const kill = async (phase: string, verb: "up" | "destroy", moment: Moment): Promise<void> => {
    let { result, reached } = await stopped(stand, verb, signal, moment);
    while (!reached && (await helped(result.diagnostics)))
      ({ result, reached } = await stopped(stand, verb, signal, moment));
    await ended(reached ? "beyond" : result.diagnostics.join("\n"));
    if (!reached) throw new Error(`the ${verb} ended before it came to: ${phase}`);
    open = { signal, phase, commands: [], next: "", reboots: 0 };
    run.cases.push(open);
  };
  /**
   * Runs the command that the troubleshooting page names for these messages, each once per kill; false if it names
   * none.
   */
  const helped = async (said: readonly string[]): Promise<boolean> => {
    const done = open?.commands;
    const remedy = remedies.find(
      ({ command, of }) => !done?.includes(command) && said.some((line) => of.test(line)),
    );
    if (done === undefined || remedy === undefined) return false;
    done.push(remedy.command);
    await remedy.run(lab.engine);
    return true;
  };
  const again = async (verb: "up" | "destroy"): Promise<void> => {
    let result = await lab.engine[verb]();
    while (await helped(result.diagnostics)) result = await lab.engine[verb]();
    await ended(result.result === "succeeded" ? "green" : result.diagnostics.join("\n"));
    if (result.result !== "succeeded") throw new Error(`${verb} did not end well`);
  };

  for (const [phase, moment] of moments) await kill(phase, "up", moment);
  if (signal === "SIGKILL") {
    await kill("workload, imported", "up", madeAnew);
    const cluster = "urn:pulumi:life::talos-gpu::talos-gpu:index:GpuCluster";
    const urn = `${cluster}$talos-gpu:index:Ollama$kubernetes:apps/v1:Deployment::life-ollama-deployment`;
    const imported = (): Promise<string[]> =>
      lab.engine.importPending(urn, "ollama/ollama").then(
        () => [],
        (error: Error) => [error.message],
      );
    let said = await imported();
    while (await helped(said)) said = await imported();
    if (said.length > 0) throw new Error(said[0]);
    open!.commands.push("pulumi refresh --import-pending-creates");
  }
  await kill("model", "up", pulling);
  await again("up");
  // A kill leaves pending operations in the state; every update warns of them until they are removed.
  await lab.engine.refresh();
  const { gpuOperator } = lab.config as { gpuOperator: object };
  await stand.edit({
    gpuOperator: { ...gpuOperator, values: { operator: { logging: { level: signal } } } },
  });
  await kill("release upgraded", "up", upgraded);
  await again("up");
  await lab.engine.refresh();
  const { changes, diagnostics } = await lab.engine.preview();
  const { same: _same, ...other } = changes;
  if (Object.values(other).some((count) => count > 0))
    throw new Error(`not unchanged: ${JSON.stringify(other)}`);
  const pending = diagnostics.filter((line) => line.includes("pending operations"));
  if (pending.length > 0) throw new Error(pending.join("\n"));
  const up = await takeSnapshot(lab);
  await kill("destroy", "destroy", uninstalled);
  await again("destroy");
  run.left.push(...(await findLeftovers(lab, up)).left.map((line) => `${signal}: ${line}`));
}

/** Messages that keep the next update from starting, with the troubleshooting page's command for each. */
const remedies: { of: RegExp; command: string; run: (engine: LabEngine) => Promise<void> }[] = [
  {
    // The lock file may be half written.
    of: /currently locked|^error: ((unexpected )?EOF|unexpected end of JSON input)$/m,
    command: "pulumi cancel",
    run: (engine) => engine.unlock(),
  },
  {
    of: /failed to load checkpoint: (.*unexpected )?EOF/,
    command: "rm STACK.json.attrs",
    run: (engine) => engine.forgetAttributes(),
  },
];

/** Both rounds in one lab. A round that fails ends the run; its cases say where. */
async function run(session: Session, stack: string): Promise<KilledRun> {
  const stand = await openLifeStand(session, stack, [], "each");
  const cases: KilledRun = { cases: [], left: [] };
  try {
    await round(stand, "SIGKILL", cases);
    // Until a reboot, the running configuration still contains the keys that the destroy removed. If the next update
    // stages them again and is killed before Pulumi records that, `adopt.ts` takes them for another tool's.
    await stand.reboot("gpu");
    // The image of the first round would stay, and Talos would apply the rest of the configuration without a reboot.
    // Then no phase of the second round would reboot.
    const { machines } = stand.lab.config as { machines: { gpu: object } };
    await stand.edit({ machines: { gpu: { ...machines.gpu, kernelArgs: ["panic=10"] } } });
    await round(stand, "SIGINT", cases);
  } catch (error) {
    console.error(error);
  }
  return cases;
}

asProgram(run);
