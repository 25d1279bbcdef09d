import * as fs from "node:fs";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";

/**
 * Credentials for which an environment variable may name files. The machine program reads these files if the
 * credential's content is not passed.
 */
export type NamedCredential = "talosconfig" | "kubeconfig";

/**
 * Content of the files that an environment variable names, as the machine program reads it.
 *
 * @throws Error if no file exists or one cannot be read. The message gives the reason, and quotes nothing from a file.
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
