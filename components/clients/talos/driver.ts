import type { Machine } from "./talos-machine";

/** Version of the loaded NVIDIA driver; undefined if none is loaded. */
export async function loadedDriver(machine: Machine): Promise<string | undefined> {
  return parseDriverVersion((await machine.read("/proc/driver/nvidia/version")) ?? "");
}

/**
 * Reads the first line of `/proc/driver/nvidia/version`, which the open and the proprietary modules write differently.
 */
export function parseDriverVersion(text: string): string | undefined {
  return /Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)\b/.exec(text)?.[1];
}

/** Names of the modules that are loaded and live, from `/proc/modules`. */
export const parseModules = (text: string): Set<string> =>
  new Set(
    text
      .split("\n")
      .map((line) => line.split(" "))
      .filter((fields) => fields[4] === "Live")
      .map((fields) => fields[0]!),
  );
