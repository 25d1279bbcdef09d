import * as pulumi from "@pulumi/pulumi";

/**
 * A mistake of the user's, to be printed as its message alone. It has no stack: Pulumi's Node host shows a RunError's
 * message, and then renders the whole error for its trace if there is a stack (sdk/nodejs/cmd/run/run.ts, uncaughtHandler;
 * error.ts, defaultErrorMessage), for which `util.inspect` walks every promise that the error went through: 4 to 18 s.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = "";
  return error;
}
