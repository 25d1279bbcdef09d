import { bringUp, type Lab } from "../lab/cluster/bring-up";
import { labTimeouts } from "../lab/clock";
import type { MachineState } from "../lab/machines";
import { parseOptions } from "../lab/options";
import { Session } from "../lab/session/session";
import { openEngine, update } from "../lab/run/updates";

/** How a cluster of workers was upgraded in the lab. */
export interface UpgradePath {
  workers: number;
  /** `upgrade.maxParallel`. */
  window: number;
  /** Most upgrades one after the other: the length of the path. */
  length: number;
  /** Lab minutes from the first call for an upgrade until the last machine was back. */
  labMinutes: number;
  /** Reboots of each machine after the first update. */
  reboots: number[];
  /** Reboots of all machines in the second update. */
  secondReboots: number;
  /** Machine API calls in the second update. */
  secondRequests: number;
}

/** Brings a cluster of workers up in a lab, runs the stack's program twice, and reads the machines' own record of it. */
export async function measurePath(workers: number, window: number): Promise<UpgradePath> {
  const options = parseOptions(["--stack", `bench-${workers}-${window}`]);
  const machines = Array.from({ length: workers }, (_, index) => [`worker-${index + 1}`, machine(index)] as const);
  const spec: Lab["spec"] = {
    talosVersion: "v1.12.6",
    machines: Object.fromEntries(machines),
    devicePlugin: { version: "0.17.4" },
    upgrade: { maxParallel: window },
    timeouts: labTimeouts(options),
  };
  const session = new Session();
  try {
    const lab = { options, session, config: { ...spec }, spec } as unknown as Lab; // the phases add the rest
    for (const phase of bringUp) await phase.run(lab, () => {});
    const engine = await openEngine(lab);
    const up = async (): Promise<{ requests: number; states: MachineState[] }> => {
      const { report, diagnostics } = await update(lab, engine, () => {});
      if (report.result === "failed") throw new Error(`window ${window}: ${diagnostics.join("\n")}`);
      return { requests: report.machineRequests, states: Object.values(await lab.machines.state()) };
    };
    const first = await up();
    const second = await up();
    const spans = first.states.map(spanOf);
    const total = (states: MachineState[]): number => states.reduce((sum, { reboots }) => sum + reboots, 0);
    return {
      workers,
      window,
      length: longestChain(spans),
      labMinutes: (Math.max(...spans.map(({ end }) => end)) - Math.min(...spans.map(({ begin }) => begin))) / 60,
      reboots: first.states.map(({ reboots }) => reboots),
      secondReboots: total(second.states) - total(first.states),
      secondRequests: second.requests,
    };
  } finally {
    await session.close();
  }
}

function machine(index: number): Lab["spec"]["machines"][string] {
  return {
    address: `10.9.0.${index + 1}`,
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 5070 Ti" }],
  };
}

/** Lab seconds in which a machine was upgraded. */
export interface Span {
  begin: number;
  end: number;
}

function spanOf({ address, events }: MachineState): Span {
  const begin = events.find(({ what }) => what.startsWith("upgrade request received"));
  const end = events.find(({ what }) => what.startsWith("booted "));
  if (begin === undefined || end === undefined) throw new Error(`${address}: was not upgraded`);
  return { begin: begin.at, end: end.at };
}

/** Most spans of which each begins after the one before it has ended: the classic greedy choice, by their ends. */
function longestChain(spans: readonly Span[]): number {
  let length = 0;
  let busyUntil = -Infinity;
  for (const { begin, end } of [...spans].sort((a, b) => a.end - b.end)) {
    if (begin < busyUntil) continue;
    length++;
    busyUntil = end;
  }
  return length;
}
