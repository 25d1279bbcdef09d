import {
  type CauseId,
  diagnose,
  type FixId,
  type Observations,
} from "../../../components/diagnosis";
import { planCluster, type Plan } from "../../../components/recipe";
import { validStack } from "../../recipe/stacks";

/** A missing fix or a known cause, with parts of its evidence. */
export interface CauseWithEvidence {
  cause: FixId | CauseId;
  /** A part of each line, in order. */
  evidence: string[];
}

/** Observations of a system, and the causes that the diagnosis gives. */
export interface CauseCase {
  name: string;
  observations: Observations;
  /** Stacks of tests/fixtures/valid with which the diagnosis is the same. Default: without a stack. */
  stacks?: (string | typeof withoutStack)[];
  /** The causes, in the diagnosis' order: with their evidence, or only by id. */
  causes: (FixId | CauseId | CauseWithEvidence)[];
  /** A part of the first cause's remedy. Default: not compared. */
  remedy?: string;
}

/** A diagnosis without a stack, from observations alone. */
export const withoutStack = null;

/** The plans of a case's stacks. */
export const plansOf = ({
  stacks = [withoutStack],
}: Pick<CauseCase, "stacks">): (Plan | undefined)[] =>
  stacks.map((stack) => (stack === withoutStack ? undefined : planCluster(validStack(stack))));

/**
 * The diagnosed causes in the form of the case. A line of evidence that contains the expected part is replaced by
 * that part.
 */
export const diagnosedCauses = (
  { observations, causes }: CauseCase,
  plan?: Plan,
): CauseCase["causes"] =>
  diagnose(observations, plan).map(({ fix, evidence }, index) => {
    const expected = causes[index];
    if (typeof expected !== "object") return fix;
    return {
      cause: fix,
      evidence: evidence.map((line, lineIndex) => {
        const part = expected.evidence[lineIndex];
        return part !== undefined && line.includes(part) ? part : line;
      }),
    };
  });
