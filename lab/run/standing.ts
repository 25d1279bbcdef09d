import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";

/** State of a lab, as far as a stack can change it: compared before the first update and after the destroy. */
export interface Standing {
  /**
   * Each in a line: every object of the Kubernetes API but those that come and go by themselves, as `Kind
   * namespace/name`; labels, annotations and taints as `node NAME: label key=value`; Omni's resources that users
   * write; processes that were started in the lab's name.
   */
  lines: string[];
  machines: Record<string, MachineStanding>;
}

/** A machine: what it runs and what it will boot with. */
export interface MachineStanding {
  image: string;
  /**
   * Configuration of the next boot as `path: hash of the value`, one line for each value: comparable, and free of the
   * secrets that a configuration is full of. Undefined in maintenance mode.
   */
  configuration: string[] | undefined;
}

/**
 * A configuration's values, each by its path; items of a list are identified by their content, so that their order
 * counts little.
 */
export function valuesOf(configuration: string): string[] {
  const documents = parseAllDocuments(configuration).map((document) =>
    (document as { toJS(): unknown }).toJS(),
  );
  const hash = (value: unknown): string =>
    createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
  const walk = (value: unknown, path: string): string[] => {
    if (typeof value !== "object" || value === null) return [`${path}: ${hash(value)}`];
    if (Array.isArray(value)) return value.map((item) => `${path}[]: ${hash(item)}`);
    return Object.entries(value).flatMap(([key, child]) =>
      walk(child, path === "" ? key : `${path}.${key}`),
    );
  };
  return documents.flatMap((document) => walk(document, "")).sort();
}
