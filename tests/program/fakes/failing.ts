import { CallError, type CallProblem } from "../../../components/clients/failure";

/** An answer of a machine or a cluster that fails. */
export const failing = (problem: CallProblem, message: string) => (): Promise<never> =>
  Promise.reject(new CallError(problem, message));
