import { parseAllDocuments, type Document } from "yaml";
import { CORDONED_BY } from "../../../components/program/cluster/cordon-mark";
import { openFaultStand, type FaultStand, type Ran } from "./faults-stand";
import type { Session } from "../../../lab/session/session";
import { killedPhases } from "./faults-phases";
import { untilSeen } from "../../../lab/until";
import { asProgram } from "./program";

/** Result of one case. */
export interface Outcome {
  /** Runs of the program, in order. */
  runs: Ran[];
  /** Errors outside these runs. */
  error?: string;
  /** The machine at the end. */
  machine: { reboots: number; driverVersion: string | null; schematicId: string };
  /** Its node at the end. */
  node: { unschedulable: boolean; marked: boolean };
}

/** Breaks something on a machine, and returns the runs of the program; the last one must succeed. */
type Case = (stand: FaultStand, machine: string) => Promise<Ran[]>;

const killed =
  (
    phase: string,
    when: (stand: FaultStand, machine: string) => Promise<void> = async () => {},
  ): Case =>
  async (stand, machine) => {
    let reached = false;
    const first = await stand.upgrade(machine, {
      onLine: (line, kill) => {
        if (reached || !line.startsWith(`${machine}: ${phase}: `)) return;
        reached = true;
        void when(stand, machine).then(kill);
      },
    });
    return [first, await stand.upgrade(machine)];
  };

/** A machine that goes down has accepted the upgrade. */
const goesDown = (stand: FaultStand, machine: string): Promise<void> =>
  until(async () => (await stand.lab.machines.state())[machine]?.stage !== "running");

/** A run with short limits in which the fault occurs so often that it seems to last, and a run without the fault. */
const lasting =
  (kind: string): Case =>
  async (stand, machine) => {
    await stand.lab.machines.fault(machine, { kind, times: 1_000 });
    const first = await stand.upgrade(machine, { timeouts: { reboot: "8s" } });
    await stand.lab.machines.fault(machine, { kind, times: 0 });
    return [first, await stand.upgrade(machine)];
  };

/** Some calls fail from the beginning of a phase on. */
const passing =
  (kind: string, times: number, phase: string): Case =>
  async (stand, machine) => {
    let faults: Promise<void> | undefined;
    const ran = await stand.upgrade(machine, {
      onLine: (line) => {
        if (line.startsWith(`${machine}: ${phase}: `))
          faults ??= stand.lab.machines.fault(machine, { kind, times });
      },
    });
    await faults;
    if (faults === undefined)
      throw new Error(`phase ${phase} did not come: ${ran.lines.join("\n")}`);
    return [ran];
  };

/**
 * Another tool's configuration pauses the boot. Then the stack's configuration is staged again, and waits for a boot.
 */
const pausedBoot: Case = async (stand, name) => {
  const machine = stand.machine(name);
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
  await until(async () => (await machine.bootErrors().catch(() => [])).length > 0);
  const first = await stand.upgrade(name);
  // The machine does not answer while it reboots at the end of the pause.
  const staged = (): Promise<boolean> =>
    machine.stage(persistent!).then(
      () => true,
      () => false,
    );
  await until(staged);
  const { reboots } = (await stand.lab.machines.state())[name]!;
  return [first, { ...(await stand.upgrade(name)), rebootsBefore: reboots }];
};

const cases: Record<string, Case> = {
  ...Object.fromEntries(killedPhases.map((phase) => [`kill-${phase}`, killed(phase)])),
  "kill-going-down": killed("reboot", goesDown),
  rollback: async (stand, machine) => {
    await stand.lab.machines.fault(machine, { kind: "rollback" });
    return [await stand.upgrade(machine), await stand.upgrade(machine)];
  },
  "paused-boot": pausedBoot,
  "refuse-some": passing("refuse", 6, "compare"),
  "refuse-all": lasting("refuse"),
  "drop-some": passing("drop-connection", 3, "reboot"),
  "hang-once": passing("hang", 1, "compare"),
  "hang-pull": passing("hang", 1, "pull"),
  "hang-all": lasting("hang"),
};

/**
 * Runs each case on its own machine, four at a time: a machine mostly waits.
 *
 * @param chosen Names of the cases to run; an empty list means all.
 */
async function run(session: Session, ...chosen: string[]): Promise<Record<string, Outcome>> {
  const all = Object.entries(cases).filter(
    ([name]) => chosen.length === 0 || chosen.includes(name),
  );
  const stand = await openFaultStand(
    session,
    all.map(([name]) => name),
  );
  const ended: Record<string, Pick<Outcome, "runs" | "error">> = {};
  const waiting = [...all];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [machine, runCase] = next;
      try {
        await stand.adopt(machine);
        ended[machine] = { runs: await runCase(stand, machine) };
      } catch (error) {
        ended[machine] = { runs: [], error: (error as Error).message };
      }
      console.error(`${machine}: ended`);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return outcomes(stand, ended);
}

async function outcomes(
  { lab }: FaultStand,
  ended: Record<string, Pick<Outcome, "runs" | "error">>,
): Promise<Record<string, Outcome>> {
  const [states, nodes] = await Promise.all([lab.machines.state(), lab.kubernetes.nodes()]);
  const outcome = (machine: string): Outcome => {
    const { reboots, driverVersion, schematicId } = states[machine]!;
    const { spec, metadata } = nodes[machine]!;
    return {
      ...ended[machine]!,
      machine: { reboots, driverVersion, schematicId },
      node: {
        unschedulable: spec?.unschedulable ?? false,
        marked: metadata?.annotations?.[CORDONED_BY] !== undefined,
      },
    };
  };
  return Object.fromEntries(Object.keys(ended).map((machine) => [machine, outcome(machine)]));
}

async function until(met: () => Promise<boolean>): Promise<void> {
  await untilSeen(met.toString(), { seconds: 300, every: 50 }, met, Boolean);
}

asProgram(run);
