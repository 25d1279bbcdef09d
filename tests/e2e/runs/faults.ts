import { parseAllDocuments, type Document } from "yaml";
import { CORDONED_BY } from "../../../components/program/cluster/cordon-mark";
import { startFaultTestBed, type FaultTestBed, type ProgramRun } from "./fault-test-bed";
import type { Session } from "../../../lab/session/session";
import { killedPhases } from "./faults-phases";
import { untilSeen } from "../../../lab/until";
import { runAsProgram } from "./run-as-program";

/** Result of one case. */
export interface CaseResult {
  /** Runs of the program, in order. */
  runs: ProgramRun[];
  /** Errors outside these runs. */
  error?: string;
  /** The machine at the end. */
  machine: { reboots: number; driverVersion: string | null; schematicId: string };
  /** Its node at the end. */
  node: { unschedulable: boolean; hasCordonMark: boolean };
}

/** Breaks something on a machine, and returns the runs of the program; the last one must succeed. */
type Case = (testBed: FaultTestBed, machine: string) => Promise<ProgramRun[]>;

const killAtPhase =
  (
    phase: string,
    beforeKill: (testBed: FaultTestBed, machine: string) => Promise<void> = async () => {},
  ): Case =>
  async (testBed, machine) => {
    let reached = false;
    const killedRun = await testBed.upgrade(machine, {
      onLine: (line, kill) => {
        if (reached || !line.startsWith(`${machine}: ${phase}: `)) return;
        reached = true;
        void beforeKill(testBed, machine).then(kill);
      },
    });
    return [killedRun, await testBed.upgrade(machine)];
  };

/** A machine that goes down has accepted the upgrade. */
const waitUntilItGoesDown = (testBed: FaultTestBed, machine: string): Promise<void> =>
  waitUntil(async () => (await testBed.lab.machines.state())[machine]?.stage !== "running");

/** A run with short limits in which the fault occurs so often that it seems to last, and a run without the fault. */
const lastingFault =
  (kind: string): Case =>
  async (testBed, machine) => {
    await testBed.lab.machines.fault(machine, { kind, times: 1_000 });
    const failedRun = await testBed.upgrade(machine, { timeouts: { reboot: "8s" } });
    await testBed.lab.machines.fault(machine, { kind, times: 0 });
    return [failedRun, await testBed.upgrade(machine)];
  };

/** Some calls fail from the beginning of a phase on. */
const temporaryFault =
  (kind: string, times: number, phase: string): Case =>
  async (testBed, machine) => {
    let faults: Promise<void> | undefined;
    const programRun = await testBed.upgrade(machine, {
      onLine: (line) => {
        if (line.startsWith(`${machine}: ${phase}: `))
          faults ??= testBed.lab.machines.fault(machine, { kind, times });
      },
    });
    await faults;
    if (faults === undefined)
      throw new Error(`phase ${phase} did not come: ${programRun.lines.join("\n")}`);
    return [programRun];
  };

/**
 * Another tool's configuration pauses the boot. Then the stack's configuration is staged again, and waits for a boot.
 */
const pausedBoot: Case = async (testBed, name) => {
  const machine = testBed.machine(name);
  const { active, persistent } = await machine.configurations();
  const file = {
    path: "/etc/cri/conf.d/20-customization.part",
    op: "create",
    permissions: 0o644,
    content: "",
  };
  const documents = parseAllDocuments(active!) as Document[];
  documents.find((document) => document.has("machine"))!.setIn(["machine", "files"], [file, file]);
  await machine.stage(documents.join(""));
  await machine.reboot();
  await waitUntil(async () => (await machine.bootErrors().catch(() => [])).length > 0);
  const failedRun = await testBed.upgrade(name);
  // The machine does not answer while it reboots at the end of the pause.
  const stageStackConfiguration = (): Promise<boolean> =>
    machine.stage(persistent!).then(
      () => true,
      () => false,
    );
  await waitUntil(stageStackConfiguration);
  const { reboots } = (await testBed.lab.machines.state())[name]!;
  return [failedRun, { ...(await testBed.upgrade(name)), rebootsBefore: reboots }];
};

/**
 * The pod of an admission webhook does not answer from the reboot on, until the program waits for it. The webhook
 * concerns a kind that does not exist, so it refuses nothing in this cluster.
 */
const missingWebhook: Case = async (testBed, machine) => {
  const { kubernetes } = testBed.lab;
  const [group, service] = ["talos-gpu.test", "policies"];
  await kubernetes.create("/api/v1/namespaces/default/services", {
    metadata: { name: service },
    spec: { ports: [{ port: 443 }] },
  });
  const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const endpoints = (ready: boolean): object[] => [
    { addresses: ["10.244.9.9"], conditions: { ready } },
  ];
  await kubernetes.create(slices, {
    metadata: { name: service, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: endpoints(true),
    ports: [{ port: 8443 }],
  });
  const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  await kubernetes.create(webhooks, {
    metadata: { name: service },
    webhooks: [
      {
        name: `policies.${group}`,
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        clientConfig: { service: { namespace: "default", name: service } },
        rules: [
          { apiGroups: [group], apiVersions: ["v1"], operations: ["CREATE"], resources: ["x"] },
        ],
      },
    ],
  });
  const changes: Promise<void>[] = [];
  const setReady = (ready: boolean): void =>
    void changes.push(kubernetes.patch(`${slices}/${service}`, { endpoints: endpoints(ready) }));
  try {
    const programRun = await testBed.upgrade(machine, {
      onLine: (line) => {
        if (line.startsWith(`${machine}: reboot: `) && changes.length === 0) setReady(false);
        if (line.startsWith(`${machine}: webhooks: `)) setReady(true);
      },
    });
    await Promise.all(changes);
    return [programRun];
  } finally {
    // Other machines of this cluster reboot meanwhile, and would wait, too.
    await kubernetes.remove(`${webhooks}/${service}`);
  }
};

const cases: Record<string, Case> = {
  ...Object.fromEntries(killedPhases.map((phase) => [`kill-${phase}`, killAtPhase(phase)])),
  "kill-going-down": killAtPhase("reboot", waitUntilItGoesDown),
  rollback: async (testBed, machine) => {
    await testBed.lab.machines.fault(machine, { kind: "rollback" });
    return [await testBed.upgrade(machine), await testBed.upgrade(machine)];
  },
  "paused-boot": pausedBoot,
  "refuse-some": temporaryFault("refuse", 6, "compare"),
  "refuse-all": lastingFault("refuse"),
  "drop-some": temporaryFault("drop-connection", 3, "reboot"),
  "hang-once": temporaryFault("hang", 1, "compare"),
  "hang-pull": temporaryFault("hang", 1, "pull"),
  "hang-all": lastingFault("hang"),
  webhooks: missingWebhook,
};

/**
 * Runs each case on its own machine, four at a time: a machine mostly waits.
 *
 * @param caseNames Names of the cases to run; an empty list means all.
 */
async function run(session: Session, ...caseNames: string[]): Promise<Record<string, CaseResult>> {
  const chosenCases = Object.entries(cases).filter(
    ([name]) => caseNames.length === 0 || caseNames.includes(name),
  );
  const testBed = await startFaultTestBed(
    session,
    chosenCases.map(([name]) => name),
  );
  const resultsByCase: Record<string, Pick<CaseResult, "runs" | "error">> = {};
  const pendingCases = [...chosenCases];
  const runPendingCases = async (): Promise<void> => {
    for (
      let nextCase = pendingCases.shift();
      nextCase !== undefined;
      nextCase = pendingCases.shift()
    ) {
      const [machine, runCase] = nextCase;
      try {
        await testBed.adopt(machine);
        resultsByCase[machine] = { runs: await runCase(testBed, machine) };
      } catch (error) {
        resultsByCase[machine] = { runs: [], error: (error as Error).message };
      }
      console.error(`${machine}: ended`);
    }
  };
  await Promise.all([runPendingCases(), runPendingCases(), runPendingCases(), runPendingCases()]);
  return withFinalStates(testBed, resultsByCase);
}

async function withFinalStates(
  { lab }: FaultTestBed,
  resultsByCase: Record<string, Pick<CaseResult, "runs" | "error">>,
): Promise<Record<string, CaseResult>> {
  const [states, nodes] = await Promise.all([lab.machines.state(), lab.kubernetes.nodes()]);
  const caseResult = (machine: string): CaseResult => {
    const { reboots, driverVersion, schematicId } = states[machine]!;
    const { spec, metadata } = nodes[machine]!;
    return {
      ...resultsByCase[machine]!,
      machine: { reboots, driverVersion, schematicId },
      node: {
        unschedulable: spec?.unschedulable ?? false,
        hasCordonMark: metadata?.annotations?.[CORDONED_BY] !== undefined,
      },
    };
  };
  return Object.fromEntries(
    Object.keys(resultsByCase).map((machine) => [machine, caseResult(machine)]),
  );
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  await untilSeen(condition.toString(), { seconds: 300, every: 50 }, condition, Boolean);
}

runAsProgram(run);
