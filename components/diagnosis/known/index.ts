import { cardCauses } from "./cards";
import { exposureCauses, exposureFixes } from "./exposure";
import type { Cause, FixRecord } from "./known";
import { machineFixes } from "./machine";
import { operatorFixes } from "./operator";
import { schedulingFixes } from "./scheduling";
import { workloadCauses, workloadFixes } from "./workloads";

export type { Cause } from "./known";

const fixRecords = {
  ...machineFixes,
  ...schedulingFixes,
  ...exposureFixes,
  ...operatorFixes,
  ...workloadFixes,
};

/** Name of a fix. */
export type FixId = keyof typeof fixRecords;
/** Names of the fixes. */
export const fixIds = Object.keys(fixRecords) as FixId[];

/** A fix by its name. */
export interface Fix extends FixRecord<FixId> {
  id: FixId;
}

const fixById: Record<FixId, FixRecord<FixId>> = fixRecords;

/** The fixes, each with the failure that it prevents, in the order machine, GPU provider, pods. */
export const fixes: Fix[] = fixIds.map((id) => ({ id, ...fixById[id] }));

const causeRecords = { ...cardCauses, ...workloadCauses, ...exposureCauses };

/** Name of a known cause that no fix of a stack prevents. */
export type CauseId = keyof typeof causeRecords;
/** Names of these causes. */
export const causeIds = Object.keys(causeRecords) as CauseId[];

/** The known causes that no fix of a stack prevents. */
export const causes: Record<CauseId, Cause> = causeRecords;
