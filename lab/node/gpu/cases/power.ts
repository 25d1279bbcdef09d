import type { V1Pod } from "@kubernetes/client-node";
import { powerRangeOf, cardOf } from "../../../../components/recipe/facts/card";
import { type Case, held, untried, wrong } from "../case";
import type { Shape } from "../shape";
import type { Stand } from "../stand";

/** Watts by which the limit is lowered, with --may-change-the-card. */
const lower = 50;

/** Power limits of the cards, from the driver or its stand-in. */
function limits(stand: Stand): number[] {
  if (stand.cards !== undefined) return stand.cards().map(({ powerW }) => powerW);
  const card = cardOf(stand.gpus[0]!);
  return [(card && powerRangeOf(card)?.max) ?? 300];
}

async function lastLine(stand: Stand): Promise<string> {
  const { cluster, plan } = stand;
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
  run: async (stand, say) => {
    const before = limits(stand);
    const watts = before[0]!;
    if (before.some((limit) => limit !== watts) || !Number.isInteger(watts))
      return untried(`the cards' limits are ${before.join(", ")} W: not one whole number`);
    if (
      stand.cards?.().some(({ settings }) => settings["persistence_mode"] !== "Enabled") &&
      !stand.mayChangeTheCard
    )
      return untried(
        "persistence mode is off, and the program that sets a limit switches it on; --may-change-the-card allows this",
      );
    const { seconds } = await stand.become({ ...shape, watts }, say);
    const said = `${watts} W, update ${seconds.toFixed(1)} s: ${await lastLine(stand)}`;
    return limits(stand).every((limit) => limit === watts) ? held(said) : wrong(said);
  },
});

const other: Case = {
  id: "power-other",
  title: `power limit, ${lower} W lower and back`,
  run: async (stand, say) => {
    if (stand.cards !== undefined && !stand.mayChangeTheCard)
      return untried("this case changes the card; --may-change-the-card allows this");
    const cards = stand.cards?.();
    const watts = limits(stand)[0]!;
    const wanted = Math.max(Math.ceil(cards?.[0]?.minPowerW ?? 0), watts - lower);
    let seen: string;
    let right: boolean;
    try {
      await stand.become({ watts: wanted }, say);
      seen = await lastLine(stand);
      right = stand.cards === undefined || limits(stand).every((limit) => limit === wanted);
    } finally {
      await stand.become({ watts }, say);
    }
    const back = limits(stand).every((limit) => limit === watts);
    return (right && back ? held : wrong)(
      `${seen}; ${back ? "back at" : "NOT back at"} ${watts} W`,
    );
  },
};

const refused: Case = {
  id: "power-refused",
  title: "a power limit below what the card takes is refused at preview",
  run: async (stand, say) => {
    const card = cardOf(stand.gpus[0]!);
    const range = card && powerRangeOf(card);
    if (!range?.knownMin) return untried("the tables lack the card's smallest power limit");
    const least = Math.floor(stand.cards?.()[0]?.minPowerW ?? range.min);
    const said = await stand.refusal({ watts: least - 1 }, say);
    const reason = /machines\.\S+\.powerLimit: .*?(?=; error:|$)/.exec(said)?.[0];
    return reason === undefined ? wrong(said || `the preview takes ${least - 1} W`) : held(reason);
  },
};

/** Effects of a power limit: the card's current one, one that it refuses, and a different one. */
export const powerCases: readonly Case[] = [
  sameLimit("power", "power limit, set to what it is"),
  refused,
  other,
];
