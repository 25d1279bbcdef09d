import * as z from "zod";

/**
 * Values that the program reads from its environment: credentials, the answer of the last run, and the lab's polling
 * interval.
 */

/**
 * Reads a variable and removes it from the environment, so that no child process inherits it. Undefined if it is not
 * set. An empty text is returned as such: the caller must not replace an empty credential by a different credential.
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
 * The task on standard input. The lab, whose clock runs faster, sets the polling interval in an environment variable.
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
