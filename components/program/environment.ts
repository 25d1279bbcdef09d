import * as z from "zod";

/**
 * Values that the program reads from its environment: credentials, the answer of the last run, and the lab's polling
 * interval.
 */

/**
 * Takes a variable out of the environment, so that no child inherits it. Undefined where it is not set. An empty one
 * was given: nothing else may take its place.
 */
export function take(name: string): string | undefined {
  const value = process.env[name];
  delete process.env[name];
  return value;
}

/** Answer of this resource's last run. Pulumi's command provider hands it back by this variable. */
export function previousAnswer<T extends z.ZodType>(type: T): z.infer<T> | undefined {
  const text = process.env["PULUMI_COMMAND_STDOUT"]?.trim().split("\n").at(-1);
  return text === undefined || text === "" ? undefined : parsed(type, JSON.parse(text));
}

/** The task on standard input. A lab, whose time runs faster, sets by its environment how often a task looks. */
export function readTask<T extends z.ZodObject>(type: T, text: string): z.infer<T> {
  const seconds = Number(process.env["TALOS_GPU_POLL_SECONDS"]);
  const looks = seconds > 0 && Object.hasOwn(type.shape, "pollSeconds");
  return parsed(type, {
    ...(looks ? { pollSeconds: seconds } : {}),
    ...(JSON.parse(text) as object),
  });
}

function parsed<T extends z.ZodType>(type: T, said: unknown): z.infer<T> {
  const result = type.safeParse(said);
  if (result.success) return result.data;
  throw new Error(
    `task: it does not have the shape this release of talos-gpu writes: ${z.prettifyError(result.error)}`,
  );
}
