/** A patch as people write them, with the minor of Talos that it is for; it may not be refused. */
export type RightPatch = [minor: number, patch: string];

/** A patch of `machine`. */
export const machine = (text: string): string => `machine: ${text}\n`;
/** A patch of `cluster`. */
export const cluster = (text: string): string => `cluster: ${text}\n`;
/** A document of a kind. */
export const doc = (kind: string, rest: string): string => `apiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;
