import { cluster } from "./cluster";
import { exposure } from "./exposure";
import { machines } from "./machines";
import { patches } from "./patches";
import { workloads } from "./workloads";
import type { WrongInputs } from "../inputs";

/** Inputs that are wrong. */
export const wrong: WrongInputs[] = [...machines, ...cluster, ...exposure, ...workloads, ...patches];
