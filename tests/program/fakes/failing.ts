import { CallError, type CallErrorKind } from "../../../components/clients/failure";

/** An answer of a machine or a cluster that fails. */
export const failing = (problem: CallErrorKind, message: string) => (): Promise<never> =>
  Promise.reject(new CallError(problem, message));
