import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";

/**
 * State of a lab, as far as a stack can change it. The lab compares the states before the first update and after the
 * destroy.
 */
export interface LabSnapshot {
  /**
   * One line each: every object of the Kubernetes API as `Kind namespace/name`, except kinds that the cluster itself
   * creates and deletes; labels, annotations and taints as `node NAME: label key=value`; Omni's resources that users
   * write; processes that the lab started.
   */
  lines: string[];
  machines: Record<string, MachineSnapshot>;
}

/** A machine's image, and the configuration of its next boot. */
export interface MachineSnapshot {
  image: string;
  /**
   * Configuration of the next boot, one line `path: hash of the value` for each value. Hashes can be compared, and show
   * no secret. Undefined in maintenance mode.
   */
  configuration: string[] | undefined;
}

/**
 * A configuration's values, one line with path and hash each. List items have the path of their list, so their order
 * does not matter.
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
