import { fixture } from "./table";

/** Styles of the machine configurations that people keep at home: made by talhelper, by a template of one's own, by Terraform's yamlencode. */
export const homes = ["talhelper", "template", "terraform"] as const;

/** One of them, with what stands at a path of the cluster's own configuration, such as `machine.token`. */
export const homeOf = (style: (typeof homes)[number], valueAt: (path: string) => string): string =>
  fixture(`homes/${style}.yaml`).replaceAll(/\{\{ (\S+) \}\}/g, (_, path: string) => valueAt(path));
