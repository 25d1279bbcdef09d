import * as fs from "node:fs";
import { listAt, valueAt } from "../recipe/mapping";

/** The entry with this name in a list of a kubeconfig, such as `users`; undefined if the list has no such entry. */
export const entryOf = (kubeconfig: unknown, list: string, name: unknown): unknown =>
  listAt(kubeconfig, list).find((entry) => entry["name"] === name);

/**
 * The text of a certificate of a user or cluster in a kubeconfig. Inline data override the file (client-go,
 * tools/clientcmd/api/types.go, AuthInfo and Cluster).
 *
 * @returns undefined if the entry has neither inline data nor a file.
 * @throws Error if the file cannot be read.
 */
export function certificateIn(
  holder: unknown,
  field: "client-certificate" | "certificate-authority",
): string | undefined {
  const [data, file] = [valueAt(holder, `${field}-data`), valueAt(holder, field)];
  if (typeof data === "string" && data !== "") return Buffer.from(data, "base64").toString();
  return typeof file === "string" ? fs.readFileSync(file, "utf8") : undefined;
}
