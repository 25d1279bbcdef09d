import * as fs from "node:fs";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";

/**
 * Credentials that the machine program reads from the files in an environment variable, if the content is not passed.
 */
export type NamedCredential = "talosconfig" | "kubeconfig";

/**
 * Content of the files in an environment variable, as the machine program reads it.
 *
 * @throws Error if no file exists or one cannot be read. Its message names the reason, and quotes no content.
 */
export function readNamedByVariable(name: NamedCredential, value: string): string {
  if (name === "kubeconfig") return kubeconfigOfVariable(value);
  try {
    return fs.readFileSync(value, "utf8");
  } catch (error) {
    const { code = "error" } = error as NodeJS.ErrnoException;
    throw new Error(`${code}: ${value}`, { cause: error });
  }
}
