/** A document of Talos' machine configuration (`apiVersion: v1alpha1`), with further lines of YAML. */
export const talosDocument = (kind: string, ...lines: string[]): string =>
  ["apiVersion: v1alpha1", `kind: ${kind}`, ...lines, ""].join("\n");
