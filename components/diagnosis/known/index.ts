import { type FixId, fixIds } from "../fix-ids";
import { exposureFixes } from "./exposure";
import type { Fix, UnnamedFix } from "./known";
import { machineFixes } from "./machine";
import { schedulingFixes } from "./scheduling";
import { workloadFixes } from "./workloads";

export type { Cause, Fix } from "./known";
export { type CauseId, causeIds, causes } from "./others";

const byName: Record<FixId, UnnamedFix> = { ...machineFixes, ...schedulingFixes, ...exposureFixes, ...workloadFixes };

/** The fixes, each with what happens without it, in the order of their names in fix-ids.ts. */
export const fixes: Fix[] = fixIds.map((id) => ({ id, ...byName[id] }));

/** The same from the machine up. */
export const bottomUp: Fix[] = (Object.keys(byName) as FixId[]).map((id) => ({ id, ...byName[id] }));
