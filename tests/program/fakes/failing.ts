import { CallError, type CallErrorKind } from "../../../components/clients/failure";

/** A method of a machine or a cluster that fails with this error. */
export const failing = (problem: CallErrorKind, message: string) => (): Promise<never> =>
  Promise.reject(new CallError(problem, message));
