import { clusterPatches } from "./cluster";
import { documentPatches } from "./documents";
import { filePatches } from "./files";
import { machinePatches } from "./machine";
import type { RightPatch } from "./patch";

/** Patches as people write them; none of them may be refused. */
export const rightPatches: RightPatch[] = [...filePatches, ...machinePatches, ...clusterPatches, ...documentPatches];
