import { CallError, type CallErrorKind } from "../../../components/clients/failure";

/** A method of a machine or a cluster that fails with this error. */
export const failsWith = (kind: CallErrorKind, message: string) => (): Promise<never> =>
  Promise.reject(new CallError(kind, message));
