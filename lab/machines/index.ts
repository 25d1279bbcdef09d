import * as fs from "node:fs/promises";
import * as path from "node:path";
import { spawnChild } from "../session/process";

/** A kind of card in an emulated machine, with what the emulation needs to know of it. */
export interface LabGpu {
  model: string;
  /** Class and vendor of its PCI device as Node Feature Discovery writes it, e.g. `0300_10de`. */
  pciDevice: string;
  /** Device ID, e.g. `2c05`, and the name in the list of PCI IDs. Default: none that a machine could tell. */
  pciId?: string;
  pciName?: string;
  count: number;
  memoryMiB: number;
  computeCapability: string;
  minPowerW: number;
  maxPowerW: number;
  defaultPowerW: number;
  /** Profiles with the number of instances of one card, and what `all-balanced` makes; absent without MIG. */
  mig?: {
    profiles: Record<string, number>;
    balanced?: Record<string, number>;
    modeNeedsReset?: boolean;
  };
}

/** One emulated machine as it is when the lab begins. */
export interface LabMachine {
  name: string;
  address: string;
  role: string;
  talosVersion: string;
  schematicId: string;
  platform: string;
  /** Whether its firmware starts signed images alone. Default false. */
  secureBoot?: boolean;
  /** File: its machine configuration; empty: it has none and waits in maintenance mode. */
  config: string;
  gpus: LabGpu[];
  /**
   * The real node behind its API: folders with the node's programs, and whether it takes this computer's driver.
   * Default: an emulated one.
   */
  node?: { programs: readonly string[]; realDriver: boolean };
}

/** Arguments of the machines program. */
interface MachinesSpec {
  dir: string;
  /** Lab seconds per second. */
  timeScale: number;
  factory: string;
  kubernetes: {
    server: string;
    caCert: string;
    caKey: string;
    nodes: string;
    leaderWorkerSet: string;
  } | null;
  /** Authority of the machine API; null where machines wait in maintenance mode and get it with their configuration. */
  talos: { caCert: string; caKey: string } | null;
  clusterName: string;
  machines: LabMachine[];
}

/** State of one machine, as `GET /state` has it. */
export interface MachineState {
  address: string;
  talosVersion: string;
  schematicId: string;
  driverVersion: string | null;
  reboots: number;
  /** Machine API calls received. */
  requests: number;
  stage: string;
  /** Whether nothing keeps it from its stage. */
  ready: boolean;
  bootId: string;
  events: { at: number; what: string }[];
}

/** Emulated Talos machines that run. */
export interface Machines {
  /** Address of the machine API of all of them, `127.0.0.1:PORT`; a call's metadata says which one is meant. */
  api: string;
  /** Where machines that wait in maintenance mode answer instead, without credentials, by their address. */
  maintenance: Record<string, string>;
  state(): Promise<Record<string, MachineState>>;
  /** Gets the kubeconfig that Talos gives the stack; gives what the stack should get. Default: the same. */
  kubeconfig?(text: string): string;
  /** Makes a machine misbehave, e.g. `{kind: "rollback", times: 1}`. */
  fault(machine: string, fault: { kind: string; times?: number }): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the machines program (see main.go next to this file) and waits until its machine API answers.
 *
 * @param binary path of the built program
 */
export async function startMachines(
  binary: string,
  spec: MachinesSpec,
  options: { signal?: AbortSignal; onLog?: (line: string) => void } = {},
): Promise<Machines> {
  await fs.mkdir(spec.dir, { recursive: true });
  const file = path.join(spec.dir, "spec.json");
  await fs.writeFile(file, JSON.stringify(spec, null, 2), { mode: 0o600 });
  const child = await spawnChild<{
    api: string;
    maintenance: Record<string, string>;
    control: string;
  }>(binary, ["--spec", file], { name: "machines", ...options });
  const { api, maintenance, control } = child.ready;
  return {
    api,
    maintenance,
    state: async () =>
      (await request<{ machines: Record<string, MachineState> }>(`${control}/state`)).machines,
    fault: async (machine, fault) => {
      await request(`${control}/machines/${encodeURIComponent(machine)}/fault`, fault);
    },
    stop: () => child.stop(),
  };
}

async function request<T>(url: string, body?: unknown): Promise<T> {
  const response = await fetch(
    url,
    body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
  );
  const text = await response.text();
  if (!response.ok)
    throw new Error(
      `${url}: the machines program refused the request (${response.status}): ${text}`,
    );
  return (text === "" ? undefined : JSON.parse(text)) as T;
}
