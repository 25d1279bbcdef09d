import { type FixId, fixIds } from "../fix-ids";
import type { Fix, UnnamedFix } from "./fix";
import { imageFixes } from "./image";
import { kubernetesFixes } from "./kubernetes";
import { machineFixes } from "./machine";
import { workloadsFixes } from "./workloads";

export type { Fix } from "./fix";

const byName: Record<FixId, UnnamedFix> = { ...imageFixes, ...machineFixes, ...kubernetesFixes, ...workloadsFixes };

/** The fixes, each with what happens without it, in the order of their names in fix-ids.ts. */
export const fixes: Fix[] = fixIds.map((id) => ({ id, ...byName[id] }));
