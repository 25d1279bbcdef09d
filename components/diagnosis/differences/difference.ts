/** One thing that is not as the plan says, or as it must be where no plan is known. */
export interface Difference {
  /** What it is about, e.g. `node gpu-1`, `DaemonSet gpu-operator/nvidia-driver`. */
  about: string;
  /** What is unlike the plan, e.g. `offers 0 of nvidia.com/gpu, the plan says 1`. */
  problem: string;
  /** What whatever crashes or waits said last, one line each. */
  lastWords?: string[];
}

/** A difference in one line, without its last words. */
export const inOneLine = ({ about, problem }: Difference): string => `${about}: ${problem}`;

/** A difference with its last words, if any; none without a problem. */
export function difference(about: string, problem: string | false | undefined, lastWords: string[] = []): Difference[] {
  return problem ? [{ about, problem, ...(lastWords.length > 0 ? { lastWords } : {}) }] : [];
}
