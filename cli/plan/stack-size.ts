import type { Finding } from "../../components/recipe/index";

/** What Linux takes of one environment variable, its name and end included, in bytes (include/uapi/linux/binfmts.h, MAX_ARG_STRLEN). */
const longestVariable = 131_072;

/**
 * What keeps Pulumi from starting the program of a stack whose file says too much: it hands all of the configuration over in one
 * variable (pulumi/pulumi#8680; pulumi-language-nodejs, constructConfig), so no check that runs in the program could tell.
 *
 * @param config of the stack file, without credentials: they come on top.
 */
export function tooLong(config: Record<string, unknown>): Finding[] {
  const entries = Object.entries(config).map(([key, value]) => [`talos-gpu:config:${key}`, asText(value)]);
  const size = Buffer.byteLength(`PULUMI_CONFIG=${JSON.stringify(Object.fromEntries(entries))}\0`);
  if (size <= longestVariable) return [];
  return [
    {
      check: "stack-size",
      field: "machines",
      problem: `the stack's configuration has ${Math.ceil(size / 1024)} KiB`,
      why: "Pulumi hands it to the program in one environment variable, and Linux takes at most 128 KiB of one: `argument list too long`",
      remedy: "put machines that are alike into `pools`, and what all have into `machineDefaults`",
    },
  ];
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
