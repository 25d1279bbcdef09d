import { renewCards } from "./renew-cards";
import { renewDigests } from "./renew-digests";
import { newerThanTables, renewImages } from "./renew-images";
import { renewReleases } from "./renew-releases";

/** Tables that `npm run facts` renews without an argument, in order: name and function. */
const sources: Record<string, () => Promise<string[]>> = {
  releases: () => renewReleases(),
  cards: async () => [await renewCards()],
  images: () => renewImages(),
  digests: () => renewDigests(),
  newer: () => newerThanTables(),
};

/** Renews all tables. If a source does not answer, its table stays unchanged, and the others are still renewed. */
export async function renewAll(
  renewals = sources,
): Promise<{ lines: string[]; failed: number; renewalCount: number }> {
  const lines: string[] = [];
  let failed = 0;
  for (const [name, renew] of Object.entries(renewals)) {
    try {
      lines.push(...(await renew()));
    } catch (error) {
      failed++;
      lines.push(`${name}: left as they are: ${(error as Error).message}`);
    }
  }
  return { lines, failed, renewalCount: Object.keys(renewals).length };
}
