import type { V1Pod } from "@kubernetes/client-node";
import { powerRangeOf, cardOf } from "../../../../components/recipe/facts/card";
import { type Case, passedWith, untried, failedWith, outcomeOf } from "../case";
import type { Shape } from "../shape";
import type { GpuLab } from "../gpu-lab";

/** Watts by which the limit is lowered, with --may-change-the-card. */
const reductionW = 50;

/** Power limits of the cards, from the driver or its stand-in. */
function powerLimits(gpuLab: GpuLab): number[] {
  if (gpuLab.cards !== undefined) return gpuLab.cards().map(({ powerW }) => powerW);
  const card = cardOf(gpuLab.gpus[0]!);
  return [(card && powerRangeOf(card)?.max) ?? 300];
}

async function lastLogLine(gpuLab: GpuLab): Promise<string> {
  const { cluster, plan } = gpuLab;
  const pods = `/api/v1/namespaces/${plan.kubernetes.release.namespace}/pods`;
  const pod = (await cluster.all<V1Pod>(pods)).find(
    ({ metadata }) =>
      metadata?.name?.startsWith("nvidia-power-limit") && !metadata.deletionTimestamp,
  );
  if (pod === undefined) return "no pod sets it";
  const log = await cluster.text("its log", `${pods}/${pod.metadata!.name}/log`);
  return log.trim().split("\n").at(-1) ?? "";
}

/** Sets the cards' present limit in a stack of that shape. */
export const sameLimit = (id: string, title: string, shape: Shape = {}): Case => ({
  id,
  title,
  run: async (gpuLab, say) => {
    const limitsBefore = powerLimits(gpuLab);
    const watts = limitsBefore[0]!;
    if (limitsBefore.some((limit) => limit !== watts) || !Number.isInteger(watts))
      return untried(`the cards' limits are ${limitsBefore.join(", ")} W: not one whole number`);
    if (
      gpuLab.cards?.().some(({ settings }) => settings["persistence_mode"] !== "Enabled") &&
      !gpuLab.mayChangeTheCard
    )
      return untried(
        "persistence mode is off, and the program that sets a limit switches it on; --may-change-the-card allows this",
      );
    const { seconds } = await gpuLab.updateTo({ ...shape, watts }, say);
    const observation = `${watts} W, update ${seconds.toFixed(1)} s: ${await lastLogLine(gpuLab)}`;
    return outcomeOf(
      powerLimits(gpuLab).every((limit) => limit === watts),
      observation,
    );
  },
});

const otherLimit: Case = {
  id: "power-other",
  title: `power limit, ${reductionW} W lower and back`,
  run: async (gpuLab, say) => {
    if (gpuLab.cards !== undefined && !gpuLab.mayChangeTheCard)
      return untried("this case changes the card; --may-change-the-card allows this");
    const cards = gpuLab.cards?.();
    const watts = powerLimits(gpuLab)[0]!;
    const loweredWatts = Math.max(Math.ceil(cards?.[0]?.minPowerW ?? 0), watts - reductionW);
    let logLine: string;
    let isLowered: boolean;
    try {
      await gpuLab.updateTo({ watts: loweredWatts }, say);
      logLine = await lastLogLine(gpuLab);
      isLowered =
        gpuLab.cards === undefined || powerLimits(gpuLab).every((limit) => limit === loweredWatts);
    } finally {
      await gpuLab.updateTo({ watts }, say);
    }
    const isRestored = powerLimits(gpuLab).every((limit) => limit === watts);
    return outcomeOf(
      isLowered && isRestored,
      `${logLine}; ${isRestored ? "back at" : "NOT back at"} ${watts} W`,
    );
  },
};

const refusedLimit: Case = {
  id: "power-refused",
  title: "a power limit below what the card takes is refused at preview",
  run: async (gpuLab, say) => {
    const card = cardOf(gpuLab.gpus[0]!);
    const range = card && powerRangeOf(card);
    if (!range?.knownMin) return untried("the tables lack the card's smallest power limit");
    const minWatts = Math.floor(gpuLab.cards?.()[0]?.minPowerW ?? range.min);
    const errors = await gpuLab.previewErrors({ watts: minWatts - 1 }, say);
    const reason = /machines\.\S+\.powerLimit: .*?(?=; error:|$)/.exec(errors)?.[0];
    return reason === undefined
      ? failedWith(errors || `the preview takes ${minWatts - 1} W`)
      : passedWith(reason);
  },
};

/** Effects of a power limit: the card's current one, one that it refuses, and a different one. */
export const powerCases: readonly Case[] = [
  sameLimit("power", "power limit, set to what it is"),
  refusedLimit,
  otherLimit,
];
