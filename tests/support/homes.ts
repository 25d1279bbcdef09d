import { fixture } from "./fixture";

/**
 * Origins of the machine configurations that people have: talhelper, a template of their own, Terraform's
 * yamlencode.
 */
export const homes = ["talhelper", "template", "terraform"] as const;

/**
 * A configuration of this origin, with the values of the cluster's own configuration, such as that of
 * `machine.token`.
 */
export const homeOf = (style: (typeof homes)[number], valueAt: (path: string) => string): string =>
  fixture(`homes/${style}.yaml`).replaceAll(/\{\{ (\S+) \}\}/g, (_, path: string) => valueAt(path));

/**
 * The lines of a text after the last of the given lines. Fails unless the text contains all of them, in their
 * order.
 */
export function restAfter(lines: string, text: string): string[] {
  const left = text.split("\n");
  for (const line of lines.split("\n"))
    expect(left.splice(0, left.indexOf(line) + 1)).toContain(line);
  return left;
}
