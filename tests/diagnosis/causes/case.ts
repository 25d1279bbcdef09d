import {
  type CauseId,
  diagnose,
  type FixId,
  type Observations,
} from "../../../components/diagnosis";
import { planCluster, type Plan } from "../../../components/recipe";
import { validStack } from "../../recipe/stacks";

/** A missing fix or a known cause, with parts of the lines of its evidence. */
export interface NamedCause {
  cause: FixId | CauseId;
  /** A part of each line, in their order. */
  evidence: string[];
}

/** What is seen of a system, and what the diagnosis names. */
export interface CauseCase {
  name: string;
  seen: Observations;
  /** Stacks of tests/fixtures/valid with which the diagnosis is the same. Default: without a stack. */
  stacks?: (string | typeof withoutStack)[];
  /** What is named, in the diagnosis' order: with its evidence, or by its id alone. */
  causes: (FixId | CauseId | NamedCause)[];
  /** A part of what to do about the first. Default: not compared. */
  remedy?: string;
}

/** The diagnosis knows no stack, and goes by what the cluster looks like. */
export const withoutStack = null;

/** The plans of a case's stacks. */
export const plansOf = ({ stacks = [withoutStack] }: CauseCase): (Plan | undefined)[] =>
  stacks.map((stack) => (stack === withoutStack ? undefined : planCluster(validStack(stack))));

/** What is named, in the form of the case: a line of evidence that has the wanted part becomes that part. */
export const namedOf = ({ seen, causes }: CauseCase, plan?: Plan): CauseCase["causes"] =>
  diagnose(seen, plan).map(({ fix, evidence }, index) => {
    const wanted = causes[index];
    if (typeof wanted !== "object") return fix;
    return {
      cause: fix,
      evidence: evidence.map((line, at) => {
        const part = wanted.evidence[at];
        return part !== undefined && line.includes(part) ? part : line;
      }),
    };
  });
