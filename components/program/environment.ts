import * as z from "zod";

/**
 * Values that the program reads from its environment: credentials, the answer of the last run, and the polling interval
 * of the project's tests (lab).
 */

/**
 * Reads a variable and removes it from the environment, so that no child process inherits it. Undefined if the variable
 * is not set. An empty variable gives an empty text, because the caller must not replace an empty credential by a
 * different one.
 */
export function takeVariable(name: string): string | undefined {
  const value = process.env[name];
  delete process.env[name];
  return value;
}

/**
 * Answer of this resource's last run, from the variable in which Pulumi's command provider passes it. Undefined on the
 * first run.
 */
export function previousAnswer<T extends z.ZodType>(type: T): z.infer<T> | undefined {
  const text = process.env["PULUMI_COMMAND_STDOUT"]?.trim().split("\n").at(-1);
  return text === undefined || text === "" ? undefined : parseTask(type, JSON.parse(text));
}

/**
 * The task on standard input. An environment variable may set the polling interval, for tests whose clock runs faster.
 */
export function readTask<T extends z.ZodObject>(type: T, text: string): z.infer<T> {
  const seconds = Number(process.env["TALOS_GPU_POLL_SECONDS"]);
  const looks = seconds > 0 && Object.hasOwn(type.shape, "pollSeconds");
  return parseTask(type, {
    ...(looks ? { pollSeconds: seconds } : {}),
    ...(JSON.parse(text) as object),
  });
}

function parseTask<T extends z.ZodType>(type: T, value: unknown): z.infer<T> {
  const result = type.safeParse(value);
  if (result.success) return result.data;
  throw new Error(
    `task: not in the form that this release of talos-gpu writes: ${z.prettifyError(result.error)}`,
  );
}
