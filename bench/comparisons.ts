/** A subject whose cost is compared with a simpler baseline. Each runs in processes of its own. */
export interface Comparison {
  id: string;
  /** Description of the subject. */
  title: string;
  /** Description of the baseline. */
  baseline: string;
  /** The subject and its baseline: each a program of `bench/subjects` with its arguments. */
  subjectCommand: readonly string[];
  baselineCommand: readonly string[];
  /** Whether the maximum memory is compared, too. */
  memory: boolean;
  /** Whether the short form of the benchmark leaves it out. */
  long: boolean;
}

const registration = (machines: number, long: boolean): Comparison => ({
  id: `registration-${machines}`,
  title: `registering ${machines} machines`,
  baseline: "as many plain resources",
  subjectCommand: ["registration", "component", String(machines)],
  baselineCommand: ["registration", "plain", String(machines)],
  memory: true,
  long,
});

/** All comparisons, in the order of the report. */
export const comparisons: readonly Comparison[] = [
  registration(100, false),
  registration(1000, true),
  {
    id: "plan-1000",
    title: "reading, checking and planning 1000 machines",
    baseline: "reading the stack file",
    subjectCommand: ["planning", "plan", "1000"],
    baselineCommand: ["planning", "read", "1000"],
    memory: false,
    long: false,
  },
  {
    id: "refused-1000",
    title: "the stacks' program refuses 1000 machines",
    baseline: "loading Pulumi's SDKs",
    subjectCommand: ["refused", "1000"],
    baselineCommand: ["sdk"],
    memory: false,
    long: false,
  },
  {
    id: "patches",
    title: "judging patches",
    baseline: "reading them",
    subjectCommand: ["patches", "judge", "20"],
    baselineCommand: ["patches", "read", "20"],
    memory: false,
    long: false,
  },
];
