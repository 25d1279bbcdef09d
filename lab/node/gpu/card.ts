import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { findCard } from "../../../components/recipe/facts/card";
import type { GpuSpec } from "../../../components/recipe";

/** One card of this computer, as its driver reports it. */
export interface Card {
  /** E.g. `NVIDIA H100 80GB HBM3`. */
  name: string;
  driver: string;
  memoryMiB: number;
  /** Watts: the present limit, and the range that the card accepts. */
  powerW: number;
  minPowerW: number;
  maxPowerW: number;
  /** Settings that a run must not change, by nvidia-smi's names. */
  settings: Record<string, string>;
}

const factFields = [
  "name",
  "driver_version",
  "memory.total",
  "power.limit",
  "power.min_limit",
  "power.max_limit",
];
const settingFields = [
  "power.limit",
  "persistence_mode",
  "compute_mode",
  "mig.mode.current",
  "mig.mode.pending",
  "ecc.mode.current",
];

/** Paths of nvidia-smi in distributions and in containers. */
const nvidiaSmiPaths = [
  "/usr/bin/nvidia-smi",
  "/usr/local/nvidia/bin/nvidia-smi",
  "/usr/local/bin/nvidia-smi",
];

/**
 * Reads the cards of this computer, and changes nothing.
 *
 * @throws Error if there is no driver, or it does not answer.
 */
export function readCards(): Card[] {
  const program = nvidiaSmiPaths.find(existsSync);
  if (program === undefined)
    throw new Error(
      `--gpu: there is no nvidia-smi in ${nvidiaSmiPaths.join(", ")}, so no card can be used; install NVIDIA's driver, or leave --gpu out to use a stand-in for the driver`,
    );
  const query = (fields: readonly string[]): string[] =>
    execFileSync(program, [`--query-gpu=${fields.join(",")}`, "--format=csv,noheader,nounits"], {
      encoding: "utf8",
      timeout: 60_000,
    })
      .trim()
      .split("\n");
  return parseCards(query(factFields), query(settingFields));
}

/** Facts and settings in nvidia-smi's output, one line per card. */
export const parseCards = (factLines: readonly string[], settingLines: readonly string[]): Card[] =>
  factLines.map((line, index) => {
    const [name = "", driver = "", ...numbers] = line.split(", ");
    const [memoryMiB = 0, powerW = 0, minPowerW = 0, maxPowerW = 0] = numbers.map(Number);
    const values = (settingLines[index] ?? "").split(", ");
    const cardSettings = Object.fromEntries(
      settingFields.map((field, fieldIndex) => [field, values[fieldIndex] ?? "unknown"]),
    );
    return { name, driver, memoryMiB, powerW, minPowerW, maxPowerW, settings: cardSettings };
  });

/**
 * The cards in the form of a stack's `gpus`.
 *
 * @throws Error for a card that the tables lack.
 */
export function gpusOf(cards: readonly Card[]): GpuSpec[] {
  const counts = new Map<string, number>();
  for (const { name } of cards) {
    const model = findCard(name)?.model;
    if (model === undefined)
      throw new Error(
        `--gpu: components/recipe/facts/data/cards.json has no ${name}, so the lab cannot create a stack for this computer; add this card`,
      );
    counts.set(model, (counts.get(model) ?? 0) + 1);
  }
  return [...counts].map(([model, count]) => ({ model, count }));
}
