import { fixture } from "./fixture";

/** Styles of the machine configurations that people keep at home: made by talhelper, by a template of one's own, by Terraform's yamlencode. */
export const homes = ["talhelper", "template", "terraform"] as const;

/** One of them, with what stands at a path of the cluster's own configuration, such as `machine.token`. */
export const homeOf = (style: (typeof homes)[number], valueAt: (path: string) => string): string =>
  fixture(`homes/${style}.yaml`).replaceAll(/\{\{ (\S+) \}\}/g, (_, path: string) => valueAt(path));

/** What of a text comes after the last of these lines, each of which must be in it, in their order. */
export function restAfter(lines: string, text: string): string[] {
  const left = text.split("\n");
  for (const line of lines.split("\n"))
    expect(left.splice(0, left.indexOf(line) + 1)).toContain(line);
  return left;
}
