import { fixture } from "./fixture";

/**
 * Origins of the machine configurations that people have: talhelper, a template of their own, Terraform's
 * yamlencode.
 */
export const configurationStyles = ["talhelper", "template", "terraform"] as const;

/** A configuration of this origin. `valueAt` gives the values of the cluster, e.g. of the path `machine.token`. */
export const configurationInStyle = (
  style: (typeof configurationStyles)[number],
  valueAt: (path: string) => string,
): string =>
  fixture(`homes/${style}.yaml`).replaceAll(/\{\{ (\S+) \}\}/g, (_, path: string) => valueAt(path));

/**
 * The lines of a text after the last of the given lines. Fails unless the text contains all of them, in their
 * order.
 */
export function linesAfter(expectedLines: string, text: string): string[] {
  const remaining = text.split("\n");
  for (const line of expectedLines.split("\n"))
    expect(remaining.splice(0, remaining.indexOf(line) + 1)).toContain(line);
  return remaining;
}
